"""What a writer is given and gives, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..conversation.items import Block
from ..effects import Core, Question, redact
from ..policy.contents import in_strings, strings
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


def without_secrets(scene: Scene, material: Material) -> Core[tuple[Material, int]]:
    """The material without secrets, and how many places that were. Signed thinking that holds one goes as a whole.

    Raises EffectFailed.
    """
    texts = list(
        dict.fromkeys(text for entry in material.entries for block in entry.blocks for text in _words(block))
    )
    clean, _ = yield from redact(texts, to_ask=True)
    changed = {text: new for text, new in zip(texts, clean, strict=True) if text != new}
    if not changed:
        return material, 0
    places = 0

    def change(block: Block) -> Block | None:
        nonlocal places
        found = sum([text in changed for text in _words(block)])
        if not found:
            return block
        places += found
        if block.get("type") in THINKING:
            return None
        rewritten: Block = in_strings(block, lambda text: changed.get(text, text))
        return rewritten

    return each_block(scene, material, change), places


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


def _words(block: Mapping[str, Any]) -> Iterator[str]:
    """Every text in a block that somebody may have written; no ids, no signatures, no encoded media."""
    for key, value in block.items():
        if key == "content" and isinstance(value, list | tuple):
            for part in value:
                yield from _words(part if isinstance(part, Mapping) else {"text": part})
        elif key == "source" and isinstance(value, Mapping):
            if value.get("type") == "text":
                yield from (text for _, text in strings(value.get("data")))
        elif key not in SEALED:
            yield from (text for _, text in strings(value))
