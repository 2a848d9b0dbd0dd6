"""A pack in one order of keys: nothing is lost, nothing means anything else, and a second time changes nothing."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data import data_root
from trimtab.packs.document import parse_document, read_text
from trimtab.packs.formatting import formatted, same
from trimtab.packs.problems import PackError
from trimtab.packs.schema import KINDS, pack_schema
from trimtab.packs.written.order import stage_keys
from trimtab.packs.written.printing import print_written

ROOT = data_root()
SHIPPED = sorted(ROOT.glob("rules/*/pack.yaml"))
GOOD = sorted((ROOT / "tests" / "cases" / "good").glob("*.yaml"))


def comments(text: str) -> list[str]:
    """What looks like a comment, in any order."""
    return sorted(each.strip() for each in re.findall(r"(?:^|\s)(#[^\n]*)", text))


def keeps_everything(text: str) -> str:
    """The formatted text, once it is shown to say the same and to stay as it is."""
    after = formatted(text, "pack.yaml")
    assert same(parse_document(text, "before").data, parse_document(after, "after").data)
    assert formatted(after, "pack.yaml") == after
    assert comments(after) == comments(text)
    return after


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_pack_says_the_same_when_it_is_formatted(path: Path) -> None:
    keeps_everything(path.read_text("utf-8"))


def test_whatever_the_strict_reader_takes_is_formatted_or_refused_in_words() -> None:
    files = [*ROOT.glob("tests/cases/bad/*.yaml"), *ROOT.glob("rules/*/tests/*.yaml")]
    taken = 0
    for path in files:
        try:
            text = read_text(path, path.name)
            parse_document(text, "file")
        except PackError:
            continue
        keeps_everything(text)
        taken += 1
    assert taken > 80


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_parser_in_plain_python_gives_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text("utf-8")
    expected = formatted(text, "pack.yaml")
    monkeypatch.setattr("yaml.__with_libyaml__", False)
    assert formatted(text, "pack.yaml") == expected


@pytest.mark.corpus
def test_the_drafts_say_the_same_when_they_are_formatted(corpus: Path) -> None:
    folder = corpus.parent / "drafts"
    if not folder.is_dir():
        pytest.skip("the drafts are not there")
    for path in sorted(folder.glob("*.yaml")):
        keeps_everything(path.read_text("utf-8"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_what_ships_is_formatted(path: Path) -> None:
    text = path.read_text("utf-8")
    assert keeps_everything(text) == text, "run: trimtab fmt rules/*/"


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_every_kind_has_its_place(kind: str) -> None:
    order = stage_keys(kind)
    assert set(order) == set(pack_schema()["definitions"][f"stage-{kind}"]["properties"])
    common = [key for key in order if key not in ("before", "after", "reset")]
    expected = ["id", "kind", "description", "enabled", "at", "when", "accept", "breaker", "on_failure"]
    assert common[:8] == [key for key in expected if key in order][:8]


def test_keys_of_the_pack_and_of_its_stages_come_in_order_with_their_comments() -> None:
    text = """\
# the file
stages:
- text: hi   # said
  kind: guard
  # why it is called so
  id: greet

  level: info
# the second
- {level: info, text: "a,  b", kind: guard,
   id: other}
name: x      # named
format: 1
version: 1.0.0
# the end"""
    assert (
        keeps_everything(text)
        == """\
# the file
format: 1
name: x      # named
version: 1.0.0
stages:
  # why it is called so
  - id: greet
    kind: guard
    level: info
    text: hi   # said
  # the second
  - {id: other, kind: guard, level: info, text: "a,  b"}
# the end
"""
    )


def test_what_is_in_order_keeps_its_line_breaks_and_blank_lines() -> None:
    text = """\
format: 1
name: x
version: 1.0.0

settings:
  share: 0.5      # of the window
                  # for people
  cap: unlimited

stages:
  # --- first
  - {id: a, kind: guard, level: info,
     text: "{{ messages }}"}

  # --- then
  - id: b
    kind: guard
    level: info
    text: |
      One
        two

    # below b
"""
    assert keeps_everything(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:   1\n\n\n\nb: {  x: 1,y: 2 }  \n", "a: 1\n\nb: {x: 1, y: 2}\n"),
        ("a: [1,2,  ]\n", "a: [1, 2]\n"),
        ("a:\n    b:\n        - 1\n        -   2\n", "a:\n  b:\n    - 1\n    - 2\n"),
        ("a:\n- b: 1\n  c: 2\n", "a:\n  - b: 1\n    c: 2\n"),
        ("a:\n  - # why\n    b: 1\n", "a:\n  # why\n  - b: 1\n"),
        ("a:   # why\n  - 1", "a:   # why\n  - 1\n"),
        ("a:   # why\n  text\n", "a:   # why\n  text\n"),
        ("a: [b: 1, {c: 2}]\n", "a: [b: 1, {c: 2}]\n"),
        ('"a": {"b":1}\n', '"a": {"b": 1}\n'),
        ("a: [1, # one\n  2] # two\n", "a: [1, # one\n  2] # two\n"),
        ("a: [\n    1,\n    2,\n  ]\n", "a: [\n    1,\n    2\n  ]\n"),
        ("---\na: 1\n", "---\na: 1\n"),
        ("---\n# c\nname: x\n# d\nformat: 1\n", "---\n# c\n# d\nformat: 1\nname: x\n"),
        ("# a\n--- # b\n# c\na: 1\n...\n# d", "# a\n--- # b\n# c\na: 1\n...\n# d\n"),
        ("%YAML 1.2\n--- {b: 1} # a\n", "%YAML 1.2\n---\n{b: 1}\n# a\n"),
        ("{b: 1, a: 2}\n", "{b: 1, a: 2}\n"),
        ("a: |+\n  one\n\n\n", "a: |+\n  one\n\n\n"),
        (
            "\nname: |+\n  one\n\nformat: 1\n\ndescription: x\n",
            "format: 1\nname: |+\n  one\n\ndescription: x\n",
        ),
        ("a:\n  - |+\n    one\n\n  -\n\n    - b\n", "a:\n  - |+\n    one\n\n  - - b\n"),
        ("a: |  # why\n  one", "a: |-  # why\n  one\n"),
        ("a: >+2\n    one", "a: >-2\n    one\n"),
        ("a: |\n  one  \n    \n\nb: 1\n", "a: |\n  one  \n    \n\nb: 1\n"),
        ("a:\n    b: |\n        x\n          \n        y\n", "a:\n  b: |\n      x\n        \n      y\n"),
        ("a: |+\n  one\n\n\nb: 1\n", "a: |+\n  one\n\n\nb: 1\n"),
        ("a: 'one\n    two'\n", "a: 'one\n    two'\n"),
        ("a:\n- - 1\n  - 2\n", "a:\n  - - 1\n    - 2\n"),
    ],
)
def test_spaces_are_evened_out_and_the_style_stays(before: str, after: str) -> None:
    assert keeps_everything(before) == after


def test_a_line_that_has_grown_too_long_is_broken_between_its_entries() -> None:
    text = "a: [" + ", ".join(f"entry_number_{number}" for number in range(20)) + "]\n"
    lines = keeps_everything(text).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 120


def test_what_an_allow_comment_is_about_stays_on_its_line() -> None:
    stage = "{kind: guard, id: a, level: info, text: " + "x" * 120 + "}"
    text = f"stages:\n  - {stage}   # trimtab: allow events, it is wanted\n"
    [line] = [line for line in keeps_everything(text).splitlines() if "allow" in line]
    assert "id: a" in line
    assert "text: xxx" in line


def test_line_ends_of_another_system_stay() -> None:
    assert formatted("name: x\r\nformat: 1\r\n", "f") == "format: 1\r\nname: x\r\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [("a: &x 1\nb: *x\n", "yaml-alias"), ("? a\n: 1\n", "layout"), ("a: 1\na: 2\n", "yaml-duplicate-key")],
)
def test_what_is_refused_is_refused_and_not_mended(text: str, code: str) -> None:
    with pytest.raises(PackError) as caught:
        formatted(text, "pack.yaml")
    assert [problem.code for problem in caught.value.problems] == [code]


@pytest.mark.parametrize(
    ("text", "place", "said", "hint"),
    [
        ("a: 1\n? b\n: 2\n", (2, 1), "a key written with `?`", "write `key: value`"),
        ("a: [{c: 1}, ? b : 1]\n", (1, 13), "a key written with `?`", "write `key: value`"),
        ("a: 1\nb: 2\rc: 3\n", (2, 5), "a line break of another kind (U+000D)", "line feed"),
        ('a: 1\nb: "x\u2028y"\n', (2, 6), "a line break of another kind (U+2028)", "escape"),
    ],
)
def test_a_layout_that_cannot_be_kept_is_named_with_its_place_and_how_to_mend_it(
    text: str, place: tuple[int, int], said: str, hint: str
) -> None:
    with pytest.raises(PackError) as caught:
        formatted(text, "pack.yaml")
    [problem] = caught.value.problems
    assert (problem.file, problem.line, problem.column) == ("pack.yaml", *place)
    assert said in problem.message
    assert hint in str(problem.hint)
    assert problem.source


@pytest.mark.parametrize(
    ("written", "broken", "place"),
    [("at_least: 7", "at_least: 8", (6, 30)), ("- two", "-two", (4, 11)), ("a: 1", "a: [", (1, 1))],
)
def test_if_formatting_changed_what_a_pack_says_it_would_say_where(
    written: str, broken: str, place: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a: 1\nb:\n  c:\n      - - two\nstages:\n  - {id: x, when: {tokens: {at_least: 7}}}\n"
    text = text.replace("{at_least: 7}", "{ at_least: 7}")
    monkeypatch.setattr(
        "trimtab.packs.formatting.print_written", lambda tree: print_written(tree).replace(written, broken)
    )
    with pytest.raises(PackError) as caught:
        formatted(text, "pack.yaml")
    [problem] = caught.value.problems
    assert problem.code == "layout"
    assert (problem.line, problem.column) == place


# --- any layout at all


class Writer:
    """Writes plain data as YAML in a layout thrown with dice, with a comment wherever one may stand."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.count = 0
        self.keeps = False  # whether blank lines from here on are part of a text

    def comment(self, odds: float = 0.2) -> str:
        if self.dice.random() > odds:
            return ""
        self.count += 1
        return f"# remark {self.count}: a, b - {{c}}"

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return str(value).lower() if isinstance(value, bool) else str(value)
        plain = bool(re.fullmatch(r"[a-z][a-z_]*( [a-z_]+)*", value)) and value not in ("true", "false")
        if plain and self.dice.random() < 0.6:
            return value
        doubled = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{doubled}"'

    def flow(self, value: Any) -> str:
        if not isinstance(value, dict | list):
            return self.scalar(value)
        parts = []
        for each in value.items() if isinstance(value, dict) else value:
            if isinstance(value, dict):
                parts.append(f"{self.scalar(each[0])}:{' ' * self.dice.randint(1, 2)}{self.flow(each[1])}")
            else:
                parts.append(self.flow(each))
        text = ""
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            remark = self.comment(0.05)
            end = "" if last else ","
            if remark or self.dice.random() < 0.15:
                text += f"{part}{end} {remark}\n{' ' * 30}"
            else:
                text += part + end + ("" if last else " " * self.dice.randint(0, 2) or " ")
        left, right = "{}" if isinstance(value, dict) else "[]"
        return left + " " * self.dice.randint(0, 1) + text + right

    def block(self, value: Any, indent: int) -> list[str]:
        lines = []
        for each in value.items() if isinstance(value, dict) else value:
            if self.dice.random() < 0.15 and not self.keeps:
                lines += [""] * self.dice.randint(1, 3)
            self.keeps = False
            if remark := self.comment():
                lines.append(" " * indent + remark)
            lead = " " * indent + (f"{self.scalar(each[0])}:" if isinstance(value, dict) else "-")
            inner = each[1] if isinstance(value, dict) else each
            lines += self.entry(lead, inner, indent, isinstance(value, dict))
        if remark := self.comment(0.05):
            lines.append(" " * indent + remark)
        return lines

    def entry(self, lead: str, inner: Any, indent: int, in_map: bool) -> list[str]:
        deeper = indent + self.dice.randint(2, 4)
        if isinstance(inner, dict | list) and inner and self.dice.random() < 0.6:
            if isinstance(inner, list) and in_map and self.dice.random() < 0.3:
                deeper = indent
            if not in_map and isinstance(inner, dict):
                body = self.block(inner, deeper)
                first = next((n for n, line in enumerate(body) if line and "#" not in line.split(":")[0]), 0)
                if first == 0:
                    return [lead + " " * (deeper - indent - 1) + body[0].lstrip(), *body[1:]]
                return [lead, *body]
            return [f"{lead} {self.comment()}".rstrip(), *self.block(inner, deeper)]
        if isinstance(inner, str) and "\n" in inner and self.dice.random() < 0.7:
            return self.literal(lead, inner, indent, deeper)
        if isinstance(inner, str) and re.fullmatch("[a-z]+ [a-z]+", inner) and self.dice.random() < 0.3:
            return self.folded(lead, inner, deeper)
        text = f"{lead}{' ' * self.dice.randint(1, 3)}{self.flow(inner)} {self.comment()}".rstrip()
        tail = [" " * (indent + 20) + remark] if (remark := self.comment(0.1)) else []
        return [*(text + " " * self.dice.choice([0, 0, 2])).split("\n"), *tail]

    def literal(self, lead: str, text: str, indent: int, deeper: int) -> list[str]:
        """A text as a block scalar, its lines as they are."""
        bare = text.rstrip("\n")
        more = len(text) - len(bare)
        sign = "-" if not more else "" if more == 1 and self.dice.random() < 0.7 else "+"
        self.keeps = sign == "+"
        step = str(deeper - indent) if text[0] in " \n" or self.dice.random() < 0.2 else ""
        head = f"{lead} |{''.join(self.dice.sample([sign, step], 2))} {self.comment()}".rstrip()
        lines = [" " * deeper + line if line else "" for line in bare.split("\n")]
        blank = [""] * (more - 1 if sign == "+" else self.dice.choice([0, 0, 2]))
        return [head, *lines, *blank]

    def folded(self, lead: str, text: str, deeper: int) -> list[str]:
        """A text of two words over two lines: plain, in quotes, or as a block scalar that folds them."""
        one, two = text.split(" ")
        left, right = self.dice.choice([("", ""), ("'", "'"), ('"', '"'), (">-\n" + " " * deeper, "")])
        return f"{lead} {left}{one}\n{' ' * deeper}{two}{right}".split("\n")

    def document(self, value: Any) -> str:
        """A whole file: what may stand around the pack, line ends of one kind, the last one perhaps missing."""
        dice = self.dice
        lines = ["%YAML 1.2"] if dice.random() < 0.2 else []
        if lines or dice.random() < 0.4:
            lines += [remark] if (remark := self.comment(0.5)) else []
            lines += [f"--- {self.comment()}".rstrip()]
        lines += [remark] if (remark := self.comment(0.5)) else []
        lines += self.block(value, 0)
        if dice.random() < 0.2:
            lines += [f"... {self.comment()}".rstrip(), *([remark] if (remark := self.comment(0.5)) else [])]
        end = dice.choice(["\n", "\r\n"])
        # A text that ends in line breaks has to keep them.
        last = "" if lines[-1].strip() and dice.random() < 0.3 else end
        return end.join(lines) + last


TEXTS = st.sampled_from(
    [
        "tokens",
        "read",
        "a text",
        "no",
        "{{ head }}",
        "one\ntwo",
        "one\ntwo\n",
        "one\n  two  \n\n",
        " one\n\ntwo\n",
        "one\n#two\n  ",
        "two words",
        "- x",
        "a: b",
        "#5",
        "né 🦀 #1",
    ]
)
SCALARS = st.one_of(TEXTS, st.booleans(), st.integers(0, 99))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(st.sampled_from(["any", "none", "tokens", "at_least", "x y"]), inner, min_size=1),
    ),
    max_leaves=8,
)
STAGES = st.dictionaries(
    st.sampled_from(["id", "kind", "when", "at", "text", "select", "level", "odd", "keep"]),
    VALUES,
    min_size=1,
)
PACKS = st.dictionaries(
    st.sampled_from(["format", "name", "settings", "limits", "description", "odd"]), VALUES, min_size=1
).flatmap(lambda top: st.lists(STAGES, min_size=1, max_size=3).map(lambda stages: {"stages": stages, **top}))


@given(PACKS, st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_whatever_the_layout_nothing_is_lost_and_nothing_means_anything_else(pack: Any, seed: int) -> None:
    text = Writer(seed).document(pack)
    before = parse_document(text, "thrown").data
    # Without its last line break a block scalar may end otherwise.
    assert same(before, pack) or not text.endswith("\n")
    after = formatted(text, "pack.yaml")
    assert same(parse_document(after, "after").data, before)
    assert sorted(re.findall(r"# remark \d+", text)) == sorted(re.findall(r"# remark \d+", after))
    assert formatted(after, "pack.yaml") == after
    assert ("\r\n" in after) == ("\r\n" in text)
    marks = ("%YAML 1.2", "---", "...")
    assert [line for line in text.splitlines() if line.startswith(marks)] == [
        line for line in after.splitlines() if line.startswith(marks)
    ]
