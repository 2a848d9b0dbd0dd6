"""Keys a request, its messages and its blocks may and must have, read off the SDK's own types.

Rules 1 and 3 of API-FACTS §4: what the SDK's parameter types do not know is refused as an extra input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from .errors import invalid

Json = Any

_LITERAL = re.compile(r"""Literal\[['"](\w+)['"]\]""")

PRIVATE = frozenset({"betas", "user_profile_id", "workspace_id"})
"""Parameters of the SDK that travel as headers."""
NO_NULL = {("text", "citations")}
"""Fields that may be missing but not null (rule 3)."""
SYSTEM_EXTRAS = frozenset({"clear_at", "output_config"})
"""Of a system message, with a beta header (API-FACTS §3)."""

LISTS = ("tools", "stop_sequences")
OBJECTS = (
    "compaction",
    "context_management",
    "diagnostics",
    "metadata",
    "output_config",
    "thinking",
    "tool_choice",
)
"""Fields of a request by the kind of their values."""

EXTRA = "Extra inputs are not permitted"
REQUIRED = "Field required"


@cache
def block_keys(beta: bool) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
    """Required and allowed keys of each type of content block."""
    if beta:
        from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam as Union
    else:
        from anthropic.types.content_block_param import ContentBlockParam as Union
    kinds = [kind for kind in get_args(Union) if "type" in getattr(kind, "__annotations__", {})]
    return {_tag(kind): _keys(kind) for kind in kinds}


@cache
def request_keys(beta: bool, counting: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Required and allowed fields of a request, or of one to count tokens."""
    import anthropic.types as plain
    import anthropic.types.beta as betas

    home: Any = betas if beta else plain
    kinds = [home.MessageCountTokensParams] if counting else get_args(home.MessageCreateParams)
    found = [_keys(kind) for kind in kinds]
    required = frozenset.intersection(*(one for one, _ in found))
    return required, frozenset().union(*(one for _, one in found)) - PRIVATE


def _keys(kind: Any) -> tuple[frozenset[str], frozenset[str]]:
    names = {
        key: str(getattr(value, "__forward_arg__", value)) for key, value in kind.__annotations__.items()
    }
    required = frozenset(key for key, name in names.items() if name.startswith("Required["))
    return required, frozenset(names)


def _tag(kind: Any) -> str:
    found = _LITERAL.search(kind.__annotations__["type"].__forward_arg__)
    assert found is not None, kind
    return found[1]


def check_request(body: Mapping[str, Json], *, beta: bool, counting: bool) -> None:
    """Raises Refused for a field that is missing, unknown or of the wrong kind, in the request or a block."""
    required, allowed = request_keys(beta, counting)
    for key in sorted(required - set(body)):
        raise invalid(f"{key}: {REQUIRED}")
    for key in body:
        if key not in allowed:
            raise invalid(f"{key}: {EXTRA}")
    if not isinstance(body["model"], str):
        raise invalid("model: Input should be a valid string")
    if not isinstance(body["messages"], list):
        raise invalid("messages: Input should be a valid list")
    if "system" in body and not isinstance(body["system"], str | list):
        raise invalid("system: Input should be a valid list")
    for names, kind, words in ((LISTS, list, "list"), (OBJECTS, dict, "dictionary")):
        for name in names:
            if body.get(name) is not None and not isinstance(body[name], kind):
                raise invalid(f"{name}: Input should be a valid {words}")
    for where, block in _system(body.get("system")):
        check_block(block, where, beta, only=("text",))
    for index, message in enumerate(body["messages"]):
        _check_message(message, f"messages.{index}", beta)


def _system(system: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(system, list):
        for at, block in enumerate(system):
            yield f"system.{at}", block


def _check_message(message: Json, where: str, beta: bool) -> None:
    if not isinstance(message, dict):
        raise invalid(f"{where}: Input should be a valid dictionary")
    for key in ("role", "content"):
        if key not in message:
            raise invalid(f"{where}.{key}: {REQUIRED}")
    system = message["role"] == "system"
    more = SYSTEM_EXTRAS if beta and system else frozenset()
    for key in message:
        if key not in {"role", "content"} | more:
            raise invalid(f"{where}.{key}: {EXTRA}")
    if not isinstance(message["content"], str | list):
        raise invalid(f"{where}.content: Input should be a valid list")
    if isinstance(message["content"], list):
        only = ("text", "tool_addition", "tool_removal") if system else ()
        for number, block in enumerate(message["content"]):
            check_block(block, f"{where}.content.{number}", beta, only=only)


def check_block(block: Json, where: str, beta: bool, *, only: Sequence[str] = ()) -> None:
    """One content block and the parts in it."""
    if not isinstance(block, dict):
        raise invalid(f"{where}: Input should be a valid dictionary or object")
    kind = block.get("type")
    known = block_keys(beta)
    if not isinstance(kind, str):
        raise invalid(f"{where}.type: {REQUIRED}")
    if kind not in known or (only and kind not in only):
        tags = ", ".join(f"'{one}'" for one in (only or known))
        raise invalid(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        )
    required, allowed = known[kind]
    for key in sorted(required - set(block)):
        raise invalid(f"{where}.{kind}.{key}: {REQUIRED}")
    for key, value in block.items():
        if key not in allowed or (value is None and (kind, key) in NO_NULL):
            raise invalid(f"{where}.{kind}.{key}: {EXTRA}")
    for key in ("id", "name", "tool_use_id", "text", "thinking", "signature", "data"):
        if key in required and not isinstance(block[key], str):
            raise invalid(f"{where}.{kind}.{key}: Input should be a valid string")
    if "input" in required and not isinstance(block["input"], dict):
        raise invalid(f"{where}.{kind}.input: Input should be a valid dictionary")
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for number, part in enumerate(block["content"]):
            if not isinstance(part, dict) or part.get("type") in ("text", "image", "document"):
                check_block(part, f"{where}.content.{number}", beta)
