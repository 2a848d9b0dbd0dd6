"""What a writer is given and gives, without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ..conversation.items import Block, kind_of
from ..effects import Core, Question, redact
from ..policy.contents import MAX_DEPTH, in_strings, strings
from ..policy.scene import Scene
from ._material import THINKING, Material, each_block

SEALED = frozenset(
    {
        "type",
        "id",
        "tool_use_id",
        "signature",
        "data",
        "encrypted_content",
        "encrypted_index",
        "cache_control",
    }
)
"""Fields of blocks that hold no words; changed, the API would refuse them."""
TOO_DEEP = "[redacted: nested too deep]"
"""Stands for what lies so deep in a block that nobody looks at it."""

Change: TypeAlias = Callable[[str, str | None], str]
"""Gives the text to stand in a text's place; also told the name of the field it fills, if it has one."""


def without_secrets(scene: Scene, material: Material) -> Core[tuple[Material, int]]:
    """The material without secrets, and how many they were. Signed thinking that holds one goes as a whole.

    Raises EffectFailed.
    """
    texts: list[str] = []
    names: list[str | None] = []

    def note(text: str, name: str | None) -> str:
        texts.append(text)
        names.append(name)
        return text

    stops: list[int] = []
    deep = 0
    for entry in material.entries:
        for block in entry.blocks:
            walk = _Walk(note)
            walk.block(block)
            deep += walk.too_deep
            stops.append(len(texts))
    clean, places = yield from redact(texts, names, to_ask=True)
    if not deep and clean == tuple(texts):
        return material, 0
    new, ends, at = iter(clean), iter(stops), 0

    def change(block: Block) -> Block | None:
        nonlocal at
        start, at = at, next(ends)
        walk = _Walk(lambda text, name: next(new))
        rewritten = walk.block(block)
        if not walk.too_deep and all(texts[place] == clean[place] for place in range(start, at)):
            return block
        return None if kind_of(block) in THINKING else rewritten

    return each_block(scene, material, change), places + deep


def clean_question(question: Question) -> Core[tuple[Question, int]]:
    """The question without secrets in its own words and in the system prompt; its messages are the material's.

    Raises EffectFailed.
    """
    request = question.request
    system = [text for _, text in strings(request.system)] if request is not None else []
    texts = [question.prompt, question.system or "", *system]
    clean, places = yield from redact(texts)
    if clean == tuple(texts):
        return question, 0
    if request is not None:
        known = dict(zip(texts, clean, strict=True))
        request = replace(request, system=in_strings(request.system, lambda text: known.get(text, text)))
    own = None if question.system is None else clean[1]
    return replace(question, prompt=clean[0], system=own, request=request), places


def clean_text(text: str) -> Core[tuple[str, int]]:
    """A text without secrets, and how many places that were. Raises EffectFailed."""
    (clean,), places = yield from redact([text])
    return clean, places


class _Walk:
    """One way through all that somebody may have written in a block; no ids, no signatures, no encoded media."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self.too_deep = 0

    def block(self, block: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        return {
            key: value
            if key in SEALED and not (key == "data" and block.get("type") == "text")
            else self._field(value, None, depth)
            if key == "input"
            else self._part(value, depth)
            for key, value in block.items()
        }

    def _part(self, value: Any, depth: int) -> Any:
        """What a block holds beside the arguments of a call: texts, and blocks in it."""
        if isinstance(value, str):
            return self._change(value, None)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth > MAX_DEPTH:
            return self._left_out()
        if isinstance(value, Mapping):
            return self.block(value, depth + 1)
        return [self._part(inner, depth + 1) for inner in value]

    def _field(self, value: Any, name: str | None, depth: int) -> Any:
        """Arguments: every text with the name of its field, every name of a field as a text."""
        if isinstance(value, str):
            return self._change(value, name)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth > MAX_DEPTH:
            return self._left_out()
        if not isinstance(value, Mapping):
            return [self._field(inner, name, depth + 1) for inner in value]
        fields: dict[Any, Any] = {}
        for key, inner in value.items():
            own = self._change(key, None) if isinstance(key, str) else key
            while own in fields:
                own = f"{own} "
            fields[own] = self._field(inner, _name(value, key, name), depth + 1)
        return fields

    def _left_out(self) -> str:
        self.too_deep += 1
        return TOO_DEEP


def _name(fields: Mapping[Any, Any], key: Any, outer: str | None) -> str:
    """The full name of a field; in a pair of name and value it is the name given there."""
    given = next((fields[one] for one in ("name", "key") if key == "value" and one in fields), None)
    own = given if isinstance(given, str) else str(key)
    return f"{outer}.{own}" if outer else own
