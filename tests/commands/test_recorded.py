"""``run`` and ``explain`` on the recorded sessions, at their own model and in a window of 32,000 tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.corpus

WINDOWS = ((), ("--set", "window=32000"))
SMALL = 11_000
"""Tokens up to which a session needs no compaction in the small window."""


def told(stage: dict[str, Any]) -> Any:
    """What became of a stage and its children."""
    keys = ("id", "verdict", "items", "spots", "messages", "brought", "tokens", "bytes", "first_changed")
    return [stage.get(key) for key in keys], [told(child) for child in stage.get("children", ())]


def sessions(corpus: Path) -> list[Path]:
    found = sorted((corpus / "claude-code").rglob("*.jsonl"))
    assert found
    return found


@pytest.mark.parametrize("options", WINDOWS, ids=["own-window", "small-window"])
def test_every_recorded_session_runs_as_explained_and_rests_afterwards(
    trimtab: Callable, corpus: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    for number, path in enumerate(sessions(corpus)):
        before = path.read_bytes()
        arguments = (path, "--json", "--dir", tmp_path / str(number), *options)
        said, first, second = (trimtab(name, *arguments) for name in ("explain", "run", "run"))
        assert (said.code, first.code, second.code) == (0, 0, 0), (path, said.err, first.err, second.err)
        assert [told(stage) for stage in said.json["stages"]] == [
            told(stage) for stage in first.json["stages"]
        ], path
        assert said.json["totals"]["tokens"] == first.json["totals"]["tokens"], path
        totals = second.json["totals"]
        assert totals["commits"] == 0 or totals["tokens"]["after"] < totals["tokens"]["before"], path
        assert not [one for one in first.json.get("problems", ()) if one["code"].startswith("invalid-")], path
        assert path.read_bytes() == before


def test_in_a_small_window_all_but_the_small_sessions_are_compacted(trimtab: Callable, corpus: Path) -> None:
    for path in sessions(corpus):
        receipt = trimtab("run", path, "--json", "--set", "window=32000").json
        if receipt["totals"]["tokens"]["before"] > SMALL:
            compact = next(stage for stage in receipt["stages"] if stage["id"] == "autocompact")
            assert compact["verdict"] == "committed", (path, compact)
