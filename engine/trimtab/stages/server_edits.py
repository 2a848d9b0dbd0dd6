"""``server_edits``: the API's own context editing, declared on the request; nothing is edited here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from ..directives import CONTEXT, edits_of, in_order
from ..matching import Categories
from ..policy.conditions import Condition
from ..policy.evaluation import NoValue
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..templating import TemplateProblem
from ._failing import failed
from ._variables import variables

RESPONSES_TYPE = "compaction"
"""The one edit of the Responses API; the others are the Messages API's."""

BETAS: Mapping[str, str] = {
    "clear_thinking_20251015": "context-management-2025-06-27",
    "clear_tool_uses_20250919": "context-management-2025-06-27",
    "compact_20260112": "compact-2026-01-12",
}
"""Beta header each edit needs (API-FACTS §2); sending it is the host's affair."""

LEAST_COMPACT_TRIGGER = 50_000
"""Input tokens; the API refuses a smaller trigger of ``compact_20260112`` (API-FACTS §2)."""

Field: TypeAlias = Callable[[Scene], Any]
"""What a field of an edit is on this request. Raises ``Never``, NoValue, TemplateProblem."""


class Never(Exception):
    """The edit could not do anything: one of its amounts is unlimited."""


@dataclass(frozen=True, slots=True)
class ServerEdit:
    """One of the API's objects, its fields in the order of the pack."""

    type: str
    fields: tuple[tuple[str, Field], ...]
    when: Condition | None = None

    def written(self, scene: Scene) -> dict[str, Any]:
        """The object. Raises Never, NoValue, TemplateProblem."""
        return {"type": self.type, **{name: value(scene) for name, value in self.fields}}


@dataclass(frozen=True, slots=True)
class ServerEdits:
    """Of each type one edit is declared: the host's, else the first whose ``when`` holds."""

    name: ClassVar[str] = "server_edits"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    edits: tuple[ServerEdit, ...]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> ServerEdits:
        return cls(tuple(_edit(edit, make, "edits", at) for at, edit in enumerate(raw["edits"])))

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        extra = scene.request.extra
        own = edits_of(extra.get(CONTEXT))
        if own is None:
            return Proposal(reason="the host's context_management has an unknown form and stays as it is")
        hosts = {str(edit.get("type")) for edit in own}
        found: dict[str, dict[str, Any]] = {}
        left: dict[str, str] = {}
        raised = False
        for edit in self.edits:
            if edit.when is not None and not edit.when.test(scene).holds:
                continue
            why = _obstacle(edit.type, scene, hosts, found)
            if why is None:
                try:
                    made = edit.written(scene)
                except Never as problem:
                    why = str(problem)
                except TemplateProblem as problem:
                    return failed(problem)
                else:
                    raised = _raise_trigger(made) or raised
                    found[edit.type] = made
            if why is not None:
                left.setdefault(edit.type, why)
        remarks: dict[str, Any] = {"left_out": left} if left else {}
        if not found:
            said = "; ".join(f"{name}: {why}" for name, why in left.items())
            return Proposal(reason=said or "no edit's condition holds", remarks=remarks)
        remarks["edits"] = list(found)
        betas = dict.fromkeys(BETAS[name] for name in found if name in BETAS)
        if betas:
            remarks["betas"] = list(betas)
        if raised:
            remarks["raised_to_least"] = LEAST_COMPACT_TRIGGER
        edits = in_order(found.values())
        value: Any = edits if RESPONSES_TYPE in found else {"edits": edits}
        return Proposal(directives={CONTEXT: value}, items=len(edits), remarks=remarks)


def _obstacle(name: str, scene: Scene, hosts: set[str], found: Mapping[str, Any]) -> str | None:
    """Why an edit whose condition holds is not declared."""
    request = scene.request
    responses = "responses" in request.format
    if (name == RESPONSES_TYPE) is not responses or not (responses or request.format == "anthropic"):
        return f"not for a request in the format {request.format}"
    if not responses and "compaction" in request.extra:
        return "the request asks for a compaction of its own, which takes no other editing"
    if name in hosts:
        return "the host declares one itself"
    if name in found:
        return "an edit of this type is declared before it"
    return None


def _raise_trigger(edit: dict[str, Any]) -> bool:
    trigger = edit.get("trigger")
    if edit["type"] != "compact_20260112" or trigger is None or trigger["value"] >= LEAST_COMPACT_TRIGGER:
        return False
    edit["trigger"] = {**trigger, "value": LEAST_COMPACT_TRIGGER}
    return True


# ------------------------------------------------------------------------------------------------------- building


def _edit(raw: Mapping[str, Any], make: Maker, *where: str | int) -> ServerEdit:
    fields: list[tuple[str, Field]] = []
    for name, value in raw.items():
        if name in ("trigger", "clear_at_least") or (name == "keep" and isinstance(value, Mapping)):
            fields.append((name, _amount(name, value, make, *where, name)))
        elif name in ("exclude_tools", "clear_tool_inputs") and isinstance(value, list | tuple):
            fields.append((name, _tools(tuple(value))))
        elif name == "compact_threshold":
            fields.append((name, _number(name, make.quantity(value, *where, name))))
        elif name == "instructions":
            fields.append((name, _words(value, make, *where, name)))
        elif name not in ("type", "when"):
            fields.append((name, _constant(value)))
    when = make.condition(raw["when"], *where, "when") if raw.get("when") else None
    return ServerEdit(str(raw["type"]), tuple(fields), when)


def _constant(value: Any) -> Field:
    return lambda scene: value


def _amount(name: str, raw: Mapping[str, Any], make: Maker, *where: str | int) -> Field:
    kind = str(raw["type"])
    if "value" not in raw:
        return _constant({"type": kind})
    number = _number(name, make.quantity(raw["value"], *where, "value"))

    def made(scene: Scene) -> Any:
        try:
            return {"type": kind, "value": number(scene)}
        except Never:
            if kind == "thinking_turns":
                return "all"
            raise

    return made


def _number(name: str, quantity: Quantity) -> Field:
    """Whole numbers only, rounded down; an unlimited one means that the edit never does anything."""

    def made(scene: Scene) -> int:
        value = quantity.value(scene.name)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise NoValue(f"`{quantity.source}` is no number")
        if math.isinf(value):
            raise Never(f"its {name} is unlimited")
        return math.floor(value)

    return made


def _tools(categories: tuple[str, ...]) -> Field:
    return lambda scene: tool_names(scene.categories, categories, scene.request.tools)


def tool_names(known: Categories, categories: tuple[str, ...], tools: Any) -> list[str]:
    """The request's tools of these categories; if it has none of them, the names the pack spells out."""
    listed = tools if isinstance(tools, list | tuple) else ()
    names = (tool.get("name") for tool in listed if isinstance(tool, Mapping))
    found = [name for name in names if isinstance(name, str) and known.matches(name, categories)]
    if not found:
        found = [name for category in categories for name in known.plain(category)]
    return list(dict.fromkeys(found))


def _words(raw: str, make: Maker, *where: str | int) -> Field:
    text = make.text({"text": raw}, *where)

    def made(scene: Scene) -> str:
        return text.render(variables(scene, text)) if text is not None else ""

    return made
