"""``trimtab diff``: what two packs say, and what they do to sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def other(pack: Path) -> Path:
    path = pack.with_name("other.yaml")
    path.write_text(pack.read_text("utf-8").replace("shown: 1", "shown: 3"), "utf-8")
    return path


def test_a_pack_does_not_differ_from_itself(trimtab: Callable, pack: Path, session: Path) -> None:
    result = trimtab("diff", pack, pack, "--on", session)
    assert result.code == 0
    assert "the packs say the same" in result.out
    assert "messages: all the same" in result.out


def test_a_difference_is_shown_with_its_places_and_exit_code_1(
    trimtab: Callable, pack: Path, other: Path
) -> None:
    result = trimtab("diff", pack, other)
    assert result.code == 1
    assert "small@1.0.0 → small@1.0.0: 1 difference" in result.out
    assert "~ settings.shown: 1 → 3" in result.out
    assert f"{pack}:5 → {other}:5" in result.out


def test_the_effect_on_a_session_is_shown_side_by_side(
    trimtab: Callable, pack: Path, other: Path, session: Path
) -> None:
    result = trimtab("diff", pack, other, "--on", session)
    assert result.code == 1
    assert "stages: 1 of 3 verdicts differ" in result.out
    assert "messages that differ: 2" in result.out
    assert "[cleared]" in result.out
    assert "tokens read" in result.out


def test_the_same_for_programs(trimtab: Callable, pack: Path, other: Path, session: Path) -> None:
    found = trimtab("diff", pack, other, "--on", session, "--json").json
    assert [each["path"] for each in found["differences"]] == ["settings.shown"]
    [effect] = found["sessions"]
    assert effect["differs"] is True
    assert effect["messages"] == [{"before": [4, 5], "after": [4, 5]}, {"before": [6, 7], "after": [6, 7]}]
    assert [stage["id"] for stage in effect["stages"]] == ["clear"]
    assert effect["after"]["tokens"]["after"] > effect["before"]["tokens"]["after"]
    assert effect["before"]["cost"]["next_call_dollars"] > 0


def test_packs_that_say_different_things_may_do_the_same(
    trimtab: Callable, pack: Path, session: Path
) -> None:
    other = pack.with_name("other.yaml")
    other.write_text(pack.read_text("utf-8").replace("at_least: 900000", "at_least: 900001"), "utf-8")
    found = trimtab("diff", pack, other, "--on", session, "--json")
    assert found.code == 1
    assert found.json["sessions"][0]["differs"] is False


def test_a_broken_pack_is_told_of_and_not_compared(trimtab: Callable, pack: Path, other: Path) -> None:
    other.write_text(other.read_text("utf-8").replace("kind: guard", "kind: gard"), "utf-8")
    result = trimtab("diff", pack, other)
    assert result.code == 1
    assert result.out == ""
    assert "unknown-kind" in result.err


def test_the_session_file_is_never_written_to(
    trimtab: Callable, pack: Path, other: Path, session: Path
) -> None:
    before = session.read_bytes()
    files = sorted(session.parent.iterdir())
    trimtab("diff", pack, other, "--on", session)
    assert session.read_bytes() == before
    assert sorted(session.parent.iterdir()) == files


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (r'"x\ny"', r'"x\r\ny"', r'"x\ny" → "x\r\ny"'),
        ('"x"', '"x "', 'x → "x "'),
        ('"x y"', '"x  y"', 'x y → "x  y"'),
        ('"x y"', '"x\xa0y"', r'x y → "x\u00a0y"'),
        ('"xy"', '"x\u200by"', r'xy → "x\u200by"'),
        ('"1"', "1", '"1" → 1'),
    ],
)
def test_values_that_look_alike_are_told_apart(
    trimtab: Callable, pack: Path, old: str, new: str, shown: str
) -> None:
    other = pack.with_name("other.yaml")
    for path, value in ((other, new), (pack, old)):
        text = pack.read_text("utf-8").replace("shown: 1", f"shown: 1, said: {value}")
        path.write_text(text, "utf-8", newline="\n")
    assert f"~ settings.said: {shown}\n" in trimtab("diff", pack, other).out


def test_the_first_line_in_which_templates_differ_is_shown(trimtab: Callable, tmp_path: Path) -> None:
    for name, words in (("one", "same\nold words"), ("two", "same\nold\xa0words")):
        folder = tmp_path / name
        (folder / "templates").mkdir(parents=True)
        (folder / "templates" / "said.md.j2").write_text(words, "utf-8")
        (folder / "pack.yaml").write_text(
            "format: 1\nname: small\nversion: 1.0.0\nstages:\n"
            "  - {id: a, kind: guard, at: [before_request], level: info, template: said.md.j2}\n",
            "utf-8",
        )
    result = trimtab("diff", tmp_path / "one", tmp_path / "two")
    assert (
        r'~ templates.said.md.j2: its text differs from line 2 on: old words → "old\u00a0words"' in result.out
    )


def test_messages_that_look_alike_are_told_apart(trimtab: Callable, pack: Path, session: Path) -> None:
    other = pack.with_name("other.yaml")
    text = pack.read_text("utf-8")
    other.write_text(text.replace('"[cleared]"', r'"[cleared]\u200b"'), "utf-8")
    result = trimtab("diff", pack, other, "--on", session)
    changed = [line for line in result.out.splitlines() if "[cleared]" in line and line.startswith("      ")]
    assert len(changed) == 6
    assert all((r"\u200b" in line) == (line[6] == "+") for line in changed)
