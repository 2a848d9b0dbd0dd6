"""What the Messages API refuses in a list of messages, judged on plain dicts.

Written from the list of rules in API-FACTS §4 alone. It shares no code with the engine on purpose: the two
must agree without having the same mistakes. It joins neighbouring messages of one role first, as the
API does.

    problems(messages)            all refusals, as Problem(rule, text, ids)
    refuse(messages)              raises BadRequest with the first of them
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Json = Any


class Problem(NamedTuple):
    """One refusal: the rule's number in API-FACTS §4, the API's words, the ids concerned."""

    rule: int
    text: str
    ids: tuple[str, ...] = ()


class BadRequest(ValueError):
    """HTTP 400."""


class Piece(NamedTuple):
    block: dict[str, Json]
    message: int


class Turn:
    """A run of one role, its blocks joined."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.pieces: list[Piece] = []
        self.messages: list[list[dict[str, Json]]] = []

    def of_type(self, *types: str) -> list[dict[str, Json]]:
        return [piece.block for piece in self.pieces if piece.block["type"] in types]


def blocks(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def without_prompt(messages: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """The list without the system messages at its head, which a client writes into the system prompt."""
    position = 0
    while position < len(messages) and messages[position]["role"] == "system":
        position += 1
    return list(messages[position:])


def joined(messages: Sequence[Mapping[str, Json]]) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if not turns or turns[-1].role != message["role"]:
            turns.append(Turn(message["role"]))
        turns[-1].messages.append(blocks(message))
        turns[-1].pieces += [Piece(block, index) for block in blocks(message)]
    return turns


def problems(
    messages: Sequence[Mapping[str, Json]],
    *,
    prefill: bool = False,
    system_messages: bool = False,
    thinking: str = "bound",
    marks_elsewhere: int = 0,
    max_images: int = 100,
    unfinished: bool = False,
) -> list[Problem]:
    """All that the API would refuse. ``unfinished``: not about to be sent, so that the end is not judged."""
    messages = without_prompt(messages)
    bad = list(_shape(messages))
    if bad:
        return bad
    turns = joined(messages)
    bad += _texts(messages)
    bad += _ends(messages, turns, prefill, unfinished)
    bad += _tools(turns, unfinished)
    bad += _server_tools(turns)
    bad += _thinking(turns, thinking, unfinished)
    bad += _marks(messages, marks_elsewhere)
    bad += _system(messages, system_messages)
    bad += _size(messages, max_images)
    return bad


def problems_for(messages: Sequence[Mapping[str, Json]], model: Any, **more: Any) -> list[Problem]:
    """All that the API would refuse of a model, known by what it takes: an entry of the table or the like."""
    return problems(
        messages,
        prefill=model.prefill,
        system_messages=model.inner_system,
        thinking=model.thinking,
        max_images=model.max_images,
        **more,
    )


def refuse(messages: Sequence[Mapping[str, Json]], **options: Any) -> None:
    for problem in problems(messages, **options):
        raise BadRequest(f"400 invalid_request_error: {problem.text}")


NEEDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "thinking": {"thinking": str},
    "image": {"source": dict},
    "document": {"source": dict},
}


def _shape(messages: Sequence[Mapping[str, Json]]) -> Iterable[Problem]:
    if not messages:
        yield Problem(1, "messages: at least one message is required")
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            yield Problem(1, f"{where}: unexpected role {role!r}")
            continue
        content = message.get("content")
        if not isinstance(content, str | list):
            yield Problem(1, f"{where}: content must be a string or a list")
            continue
        if content == []:
            yield Problem(2, f"{where}: content must not be empty")
            continue
        for number, block in enumerate(blocks(message)):
            spot = f"{where}.content.{number}"
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                yield Problem(1, f"{spot}: not a block")
                continue
            for key, kind in NEEDED.get(block["type"], {}).items():
                if not isinstance(block.get(key), kind) or (
                    kind is str and key != "thinking" and block[key] is None
                ):
                    yield Problem(1, f"{spot}.{key}: field required")
            if block["type"] == "tool_use" and role != "assistant":
                yield Problem(1, f"{spot}: `tool_use` blocks can only be in `assistant` messages")
            if block["type"] == "tool_result" and role != "user":
                yield Problem(1, f"{spot}: `tool_result` blocks can only be in `user` messages")


def _texts(messages: Sequence[Mapping[str, Json]]) -> Iterable[Problem]:
    for message in messages:
        for block in blocks(message):
            parts = block.get("content") if block["type"] == "tool_result" else None
            for part in [block, *(parts if isinstance(parts, list) else [])]:
                if part.get("type") == "text" and not part["text"].strip():
                    yield Problem(2, "text content blocks must be non-empty")


def _ends(
    messages: Sequence[Mapping[str, Json]], turns: list[Turn], prefill: bool, unfinished: bool
) -> Iterable[Problem]:
    if not turns:
        return
    if turns[0].role != "user" and blocks(messages[0])[0]["type"] != "compaction":
        yield Problem(4, "messages: first message must use the `user` role")
    if unfinished or turns[-1].role == "user":
        return
    last = turns[-1]
    if prefill:
        final = last.pieces[-1].block
        if final["type"] == "text" and final["text"] != final["text"].rstrip() and final["text"].strip():
            yield Problem(7, "messages: final assistant content cannot end with trailing whitespace")
    elif not _unresolved(last):
        text = "This model does not support assistant message prefill."
        yield Problem(6, f"{text} The conversation must end with a user message.")


def _tools(turns: list[Turn], unfinished: bool) -> Iterable[Problem]:
    known: set[str] = set()
    for position, turn in enumerate(turns):
        if turn.role == "assistant":
            ids = [block["id"] for block in turn.of_type("tool_use")]
            for number, call in enumerate(ids):
                if call in known or call in ids[:number]:
                    yield Problem(11, "`tool_use` ids must be unique", (call,))
            known |= set(ids)
            if position + 1 < len(turns):
                following = turns[position + 1]
                answered = {block["tool_use_id"] for block in following.of_type("tool_result")}
                # While nothing but results has come, the rest may still arrive.
                waits = (
                    unfinished
                    and position + 2 == len(turns)
                    and all(
                        any(b["type"] == "tool_result" for b in message) for message in following.messages
                    )
                )
            else:
                answered, waits = set(), unfinished
            missing = tuple(dict.fromkeys(call for call in ids if call not in answered))
            if missing and not waits:
                text = "`tool_use` ids were found without `tool_result` blocks immediately after"
                yield Problem(8, f"{text}: {', '.join(missing)}", missing)
            continue
        called = {block["id"] for block in turns[position - 1].of_type("tool_use")} if position else set()
        seen: set[str] = set()
        other = False
        for piece in turn.pieces:
            if piece.block["type"] != "tool_result":
                other = True
                continue
            call = piece.block["tool_use_id"]
            if call not in called:
                yield Problem(9, f"unexpected `tool_use_id` found in `tool_result` blocks: {call}", (call,))
            if call in seen:
                yield Problem(11, "each tool_use must have a single result", (call,))
            if other:
                yield Problem(10, "`tool_result` blocks must come first", (call,))
            seen.add(call)


Waiting = tuple[str, str]
"""Id and type of a call of a tool that the API runs."""


def _calls_server(kind: str) -> bool:
    return kind in ("server_tool_use", "mcp_tool_use")


def _answers_server(kind: str) -> bool:
    return kind != "tool_result" and kind.endswith("_tool_result")


def _call_of(kind: str) -> str:
    """The type of call that a result of this type answers."""
    return "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"


def _unresolved(turn: Turn) -> list[Waiting]:
    """The calls of a turn that nothing in it answers."""
    waiting: list[Waiting] = []
    for piece in turn.pieces:
        _follow(piece.block, waiting)
    return waiting


def _follow(block: Mapping[str, Json], *waiting: list[Waiting]) -> bool:
    """Add a call to the first of the calls that wait, or take away what a result answers; False if there is none."""
    if _calls_server(block["type"]):
        waiting[0].append((block["id"], block["type"]))
    elif _answers_server(block["type"]):
        call = (block["tool_use_id"], _call_of(block["type"]))
        known = next((calls for calls in waiting if call in calls), None)
        if known is None:
            return False
        known.remove(call)
    return True


def _server_tools(turns: list[Turn]) -> Iterable[Problem]:
    carried: list[Waiting] = []
    for position, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        fresh: list[Waiting] = []
        for piece in turn.pieces:
            if not _follow(piece.block, fresh, carried):
                kind = piece.block["type"]
                text = f"Each `{kind}` block must have a corresponding `{_call_of(kind)}` block before it"
                yield Problem(12, text, (piece.block["tool_use_id"],))
        following = turns[position + 1] if position + 1 < len(turns) else None
        left = list(carried) if following else []
        only_results = following is None or all(p.block["type"] == "tool_result" for p in following.pieces)
        if not only_results:
            left += fresh
            fresh = []
        for call, _ in left:
            yield Problem(12, "a server tool use has no result in its turn", (call,))
        carried = fresh


def _thinking(turns: list[Turn], model_class: str, unfinished: bool) -> Iterable[Problem]:
    kinds = ("thinking", "redacted_thinking")
    for position, turn in enumerate(turns):
        for block in turn.of_type(*kinds):
            if turn.role != "assistant":
                yield Problem(1, "thinking blocks can only be in `assistant` messages")
            if not block.get("signature" if block["type"] == "thinking" else "data"):
                yield Problem(1, "thinking: signature: Field required")
        ends_open = unfinished and position + 1 == len(turns)
        if turn.role == "assistant" and not ends_open and turn.pieces[-1].block["type"] in kinds:
            yield Problem(13, "The final block in an assistant message cannot be `thinking`.")
    if model_class != "manual" or unfinished or len(turns) < 2 or turns[-1].role != "user":
        return
    in_loop = all(any(block["type"] == "tool_result" for block in message) for message in turns[-1].messages)
    loop = turns[-2]
    if in_loop and loop.of_type(*kinds) and loop.pieces[0].block["type"] not in kinds:
        found = loop.pieces[0].block["type"]
        yield Problem(13, f"Expected `thinking` or `redacted_thinking`, but found `{found}`")


def _marks(messages: Sequence[Mapping[str, Json]], elsewhere: int) -> Iterable[Problem]:
    count = elsewhere
    for message in messages:
        for block in blocks(message):
            parts = block.get("content")
            for part in [block, *(parts if isinstance(parts, list) else [])]:
                if part.get("cache_control") is not None:
                    count += 1
                    if part["type"] in ("thinking", "redacted_thinking"):
                        yield Problem(15, "cache_control cannot be set for thinking blocks")
    if count > max(4, elsewhere):
        yield Problem(15, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _system(messages: Sequence[Mapping[str, Json]], allowed: bool) -> Iterable[Problem]:
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if not allowed:
            yield Problem(19, "role 'system' is not supported on this model")
            continue
        others = [other["role"] for other in messages[:index] if other["role"] != "system"]
        after = [other["role"] for other in messages[index + 1 :]]
        if others and others[-1] == "assistant":
            yield Problem(19, "a system message must follow a user message")
        elif after and next((role for role in after if role != "system"), "") == "user":
            yield Problem(19, "a system message must not come before a user message")


def _size(messages: Sequence[Mapping[str, Json]], max_images: int) -> Iterable[Problem]:
    images = 0
    for message in messages:
        for block in blocks(message):
            parts = block.get("content")
            inner = parts if isinstance(parts, list) else []
            images += sum(1 for part in [block, *inner] if part.get("type") == "image")
    if images > max_images:
        yield Problem(17, f"too many images: {images}")
    if len(messages) > 100_000:
        yield Problem(20, "messages: at most 100000")
