"""Hypothesis strategies for conversations, shared by all property tests.

    conversations()      valid message lists: parallel calls, split messages, thinking, media, server tools
    broken()             the same with faults: dropped, repeated, reordered, blank, unpaired, unsigned
    with_loose_ends()    valid but for dead calls, a pending call and ids used again

A list is built from a plan of small numbers, so that a failing example shrinks to few and plain messages.
Every text and every result is unique in its list: a test can tell whether one was lost.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import strategies as st

Json = Any
Message = dict[str, Json]

TOOLS = ("Read", "Bash", "Grep", "Edit", "WebFetch")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Round(NamedTuple):
    """One model response with its results."""

    calls: int = 1
    thinking: int = 0
    text: bool = False
    split: bool = False
    split_results: bool = False
    form: int = 0
    server: int = 0
    beside: bool = False


class Turn(NamedTuple):
    """A user's message, the rounds of work for it, and whether an answer in words ends it."""

    rounds: tuple[Round, ...] = ()
    form: int = 0
    answer: bool = True
    again: bool = False


@dataclass(frozen=True)
class Options:
    """What may occur. ``reuse``: call ids begin anew in each turn; ``dead``: some calls never get a result;
    ``system``: system messages, one perhaps in front.
    """

    thinking: bool = True
    media: bool = True
    server: bool = True
    unknown: bool = True
    reuse: bool = False
    dead: bool = False
    system: bool = False


ROUNDS = st.builds(
    Round,
    calls=st.integers(0, 3),
    thinking=st.integers(0, 3),
    text=st.booleans(),
    split=st.booleans(),
    split_results=st.booleans(),
    form=st.integers(0, 5),
    server=st.integers(0, 5),
    beside=st.booleans(),
)
TURNS = st.builds(
    Turn,
    rounds=st.lists(ROUNDS, max_size=4).map(tuple),
    form=st.integers(0, 3),
    answer=st.booleans(),
    again=st.booleans(),
)


class Writer:
    """Writes a plan as messages."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.messages: list[Message] = []
        self.count = 0
        self.ids = 0

    def word(self, what: str) -> str:
        self.count += 1
        return f"{what} {self.count}"

    def add(self, role: str, content: str | list[dict[str, Json]]) -> None:
        self.messages.append({"role": role, "content": content})

    def text(self, what: str) -> dict[str, Json]:
        return {"type": "text", "text": self.word(what)}

    def image(self) -> dict[str, Json]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}

    def turn(self, turn: Turn) -> None:
        if self.options.reuse:
            self.ids = 0
        if turn.form == 0:
            self.add("user", self.word("question"))
        elif turn.form == 1 and self.options.media:
            self.add("user", [self.text("question"), self.image()])
        elif turn.form == 2:
            self.add("user", self.word("before"))
            self.add("user", [self.text("question")])
        else:
            self.add("user", [self.text("question")])
        for each in turn.rounds:
            if self.options.system and each.form % 2 == 0 and self.messages[-1]["role"] == "user":
                self.add("system", self.word("notice"))
            self.round(each)
        if turn.answer or not turn.rounds:
            self.add("assistant", [self.text("answer")] if turn.again else self.word("answer"))

    def round(self, each: Round) -> None:
        head = [self.thought(each.thinking)] if each.thinking and self.options.thinking else []
        if each.text or not each.calls:
            head.append(self.text("plan"))
        if each.server in (1, 2) and self.options.server:
            head += self.server(each.server)
        calls = []
        for _ in range(each.calls):
            self.ids += 1
            given = {"path": f"/src/{self.ids}.py"}
            name = TOOLS[self.ids % len(TOOLS)]
            calls.append({"type": "tool_use", "id": f"call_{self.ids}", "name": name, "input": given})
        late = None
        if each.server == 3 and calls and self.options.server and not self.options.thinking:
            use, late = self.server(1)
            head.append(use)
        if each.split and head:
            for block in head + calls:
                self.add("assistant", [block])
        else:
            self.add("assistant", head + calls)
        if not calls:
            self.add("user", self.word("on"))
            return
        if self.options.dead and each.server == 5:
            calls = calls[: each.form % len(calls)]
        results = [self.result(call["id"], each.form) for call in calls]
        if each.split_results and results:
            for result in results:
                self.add("user", [result])
        elif results:
            self.add("user", results + ([self.text("reminder")] if each.beside and not late else []))
        else:
            self.add("user", self.word("never mind"))
        if late:
            self.add("assistant", [late])

    def thought(self, kind: int) -> dict[str, Json]:
        if kind == 3:
            return {"type": "redacted_thinking", "data": self.word("sealed")}
        return {"type": "thinking", "thinking": self.word("thought"), "signature": self.word("signature")}

    def server(self, kind: int) -> list[dict[str, Json]]:
        self.count += 1
        call = f"srvtoolu_{self.count}"
        if kind == 1:
            hits = [{"type": "web_search_result", "title": self.word("hit"), "encrypted_content": "abc"}]
            return [
                {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": call, "content": hits},
            ]
        answer = [self.text("remote")]
        return [
            {"type": "mcp_tool_use", "id": call, "name": "find", "server_name": "docs", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": call, "is_error": False, "content": answer},
        ]

    def result(self, call: str, form: int) -> dict[str, Json]:
        block: dict[str, Json] = {"type": "tool_result", "tool_use_id": call, "content": self.word("result")}
        if form == 1:
            block["content"] = [self.text("result"), self.text("result")]
        elif form == 2 and self.options.media:
            block["content"] = [self.text("result"), self.image()]
        elif form == 3:
            block["is_error"] = True
        elif form == 4:
            block["is_error"] = False
        elif form == 5 and self.options.unknown:
            block["content"] = [{"type": "tool_reference", "tool_name": self.word("tool")}]
        return block


def write(turns: Sequence[Turn], options: Options, last: int = 0) -> list[Message]:
    """The messages of a plan.

    ``last``: 0 as it comes, 1 with a question, 2 with a pending call, 3 paused by the server.
    """
    writer = Writer(options)
    if options.system and len(turns) % 2:
        writer.add("system", writer.word("prompt"))
    for turn in turns:
        writer.turn(turn)
    if last == 1 or (writer.messages[-1]["role"] == "assistant" and last == 0):
        writer.add("user", writer.word("question"))
    elif last == 2:
        writer.ids += 1
        pending = {
            "type": "tool_use",
            "id": f"call_{writer.ids}",
            "name": "Bash",
            "input": {"command": "make"},
        }
        writer.add("assistant", [pending])
    elif last == 3:
        writer.add("assistant", [writer.text("looking"), writer.server(1)[0]])
        writer.add("assistant", writer.word("still looking"))
    return writer.messages


def conversations(max_turns: int = 4, options: Options | None = None) -> st.SearchStrategy[list[Message]]:
    """Valid lists, ready to be sent."""
    chosen = options or Options()
    return st.lists(TURNS, min_size=1, max_size=max_turns).map(lambda turns: write(turns, chosen))


def with_loose_ends(max_turns: int = 5) -> st.SearchStrategy[list[Message]]:
    """Lists with dead calls, ids used again in each turn, and perhaps a pending call at the end."""
    some = st.booleans()
    options = st.builds(Options, thinking=some, reuse=some, dead=some, system=some)
    turns = st.lists(TURNS, min_size=1, max_size=max_turns)
    return st.builds(write, turns, options, st.integers(0, 3))


FAULTS = (
    "drop message",
    "repeat message",
    "swap messages",
    "drop block",
    "repeat block",
    "swap blocks",
    "reverse blocks",
    "blank text",
    "blank message",
    "no blocks",
    "null content",
    "unsigned",
    "thinking alone",
    "thinking last",
    "thinking of user",
    "text first",
    "text message between",
    "orphan result",
    "dead call",
    "second result",
    "second error",
    "same id",
    "lone server call",
    "lone server result",
    "marks",
    "mark on thinking",
    "unknown block",
    "blank part",
    "as string",
    "assistant first",
    "assistant last",
)


class Fault(NamedTuple):
    """One kind of damage, and where."""

    kind: str
    place: int
    block: int


BREAKS = st.lists(
    st.builds(Fault, st.sampled_from(FAULTS), st.integers(0, 40), st.integers(0, 6)), min_size=1, max_size=6
)


def broken(max_turns: int = 3) -> st.SearchStrategy[list[Message]]:
    """Lists with one to six faults. Roles and block fields stay well formed: what else no rule can mend."""
    some = st.booleans()
    options = st.builds(Options, thinking=some, reuse=some, dead=some)
    turns = st.lists(TURNS, min_size=1, max_size=max_turns)
    lists = st.builds(write, turns, options, st.integers(0, 3))
    return st.builds(damage, lists, BREAKS)


def damage(messages: Sequence[Message], faults: Sequence[Fault]) -> list[Message]:
    """A copy of the list with the faults, one after the other."""
    made = copy.deepcopy(list(messages))
    for number, fault in enumerate(faults):
        if made:
            _damage(made, fault, number)
    return made


def _listed(message: Message) -> list[dict[str, Json]]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    message["content"] = content = list(content or [])
    return content


def _damage(made: list[Message], fault: Fault, number: int) -> None:
    place = fault.place % len(made)
    message = made[place]
    kind, tag = fault.kind, f"{number}.{fault.place}.{fault.block}"
    if kind == "drop message":
        del made[place]
        return
    if kind == "repeat message":
        made.insert(place, copy.deepcopy(message))
        return
    if kind == "swap messages":
        other = (place + 1 + fault.block) % len(made)
        made[place], made[other] = made[other], made[place]
        return
    if kind in ("blank message", "no blocks", "null content", "text message between"):
        content: Json = {"blank message": " \n", "no blocks": [], "null content": None}.get(
            kind, f"word {tag}"
        )
        role = "assistant" if fault.block % 2 and kind != "text message between" else "user"
        made.insert(place, {"role": role, "content": content})
        return
    if kind in ("assistant first", "assistant last"):
        made.insert(
            0 if kind == "assistant first" else len(made), {"role": "assistant", "content": f"words {tag}"}
        )
        return
    if kind == "thinking alone":
        thought = {"type": "thinking", "thinking": f"alone {tag}", "signature": f"signature {tag}"}
        made.insert(place, {"role": "assistant", "content": [thought]})
        return
    if kind == "as string":
        content = message["content"]
        if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
            message["content"] = content[0]["text"]
        return
    _damage_blocks(made, message, fault, tag)


def _damage_blocks(made: list[Message], message: Message, fault: Fault, tag: str) -> None:
    kind = fault.kind
    blocks = _listed(message)
    at = fault.block % (len(blocks) + 1)
    here = blocks[fault.block % len(blocks)] if blocks else {"type": "none"}
    assistant = message["role"] == "assistant"
    if kind == "drop block" and blocks:
        blocks.remove(here)
    elif kind == "repeat block" and blocks:
        blocks.insert(at, copy.deepcopy(here))
    elif kind == "swap blocks" and blocks:
        other = (at + 1) % len(blocks)
        blocks[at - 1], blocks[other] = blocks[other], blocks[at - 1]
    elif kind == "reverse blocks":
        blocks.reverse()
    elif kind == "blank text":
        blocks.insert(at, {"type": "text", "text": ["", " ", "\n\t"][fault.block % 3]})
    elif kind == "unsigned" and assistant:
        blocks.insert(at, {"type": "thinking", "thinking": f"unsigned {tag}", "signature": ""})
    elif kind == "thinking last" and assistant:
        blocks.append({"type": "redacted_thinking", "data": f"last {tag}"})
    elif kind == "thinking of user" and not assistant:
        blocks.append({"type": "thinking", "thinking": f"strange {tag}", "signature": f"signature {tag}"})
    elif kind == "text first":
        blocks.insert(0, {"type": "text", "text": f"reminder {tag}"})
    elif kind == "orphan result" and not assistant:
        blocks.insert(at, {"type": "tool_result", "tool_use_id": f"nobody {tag}", "content": f"orphan {tag}"})
    elif kind == "dead call" and assistant:
        blocks.insert(at, {"type": "tool_use", "id": f"dead_{tag}", "name": "Bash", "input": {}})
    elif kind in ("second result", "second error") and not assistant:
        for block in list(blocks):
            if block["type"] == "tool_result":
                second = {
                    "type": "tool_result",
                    "tool_use_id": block["tool_use_id"],
                    "content": f"second {tag}",
                }
                blocks.insert(at, {**second, "is_error": True} if kind == "second error" else second)
                break
    elif kind == "same id" and assistant:
        ids = [block["id"] for each in made for block in each["content"] or [] if _is_call(block)]
        for block in blocks:
            if _is_call(block):
                block["id"] = ids[fault.place % len(ids)]
    elif kind == "lone server call" and assistant:
        call = {"type": "server_tool_use", "id": f"lone {tag}", "name": "web_search", "input": {}}
        blocks.insert(at, call)
    elif kind == "lone server result" and assistant:
        blocks.insert(
            at, {"type": "advisor_tool_result", "tool_use_id": f"gone {tag}", "content": {"text": "x"}}
        )
    elif kind == "marks":
        for block in blocks:
            if block["type"] not in ("thinking", "redacted_thinking"):
                block["cache_control"] = {"type": "ephemeral"}
    elif kind == "mark on thinking":
        for block in blocks:
            if block["type"] in ("thinking", "redacted_thinking"):
                block["cache_control"] = {"type": "ephemeral"}
    elif kind == "unknown block":
        blocks.insert(at, {"type": "hologram", "beam": tag, "parts": [1, {"deep": None}]})
    elif kind == "blank part" and here["type"] == "tool_result" and isinstance(here["content"], list):
        here["content"].insert(0, {"type": "text", "text": " "})


def _is_call(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use"
