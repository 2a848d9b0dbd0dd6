"""A small scene for the tests of conditions, selectors and measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from trimtab.conversation.items import Item, ItemMaker
from trimtab.conversation.request import Info, Request
from trimtab.conversation.view import Call, View
from trimtab.facts import Facts
from trimtab.matching import Categories
from trimtab.policy.evaluation import NeedsTool, NoValue
from trimtab.policy.expressions import Quantity, quantity
from trimtab.policy.metrics import METRICS

TOOLS = {"read": ["Read"], "edit": ["Edit", "Write"], "shell": ["Bash"], "search": ["Grep", "Glob"]}


def count(text: str) -> int:
    return (len(text) + 3) // 4


def maker() -> ItemMaker:
    return ItemMaker(count, lambda block: 1600)


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def calls(*uses: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """An assistant message with calls: id, tool, input."""
    blocks = [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in uses]
    return {"role": "assistant", "content": blocks}


def results(*answers: tuple[str, Any], error: bool = False) -> dict[str, Any]:
    """A user message with results: call id, content."""
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": id,
            "content": content,
            **({"is_error": True} if error else {}),
        }
        for id, content in answers
    ]
    return {"role": "user", "content": blocks}


def view_of(messages: Sequence[Mapping[str, Any]], origins: Mapping[int, str] | None = None) -> View:
    make = maker().make
    items: list[Item] = []
    for index, message in enumerate(messages):
        items.append(make(index + 1, message, (origins or {}).get(index))[0])
    return View(items)


@dataclass
class FakeHistory:
    compactions: int = 0
    overflows: int = 0
    commits: set[str] = field(default_factory=set)
    gains: dict[str, float] = field(default_factory=dict)
    failed: tuple[int, float | None] = (0, None)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def committed(self, stages: Sequence[str], own: str) -> str | None:
        self.asked.append((tuple(stages), own))
        return next((stage for stage in stages if stage in self.commits), None)

    def gained(self, unit: str, stages: Sequence[str], tools: Sequence[str], own: str) -> float | None:
        self.asked.append((unit, tuple(stages), tuple(tools), own))
        return self.gains.get(unit)

    def failures(self, stage: str) -> tuple[int, float | None]:
        return self.failed


@dataclass
class FakeScene:
    view: View = field(default_factory=View)
    event: str = "before_request"
    values: dict[str, float | bool | str] = field(default_factory=dict)
    settings: dict[str, bool | float | str] = field(default_factory=dict)
    limits: dict[str, Quantity] = field(default_factory=dict)
    tool_limits: dict[str, float] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    request: Request = field(default_factory=lambda: Request(model="claude-test-1", messages=()))
    history: FakeHistory = field(default_factory=FakeHistory)
    categories: Categories = field(default_factory=lambda: Categories(TOOLS))
    infos: dict[int, Info] = field(default_factory=dict)
    tokens: float = 1000
    overhead: float = 100
    bytes: int = 5000
    measured: bool = True
    error: str | None = None
    refusal: Any = None
    failure: str | None = None
    proposal: Any = None
    stage: Any = field(default_factory=lambda: SimpleNamespace(id="own"))
    factor: float = 1.0

    @property
    def policy(self) -> Any:
        return SimpleNamespace(limits=self.limits)

    def info(self, serial: int) -> Info | None:
        return self.infos.get(serial)

    def last_response_at(self) -> float | None:
        for item in reversed(self.view.items):
            if item.role == "assistant":
                info = self.info(item.serial)
                return info.at if info else None
        return None

    def name(self, name: str) -> float | bool | str:
        if name == "tool_limit":
            raise NeedsTool("no tool")
        for known in (self.values, self.settings):
            if name in known:
                return known[name]
        if name in self.limits:
            return self.limits[name].value(self.name)
        value = METRICS[name].read(self) if name in METRICS else None
        if value is None:
            raise NoValue(f"`{name}` is unknown")
        return value

    def name_for(self, tool: str | None) -> Callable[[str], float | bool | str]:
        def look_up(name: str) -> float | bool | str:
            if name == "tool_limit":
                return self.tool_limits.get(tool or "", math.inf)
            return self.limits[name].value(look_up) if name in self.limits else self.name(name)

        return look_up

    def metric(self, name: str) -> float | str | bool | None:
        return METRICS[name].read(self)

    def count(self, text: str) -> int:
        return round(self.tokens_of(count(text)))

    def tokens_of(self, estimate: float) -> float:
        return self.factor * estimate

    def files_of(self, call: Call) -> Sequence[Mapping[str, Any]]:
        path = call.input.get("file_path")
        if path is None:
            return ()
        record = {"path": path, **{key: call.input[key] for key in ("offset", "limit") if key in call.input}}
        return (
            ({**record, "edited": True},) if call.name in ("Edit", "Write") else ({**record, "read": True},)
        )

    def paths_of(self, call: Call) -> Sequence[str]:
        return [record["path"] for record in self.files_of(call)]


def limits(**named: str | float) -> dict[str, Quantity]:
    return {name: quantity(raw) for name, raw in named.items()}
