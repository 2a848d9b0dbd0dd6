"""A request as the fake understands it, and the checks that no rule about messages covers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.tokens.media import image_size
from trimtab.tokens.models import Model, canonical, lookup

from .counting import system_blocks
from .errors import Refusal, Refused, invalid
from .rules import blocks, problems_for
from .shapes import EXTRA, check_request

Json = Any

MAX_BYTES = 32 * 1024 * 1024
MAX_SIDE, MAX_SIDE_MANY, MANY_IMAGES = 8000, 2000, 20
MAX_MARKS = 4
LEAST_BUDGET = 1024
"""Thinking tokens; the SDK's documentation of ``budget_tokens``."""

CONTEXT_BETA = "context-management-2025-06-27"
COMPACT_EDIT_BETA = "compact-2026-01-12"
COMPACT_BETA = "compact-2026-09-04"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

MARK_ORDER = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
    "Blocks are processed in the order `tools`, `system`, `messages`."
)


@dataclass(frozen=True)
class Asked:
    """A request that is well formed: the JSON, what is known of its model, and the beta features it names."""

    body: Mapping[str, Json]
    model: Model
    betas: frozenset[str]
    counting: bool = False

    @property
    def messages(self) -> list[dict[str, Json]]:
        found: list[dict[str, Json]] = self.body["messages"]
        return found

    @property
    def system(self) -> Json:
        return self.body.get("system")

    @property
    def tools(self) -> list[dict[str, Json]]:
        return list(self.body.get("tools") or ())

    @property
    def head(self) -> Json:
        """What thinking is signed over before the messages: tools that are loaded later are no part of it."""
        tools = [tool for tool in self.tools if not tool.get("defer_loading")]
        return {"system": system_blocks(self.system), "tools": tools}

    @property
    def compacts(self) -> bool:
        """Whether it asks for nothing but a compaction."""
        return self.body.get("compaction") is not None


def read(headers: Mapping[str, str], raw: bytes, *, counting: bool, max_bytes: int = MAX_BYTES) -> Asked:
    """Parse and check a request. ``headers`` have names in lower case. Raises Refused."""
    if len(raw) > max_bytes:
        raise Refused(Refusal(413, "Request exceeds the maximum allowed number of bytes"))
    if not headers.get("x-api-key") and not headers.get("authorization"):
        raise Refused(Refusal(401, "x-api-key header is required"))
    if not headers.get("anthropic-version"):
        raise invalid("anthropic-version: header is required")
    try:
        body = json.loads(raw)
    except (UnicodeDecodeError, ValueError) as problem:
        raise invalid(f"The request body is not valid JSON: {problem}") from problem
    if not isinstance(body, dict):
        raise invalid("Input should be a valid dictionary")
    betas = frozenset(name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip())
    check_request(body, beta=bool(betas), counting=counting)
    model = lookup(body["model"])
    if not model.known or not canonical(body["model"]).startswith("claude"):
        raise Refused(Refusal(404, f"model: {body['model']}"))
    return Asked(body, model, betas, counting)


def check(asked: Asked) -> None:
    """Everything a request can be refused for, but its thinking and its length. Raises Refused."""
    _check_betas(asked)
    if not asked.counting:
        _check_output(asked)
    _check_tools(asked)
    _check_marks(asked)
    if any(not block["text"].strip() for block in system_blocks(asked.system)):
        raise invalid("system: text content blocks must be non-empty")
    if asked.messages and asked.messages[0].get("role") == "system":
        raise invalid("messages: first message must use the `user` role")
    elsewhere = sum(1 for where, _ in _marks(asked) if not where.startswith("messages"))
    for problem in problems_for(
        asked.messages, asked.model, marks_elsewhere=elsewhere, unfinished=asked.compacts
    ):
        raise invalid(problem.text)
    _check_images(asked)


def _check_betas(asked: Asked) -> None:
    body, betas = asked.body, asked.betas
    edits = [edit.get("type") for edit in (body.get("context_management") or {}).get("edits", ())]
    needs = {
        "context_management": CONTEXT_BETA if any(e != "compact_20260112" for e in edits) else None,
        "compaction": COMPACT_BETA,
    }
    for field, beta in needs.items():
        if body.get(field) is not None and beta is not None and beta not in betas:
            raise invalid(f"{field}: {EXTRA}")
    if "compact_20260112" in edits and COMPACT_EDIT_BETA not in betas:
        raise invalid(f"context_management.edits.{edits.index('compact_20260112')}: {EXTRA}")
    if (body.get("thinking") or {}).get("block_binding") is not None and BINDING_BETA not in betas:
        raise invalid(f"thinking.block_binding: {EXTRA}")
    if body.get("thread") is not None:
        raise invalid("thread: this fake keeps no state of threads")
    if not betas & {COMPACT_BETA, COMPACT_EDIT_BETA}:
        for index, message in enumerate(asked.messages):
            for number, block in enumerate(blocks(message)):
                if block["type"] == "compaction":
                    where = f"messages.{index}.content.{number}"
                    raise invalid(f"{where}: Input tag 'compaction' found using 'type' does not match")


def _check_output(asked: Asked) -> None:
    most, limit = asked.body["max_tokens"], asked.model.max_output
    if not isinstance(most, int) or isinstance(most, bool):
        raise invalid("max_tokens: Input should be a valid integer")
    if most < 0:
        raise invalid("max_tokens: Input should be greater than or equal to 0")
    if most > limit:
        name = asked.body["model"]
        raise invalid(
            f"max_tokens: {most} > {limit}, which is the maximum allowed number of output tokens for {name}"
        )
    thinking = asked.body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int):
            raise invalid("thinking.enabled.budget_tokens: Field required")
        if budget < LEAST_BUDGET:
            raise invalid(
                f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}"
            )
        if budget >= most:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`")


def _check_tools(asked: Asked) -> None:
    names: set[str] = set()
    for at, tool in enumerate(asked.tools):
        if not isinstance(tool, dict):
            raise invalid(f"tools.{at}: Input should be a valid dictionary")
        name = tool.get("name")
        if tool.get("type") in (None, "custom"):
            for key, kind in (("name", str), ("input_schema", dict)):
                if not isinstance(tool.get(key), kind):
                    raise invalid(f"tools.{at}.custom.{key}: Field required")
            if tool["input_schema"].get("type") != "object":
                raise invalid(f"tools.{at}.custom.input_schema.type: Field required")
        if isinstance(name, str):
            if name in names:
                raise invalid("tools: Tool names must be unique.")
            names.add(name)
    choice = asked.body.get("tool_choice")
    if choice is not None and choice.get("type") == "tool" and choice.get("name") not in names:
        raise invalid(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _marks(asked: Asked) -> Iterator[tuple[str, Json]]:
    """Each cache mark with its place, in the order in which the API reads them."""
    for at, tool in enumerate(asked.tools):
        if tool.get("cache_control") is not None:
            yield f"tools.{at}", tool["cache_control"]
    for at, block in enumerate(system_blocks(asked.system)):
        if block.get("cache_control") is not None:
            yield f"system.{at}", block["cache_control"]
    for index, message in enumerate(asked.messages):
        for number, block in enumerate(blocks(message)):
            inner = block.get("content")
            for part in [block, *(inner if isinstance(inner, list) else [])]:
                if part.get("cache_control") is not None:
                    yield f"messages.{index}.content.{number}", part["cache_control"]
    if asked.body.get("cache_control") is not None:
        yield "cache_control", asked.body["cache_control"]


def _check_marks(asked: Asked) -> None:
    marks = list(_marks(asked))
    short = False
    for where, mark in marks:
        place = where if where == "cache_control" else f"{where}.cache_control"
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            raise invalid(f"{place}.type: Input should be 'ephemeral'")
        life = mark.get("ttl", "5m")
        if life not in ("5m", "1h"):
            raise invalid(f"{place}.ttl: Input should be '5m' or '1h'")
        if life == "1h" and short:
            raise invalid(f"{place}.ttl: {MARK_ORDER}")
        short = short or life == "5m"
    if len(marks) > MAX_MARKS:
        raise invalid(
            f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
        )


def _check_images(asked: Asked) -> None:
    found = list(_images(asked.messages))
    most = MAX_SIDE if len(found) <= MANY_IMAGES else MAX_SIDE_MANY
    wide = [where for where, block in found if max(image_size(block) or (0, 0)) > most]
    if wide:
        text = f"{wide[0]}: image dimensions exceed the maximum of {most} pixels"
        raise invalid(text, "image_dimensions_too_large", paths=wide, max_side_length_pixels=most)


def _images(messages: list[dict[str, Json]]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    for index, message in enumerate(messages):
        for number, block in enumerate(blocks(message)):
            where = f"messages.{index}.content.{number}"
            if block["type"] == "image":
                yield where, block
            inner = block.get("content") if block["type"] == "tool_result" else None
            for at, part in enumerate(inner if isinstance(inner, list) else ()):
                if part.get("type") == "image":
                    yield f"{where}.content.{at}", part
