"""Calling commands in this process, and a small session and pack to call them on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from trimtab import commands

PACK = """\
format: 1
name: small
version: 1.0.0
description: Clears old results
settings: {clear: true, shown: 1}
limits: {auto: 0.001 * window}
stages:
  - id: clear
    kind: replace
    at: {before_request: {tokens: {at_least: auto}, settings: {clear: true}}}
    select: {blocks: [tool_result]}
    keep: {newest: {items: shown}}
    text: "[cleared]"
  - {id: never, kind: replace, at: [before_request], when: {tokens: {at_least: 900000}},
     select: {blocks: [tool_result], age: {rounds: {at_least: 1}}}, text: "-"}
  - {id: hush, kind: guard, at: [before_request], level: info, text: "all is well",
     when: {messages: {at_least: 1}}}
"""


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output does not depend on the terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "120")


class Result(NamedTuple):
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def conversation(calls: int = 4, model: str | None = "claude-sonnet-4-5") -> dict[str, Any]:
    """A request with so many tool calls, each with a long result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please look at the harbour."}]
    for number in range(calls):
        use = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Read",
            "input": {"file_path": f"/h/{number}.py"},
        }
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": f"berth {number} " * 200,
        }
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    named = {} if model is None else {"model": model}
    return {**named, "max_tokens": 1000, "messages": messages}


@pytest.fixture
def trimtab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs ``trimtab ARGUMENT…`` in this process."""

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        code = commands.invoke([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session file: a plain request with four tool calls."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(conversation()), encoding="utf-8")
    return path


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack that clears all but the newest result."""
    path = tmp_path / "small.yaml"
    path.write_text(PACK, encoding="utf-8")
    return path
