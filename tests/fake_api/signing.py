"""Thinking that is signed over everything before it (API-FACTS §1), and compaction blocks that stand for it.

A signature is a name; what it was signed over stays here. The prefix is kept as a chain of digests over the system
prompt, the tools, and every block that is no thinking. Of the thinking before a block, blocks may only have gone
from the oldest on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .rules import blocks, without_prompt

Json = Any
KINDS = ("thinking", "redacted_thinking")


class Stale(NamedTuple):
    """A thinking block the API does not take: where it is, its signature, and whether only its prefix differs."""

    message: int
    block: int
    signature: str
    prefix_only: bool

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.block}"


@dataclass(frozen=True)
class Prefix:
    """What stands before a block: a digest of all that is no thinking, and the signatures of the thinking."""

    plain: str
    thought: tuple[str, ...] = ()

    def with_block(self, role: str, block: Mapping[str, Json]) -> Prefix:
        if block["type"] in KINDS:
            return Prefix(self.plain, (*self.thought, signature_of(block)))
        return Prefix(_digest(self.plain + role + canonical(block)), self.thought)


@dataclass(frozen=True)
class _Birth:
    prefix: Prefix
    block: str


class SigningApi:
    """Signs thinking and compaction blocks, and tells which of them no longer fit."""

    def __init__(self) -> None:
        self._births: dict[str, _Birth] = {}
        self._compactions: dict[str, tuple[Prefix, Json]] = {}

    def sign(
        self, messages: Sequence[Mapping[str, Json]], text: str = "…", head: Json = None
    ) -> dict[str, Json]:
        """A thinking block that answers exactly these messages under this system prompt and tool list."""
        return self.signed({"type": "thinking", "thinking": text}, messages, head)

    def signed(
        self, block: Mapping[str, Json], messages: Sequence[Mapping[str, Json]], head: Json = None
    ) -> dict[str, Json]:
        """The thinking block with its signature; of ``redacted_thinking`` the data are it."""
        name = f"signature-{len(self._births) + 1}"
        made = {**block, "signature" if block["type"] == "thinking" else "data": name}
        self._births[name] = _Birth(self._end(messages, head), canonical(made))
        return made

    def compaction(
        self, text: str | None, messages: Sequence[Mapping[str, Json]], head: Json = None
    ) -> dict[str, Json]:
        """A signed ``compaction`` block that stands for these messages."""
        name = f"compaction-{len(self._compactions) + 1}"
        self._compactions[name] = (self._end(messages, head), text)
        return {"type": "compaction", "content": text, "signature": name}

    def compacted(self, signature: str) -> tuple[bool, Json]:
        """Whether a compaction with this signature was made here, and its text."""
        found = self._compactions.get(signature)
        return (False, None) if found is None else (True, found[1])

    def refused(self, messages: Sequence[Mapping[str, Json]], head: Json = None) -> list[str]:
        """Signatures of the blocks the API would answer with a 400."""
        return [stale.signature for stale in self.stale(messages, head)]

    def stale(self, messages: Sequence[Mapping[str, Json]], head: Json = None) -> list[Stale]:
        """All thinking that was not made here, was changed, or does not stand behind what it was signed over."""
        bad = []
        for index, number, block, before, _ in self._walk(messages, head):
            if block["type"] not in KINDS:
                continue
            name = signature_of(block)
            birth = self._births.get(name)
            if birth is None or birth.block != canonical(block):
                bad.append(Stale(index, number, name, False))
                continue
            earlier, thought = birth.prefix.thought, before.thought
            kept = earlier[len(earlier) - len(thought) :] if thought else ()
            if before.plain != birth.prefix.plain or thought != kept:
                bad.append(Stale(index, number, name, True))
        return bad

    def _end(self, messages: Sequence[Mapping[str, Json]], head: Json) -> Prefix:
        steps = [behind for *_, behind in self._walk(messages, head)]
        return steps[-1] if steps else _start(head)

    def _walk(
        self, messages: Sequence[Mapping[str, Json]], head: Json
    ) -> Iterator[tuple[int, int, Mapping[str, Json], Prefix, Prefix]]:
        """Message, place in it and block, with the prefix before and behind it."""
        before = _start(head)
        shown = without_prompt(messages)
        left_out = len(messages) - len(shown)
        for index, message in enumerate(shown):
            for number, block in enumerate(blocks(message)):
                behind = self._behind(before, message["role"], block, head)
                yield index + left_out, number, block, before, behind
                before = behind

    def _behind(self, before: Prefix, role: str, block: Mapping[str, Json], head: Json) -> Prefix:
        if block["type"] != "compaction":
            return before.with_block(role, block)
        if block.get("content") is None:
            return before  # a failed compaction stands for nothing
        made = self._compactions.get(block.get("signature") or "")
        if made is not None:
            return Prefix(made[0].plain)  # it stands for exactly what it summarises
        return _start(head).with_block(role, block)  # all before it is ignored


def signature_of(block: Mapping[str, Json]) -> str:
    found = block.get("signature" if block["type"] == "thinking" else "data")
    return found if isinstance(found, str) else ""


def canonical(block: Mapping[str, Json]) -> str:
    """What a block says to the prefix check: no cache marks, no null fields, no order of keys."""
    return json.dumps(_bare(block), sort_keys=True)


def _bare(block: Json) -> Json:
    if not isinstance(block, Mapping):
        return block
    kept = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    if isinstance(kept.get("content"), list):
        kept["content"] = [_bare(part) for part in kept["content"]]
    return kept


def _start(head: Json) -> Prefix:
    """``head`` is the system prompt and the tools in any form; cache marks in their lists do not count."""
    lists = head.values() if isinstance(head, Mapping) else [head]
    bare = [[_bare(one) for one in part] if isinstance(part, list) else part for part in lists]
    return Prefix(_digest(json.dumps(bare, sort_keys=True)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
