"""File names are found in texts of any language, ranked, and found in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.facts import mentioned, name_of, paths_in


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("look at engine/a/b.py:12, and (main.go).", ["engine/a/b.py", "main.go"]),
        ('{"path": "src/app.tsx"}', ["src/app.tsx"]),
        ("C:\\work\\b.ts", ["\\work\\b.ts"]),
        ("a/b/Makefile and Dockerfile", ["a/b/Makefile", "Dockerfile"]),
        ("/x/.gitignore .github/workflows/ci.yml", ["/x/.gitignore", ".github/workflows/ci.yml"]),
        ("dist/app.wxyz but app.wxyz", ["dist/app.wxyz"]),
        ("foo.test.tsx? README.md!", ["foo.test.tsx", "README.md"]),
        ("@scope/pkg.ts", ["@scope/pkg.ts"]),
    ],
)
def test_paths_are_found_as_they_are_written(text: str, paths: list[str]) -> None:
    assert list(paths_in(text)) == paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("请看main.py的内容", ["main.py"]),
        ("設計書.mdを読む", ["設計書.md"]),
        ("文件src/設計/計画.txtを読む", ["src/設計/計画.txt"]),
        ("看a.py和b.py吧", ["a.py", "b.py"]),
        ("main.py를 고쳐", ["main.py"]),
        ("файл.txt в папке/документ.docx", ["файл.txt", "папке/документ.docx"]),
        ("ดูmain.goแล้ว", ["main.go"]),
    ],
)
def test_names_are_found_in_scripts_that_write_no_spaces(text: str, paths: list[str]) -> None:
    assert list(paths_in(text)) == paths


@pytest.mark.parametrize(
    "text",
    [
        "res.json() and fmt.Println",
        "version v1.2.3 of e.g. Foo.bar",
        "https://example.com/page.html?x and http://example.org",
        "//cdn.example.com",
        "The end.The next",
        "10.0.0.1",
        "...",
    ],
)
def test_calls_hosts_versions_and_sentences_are_no_files(text: str) -> None:
    assert [path for path in paths_in(text) if not path.endswith("page.html")] == []


def test_the_newest_named_stands_last_and_of_one_message_what_is_named_most() -> None:
    records = mentioned(
        [(1, ["b.py a.py"]), (2, ["b.py c.py"]), (9, ["src/c.py", "d.py b.py"])], known=["/proj/d.py"]
    )
    assert [(one["name"], one["path"], one["uses"], one["serial"]) for one in records] == [
        ("a.py", "a.py", 1, 1),
        ("c.py", "src/c.py", 2, 9),
        ("b.py", "b.py", 3, 9),
    ]


@given(st.text(alphabet="ab./\\-~中แ.py @:", max_size=200))
def test_whatever_the_text_paths_stand_in_it(text: str) -> None:
    for path in paths_in(text):
        assert path in text
        assert name_of(path)


@pytest.mark.parametrize("unit", ["a.", "/", "a/", "中.py", "中a", "中/", ".py/", "~\\", "a-", "x"])
def test_hostile_texts_are_read_in_linear_time(unit: str) -> None:
    def seconds(chars: int) -> float:
        text = unit * (chars // len(unit)) + ".py"
        begin = time.perf_counter()
        for _ in paths_in(text):
            pass
        return time.perf_counter() - begin

    assert seconds(400_000) < 20 * max(seconds(50_000), 0.01)
