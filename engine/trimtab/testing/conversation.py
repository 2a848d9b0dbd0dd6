"""The conversation of a case: messages given inline, read from a file or made up; the same ones every time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..conversation.request import Info, Message
from ..packs.nodes import Node
from ..readers import Recording, Unreadable, facts_of, read
from ..readers.anthropic_json import recording_of
from .values import Values

CHARS = 400
"""Characters of a made-up result of which nothing is said."""
TOOL = "Bash"
OPENING = "Please carry on with the work."
"""The user's words before made-up rounds that would otherwise begin a conversation."""

_WORDS = (
    "harbour",
    "crane",
    "ledger",
    "berth",
    "tide",
    "signal",
    "cargo",
    "pilot",
    "anchor",
    "beacon",
    "quay",
)


def made_up(chars: int, seed: int) -> str:
    """A text of exactly so many characters, in lines; another one for each seed."""
    lines: list[str] = []
    size = line = 0
    while size < chars:
        line += 1
        words = " ".join(_WORDS[(seed * 7 + line * (3 + step)) % len(_WORDS)] for step in range(7))
        lines.append(f"{seed}.{line}: {words}\n")
        size += len(lines[-1])
    return "".join(lines)[:chars]


def repeated(text: str | None, chars: int, seed: int) -> str:
    """So many characters of a text that comes again and again; a made-up one without a text."""
    return made_up(chars, seed) if text is None else (text * (chars // len(text) + 1))[:chars]


class Conversation:
    """Grows with each piece that is added; ``infos`` runs beside ``messages``.

    ``system``, ``tools``, ``extra``, ``model`` and ``facts`` come from a session file, if one is read.
    """

    def __init__(self, values: Values, folder: Path) -> None:
        self.values = values
        self.folder = folder
        self.messages: list[Message] = []
        self.infos: list[Info | None] = []
        self.system: Any = None
        self.tools: Any = None
        self.extra: Mapping[str, Any] = {}
        self.model = ""
        self.facts: Mapping[str, Any] = {}
        self._calls = 0

    def give(self, given: Node) -> None:
        """What ``given`` of a case or of a step says, in its order: session, messages, rounds, then."""
        fields = given.mapping
        if "session" in fields:
            self._session(fields["session"], fields.get("upto"))
        elif "upto" in fields:
            self.values.fail(fields["upto"], "one-of", "`upto` goes with `session`", on_key=True)
        if "messages" in fields:
            self.add(fields["messages"].items)
        if "rounds" in fields:
            self._rounds(fields["rounds"])
        if "then" in fields:
            self.add(fields["then"].items)
        if "system" in fields:
            self.system = fields["system"].plain()
        if "tools" in fields:
            self.tools = fields["tools"].plain()
        for node in fields["pinned"].items if "pinned" in fields else ():
            self._pin(node)

    def add(self, pieces: Sequence[Node]) -> None:
        """Messages and made-up pieces; neighbours in a host's own format are read together."""
        foreign: list[Node] = []
        for piece in pieces:
            if "type" in piece.mapping and "role" not in piece.mapping:
                foreign.append(piece)
                continue
            self._foreign(foreign)
            foreign = []
            self._piece(piece)
        self._foreign(foreign)

    # --- pieces

    def _piece(self, piece: Node) -> None:
        fields = piece.mapping
        if "rounds" in fields:
            self._alone(piece, ("rounds",))
            self._rounds(fields["rounds"])
        elif "results" in fields:
            self._alone(piece, ("results", "text", "at"))
            self._results(piece)
        elif "chars" in fields:
            self._alone(piece, ("role", "chars", "count", "at"))
            role = fields.get("role")
            if role is None:
                self.values.fail(piece, "missing-key", "a made-up text needs the key `role`", "role: user")
            for _ in range(self.values.count(fields["count"]) if "count" in fields else 1):
                text = made_up(self.values.size(fields["chars"]), len(self.messages))
                self._append({"role": str(role.value), "content": text}, self._at(fields))
        else:
            self._message(piece)

    def _alone(self, piece: Node, keys: Sequence[str]) -> None:
        for key, node in piece.mapping.items():
            if key not in keys:
                self.values.fail(
                    node,
                    "unknown-key",
                    f"`{key}` does not go with `{keys[0] if keys[0] != 'role' else 'chars'}`",
                    f"its keys are {' '.join(keys)}",
                    on_key=True,
                )

    def _message(self, piece: Node) -> None:
        fields = dict(piece.plain())
        at = self._at(piece.mapping)
        fields.pop("at", None)
        recording = recording_of({"messages": [fields], "model": "-"})
        if not recording.live.messages:
            self.values.fail(
                piece,
                "value",
                "this is no message: " + "; ".join(each.message for each in recording.problems),
                "a message has a role (user, assistant, system) and a content",
            )
        info = recording.live.info[0] if recording.live.info else None
        if at is not None:
            known = info or Info()
            info = Info(known.id, at, known.origin, known.pinned, known.usage, known.source)
        self.messages.append(recording.live.messages[0])
        self.infos.append(info)

    def _foreign(self, records: Sequence[Node]) -> None:
        if not records:
            return
        lines = "".join(json.dumps(record.plain()) + "\n" for record in records)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "inline.jsonl"
            path.write_text(lines, encoding="utf-8")
            try:
                recording = read(path)
            except Unreadable as error:
                self.values.fail(records[0], "value", f"no reader takes this: {error.message}", error.hint)
        self._take(recording, None)

    def _session(self, node: Node, upto: Node | None) -> None:
        path = self.folder / str(node.value)
        try:
            recording = read(path)
        except Unreadable as error:
            self.values.fail(node, "file", f"{path}: {error.message}", error.hint)
        count = None
        if upto is not None:
            count = self.values.whole(upto, 1)
            if count > len(recording.live.messages):
                self.values.fail(
                    upto, "value", f"the session has {len(recording.live.messages)} messages, not {count}"
                )
        self._take(recording, count)
        live = recording.live
        self.system, self.tools, self.extra = live.system, live.tools, live.extra
        self.model = live.model
        self.facts = facts_of(recording)

    def _take(self, recording: Recording, upto: int | None) -> None:
        messages = list(recording.live.messages)[:upto]
        infos = list(recording.live.info)[: len(messages)]
        self.messages += messages
        self.infos += [*infos, *[None] * (len(messages) - len(infos))]

    def _rounds(self, node: Node) -> None:
        fields = node.mapping
        result = fields.get("result")
        chars = self.values.size(result.mapping["chars"]) if result is not None else CHARS
        at = self._at(fields)
        for _ in range(self.values.count(fields["count"])):
            call = self._call(fields)
            words = self._said(fields, self._calls)
            self._round([(call, made_up(chars, self._calls), False)], words, at)

    def _results(self, piece: Node) -> None:
        fields = piece.mapping
        words = self._said(fields, self._calls + 1)
        made = []
        for node in fields["results"].items:
            inner = node.mapping
            if "content" in inner and (
                other := next((key for key in ("chars", "text") if key in inner), None)
            ):
                self.values.fail(
                    inner[other], "one-of", f"a result has `content` or `{other}`, not both", on_key=True
                )
            call = self._call(inner)
            content = inner["content"].plain() if "content" in inner else self._text(inner)
            made.append((call, content, "error" in inner and inner["error"].value is True))
        self._round(made, words, self._at(fields))

    def _text(self, fields: Mapping[str, Node]) -> str:
        """The result's own text, again and again where a size is given; without one a made-up text."""
        own = str(fields["text"].value) if "text" in fields else None
        if own is not None and ("chars" not in fields or not own):
            return own
        chars = self.values.size(fields["chars"]) if "chars" in fields else CHARS
        return repeated(own, chars, self._calls)

    def _said(self, fields: Mapping[str, Node], number: int) -> str:
        return str(fields["text"].value).replace("{n}", str(number)) if "text" in fields else ""

    def _call(self, fields: Mapping[str, Node]) -> dict[str, Any]:
        self._calls += 1
        number = self._calls
        tool = str(fields["tool"].value) if "tool" in fields else TOOL
        given = _numbered(fields["input"].plain(), number) if "input" in fields else {"step": number}
        return {"type": "tool_use", "id": f"call_{number}", "name": tool, "input": given}

    def _round(self, made: Sequence[tuple[dict[str, Any], Any, bool]], words: str, at: float | None) -> None:
        if not self.messages:
            self._append({"role": "user", "content": OPENING}, at)
        said = [{"type": "text", "text": words}] if words else []
        self._append({"role": "assistant", "content": [*said, *(call for call, _, _ in made)]}, at)
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": content,
                **({"is_error": True} if failed else {}),
            }
            for call, content, failed in made
        ]
        self._append({"role": "user", "content": results}, at)

    # --- parts

    def _append(self, message: Message, at: float | None) -> None:
        self.messages.append(message)
        self.infos.append(None if at is None else Info(at=at))

    def _at(self, fields: Mapping[str, Node]) -> float | None:
        return self.values.time(fields["at"]) if "at" in fields else None

    def _pin(self, node: Node) -> None:
        place = node.value
        if isinstance(place, str):
            found = [i for i, info in enumerate(self.infos) if info is not None and info.id == place]
            index = found[0] if found else None
        else:
            index = self.values.whole(node, -len(self.messages))
            index = index + len(self.messages) if index < 0 else index
        if index is None or index >= len(self.messages):
            self.values.fail(node, "value", f"there is no message {place} to pin")
        known = self.infos[index] or Info()
        self.infos[index] = Info(known.id, known.at, known.origin, True, known.usage, known.source)


def _numbered(value: Any, number: int) -> Any:
    """``{n}`` in the texts of a call's input is the number of the call."""
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, dict):
        return {key: _numbered(each, number) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbered(each, number) for each in value]
    return value
