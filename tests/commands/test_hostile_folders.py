"""``trimtab check`` on folders in which something else stands than a pack: one problem in words, and soon."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACK = """\
format: 1
name: odd
version: 1.0.0
stages:
  - {id: a, kind: guard, at: [before_request], level: info, template: said.md.j2}
"""
UNREADABLE = Path("/proc/self/mem")
"""A regular file, to look at, that cannot be read from its beginning, whoever asks."""

MADE: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link that leads to no file": lambda path: path.symlink_to(path.name),
}


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """No check takes long, whatever it finds."""

    def late(*_: object) -> None:
        raise TimeoutError("the check hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack that is sound, with a template."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "odd"
    (folder / "templates").mkdir(parents=True)
    (folder / "pack.yaml").write_text(PACK, "utf-8")
    (folder / "templates" / "said.md.j2").write_text("said", "utf-8")
    return folder


def only_problem(trimtab: Callable, folder: Path) -> dict:
    """The one thing that is told of the pack, in whatever form it is asked for."""
    result = trimtab("check", folder, "--json")
    [problem] = result.json["packs"][0]["problems"]
    assert result.code == (1 if problem["severity"] == "error" else 0)
    for form in ("text", "sarif", "github"):
        assert trimtab("check", folder, "--format", form).code == result.code
    return problem


def test_the_pack_itself_is_sound(trimtab: Callable, folder: Path) -> None:
    assert trimtab("check", folder, "--json").json["packs"][0]["problems"] == []


@pytest.mark.parametrize("what", MADE)
def test_what_is_no_file_in_the_place_of_a_pack_is_named(trimtab: Callable, folder: Path, what: str) -> None:
    (folder / "pack.yaml").unlink()
    MADE[what](folder / "pack.yaml")
    problem = only_problem(trimtab, folder)
    assert problem["code"] == "file"
    assert problem["message"] == f"the pack file is no file but {what}"


@pytest.mark.parametrize("what", MADE)
def test_what_is_no_file_in_the_place_of_a_template_is_named(
    trimtab: Callable, folder: Path, what: str
) -> None:
    (folder / "templates" / "said.md.j2").unlink()
    MADE[what](folder / "templates" / "said.md.j2")
    problem = only_problem(trimtab, folder)
    assert problem["code"] == "template-missing"
    assert problem["message"] == f"the template said.md.j2 is no file but {what}"
    assert problem["line"] == 5


@pytest.mark.parametrize("what", MADE)
def test_what_is_no_file_beside_the_templates_is_passed_over(
    trimtab: Callable, folder: Path, what: str
) -> None:
    MADE[what](folder / "templates" / "other.md.j2")
    assert trimtab("check", folder, "--json").json["packs"][0]["problems"] == []


@pytest.mark.parametrize("what", MADE)
def test_what_is_no_file_in_the_place_of_a_base_is_named(trimtab: Callable, folder: Path, what: str) -> None:
    MADE[what](folder / "base.yaml")
    (folder / "pack.yaml").write_text(PACK + "extends: [./base.yaml]\n", "utf-8")
    if what == "a folder":
        MADE["a pipe"](folder / "base.yaml" / "pack.yaml")
        what = "a pipe"
    problem = only_problem(trimtab, folder)
    assert (problem["code"], problem["line"]) == ("extends", 6)
    assert problem["message"] == f"the pack file is no file but {what}"


@pytest.mark.parametrize("place", ["pack.yaml", "templates/said.md.j2", "templates/unused.md.j2"])
def test_a_huge_file_is_told_of_and_not_read(trimtab: Callable, folder: Path, place: str) -> None:
    with (folder / place).open("wb") as file:
        file.truncate(6_000_000_000)
    problem = only_problem(trimtab, folder)
    assert problem["code"] in ("too-large", "template-syntax", "unused-template")
    assert problem["hint"]


@pytest.mark.parametrize("command", [("fmt",), ("migrate",), ("check", "--fix")])
def test_a_huge_pack_is_not_rewritten(trimtab: Callable, folder: Path, command: tuple[str, ...]) -> None:
    with (folder / "pack.yaml").open("wb") as file:
        file.truncate(6_000_000_000)
    result = trimtab(*command, folder)
    assert result.code == 1
    assert "more than 1,000,000 bytes" in result.out + result.err


@pytest.mark.parametrize(
    ("place", "line"), [("pack.yaml", 7), ("templates/said.md.j2", 3), ("templates/unused.md.j2", 1)]
)
def test_a_file_in_another_encoding_is_told_with_its_line(
    trimtab: Callable, folder: Path, place: str, line: int
) -> None:
    text = (PACK if place == "pack.yaml" else "one\n") + "\n# caf"
    (folder / place).write_bytes(text.encode() + b"\xe9\n")
    problem = only_problem(trimtab, folder)
    assert problem["file"] == f"odd/{place}" or problem["file"].endswith(f"/odd/{place}")
    assert problem["line"] == line
    if "unused" not in place:
        assert problem["hint"] == "save the file as UTF-8"


@pytest.mark.skipif(not UNREADABLE.exists(), reason="there is no such file on this system")
@pytest.mark.parametrize(
    ("place", "code"), [("pack.yaml", "file"), ("templates/unused.md.j2", "unused-template")]
)
def test_a_file_that_cannot_be_read_is_told_of(
    trimtab: Callable, folder: Path, place: str, code: str
) -> None:
    (folder / place).unlink(missing_ok=True)
    (folder / place).symlink_to(UNREADABLE)
    assert only_problem(trimtab, folder)["code"] == code


@pytest.mark.parametrize("place", ["pack.yaml", "templates/said.md.j2", "templates/unused.md.j2"])
def test_a_file_nobody_may_open_is_told_of(
    trimtab: Callable, folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / place).touch()
    real = Path.open

    def closed(self: Path, *rest: object, **options: object) -> object:
        if self.name == Path(place).name:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *rest, **options)

    monkeypatch.setattr(Path, "open", closed)
    problem = only_problem(trimtab, folder)
    assert "Permission denied" in problem["message"] or problem["code"] == "unused-template"


@pytest.mark.parametrize("name", ['"a\\0b"', '"../a\\0b"', "x" * 5000, "../" + "x" * 5000, "../../" * 2000])
@pytest.mark.parametrize("key", ["extends", "template"])
def test_a_name_no_file_can_have_is_told_of(trimtab: Callable, folder: Path, key: str, name: str) -> None:
    text = PACK + f"extends: [{name}]\n" if key == "extends" else PACK.replace("said.md.j2", name)
    (folder / "templates" / "said.md.j2").unlink()
    (folder / "pack.yaml").write_text(text, "utf-8")
    assert only_problem(trimtab, folder)["code"] in ("extends", "template-missing", "template-outside")


@pytest.mark.parametrize("inside", [True, False])
def test_folders_that_lead_back_to_themselves_are_gone_through_once(
    trimtab: Callable, folder: Path, inside: bool
) -> None:
    (folder / "templates" / "again").symlink_to(folder if inside else "again")
    (folder / "templates" / "unused.md.j2").touch()
    assert only_problem(trimtab, folder)["message"] == "nothing uses the template `unused.md.j2`"


def test_a_link_to_the_whole_disk_is_looked_at_only_so_far(trimtab: Callable, folder: Path) -> None:
    (folder / "templates" / "said.md.j2").unlink()
    (folder / "templates").rmdir()
    (folder / "templates").symlink_to("/")
    found = trimtab("check", folder, "--json").json["packs"][0]["problems"]
    assert [problem["code"] for problem in found] == ["template-missing", "unused-template"]
    assert "more than 2,000 files" in found[1]["message"]


@pytest.mark.skipif(os.name == "nt", reason="names are texts there")
def test_a_name_that_is_no_text_is_shown_as_far_as_it_is_one(trimtab: Callable, folder: Path) -> None:
    with open(os.fsencode(folder / "templates") + b"/\xff.j2", "w", encoding="utf-8"):
        pass
    assert only_problem(trimtab, folder)["code"] == "unused-template"
