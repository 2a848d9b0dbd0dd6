"""The made-up sessions: the same ones every time, with the tools the pack itself names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.request import Info, Message
from ..testing.conversation import TOOL, made_up


@dataclass(frozen=True, slots=True)
class Made:
    """A session of so many ``calls``, each with one result of ``chars`` characters; a turn every ``turn`` calls."""

    calls: int
    chars: int
    turn: int = 6


SESSIONS = (Made(calls=40, chars=24_000), Made(calls=100, chars=1_200))
"""One that fills a window of 200,000 tokens quickly, and one with many messages that hardly does."""
START = 1_767_225_600.0
"""2026-01-01T00:00:00Z, in seconds since 1970."""
PAUSE = 20.0
"""Seconds between messages: the cache stays warm."""
FILES = 12
"""Paths that come again and again, so that some results supersede others."""


def tools_of(pack: Mapping[str, Any]) -> Sequence[str]:
    """One tool for each category of the pack, and one of none."""
    names = [str(globs[0]).replace("*", "").replace("?", "x") for globs in pack.get("tools", {}).values()]
    return [*dict.fromkeys(name for name in names if name), TOOL]


def rounds(made: Made, tools: Sequence[str]) -> Iterator[tuple[list[Message], list[Info | None], float]]:
    """What each call adds: messages, what the host knows of them, and the time it is then."""
    now = START
    for number in range(made.calls):
        new: list[Message] = []
        if number % made.turn == 0:
            if number:
                new.append({"role": "assistant", "content": f"Part {number // made.turn} is done."})
            new.append({"role": "user", "content": f"Please do part {number // made.turn + 1}."})
        call = f"call_{number}"
        path = f"/harbour/{number % FILES}.txt"
        given = {"path": path, "file_path": path, "command": f"look {number}"}
        tool = tools[number % len(tools)]
        new.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": tool, "input": given}]}
        )
        text = made_up(made.chars, number)
        new.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}
        )
        infos: list[Info | None] = []
        for _ in new:
            now += PAUSE
            infos.append(Info(at=now))
        yield new, infos, now
