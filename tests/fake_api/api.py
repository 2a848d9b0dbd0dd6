"""The API without its socket: a request in, an answer out; what was said to it and why it refused is kept."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trimtab.tokens.models import canonical

from . import compacting, editing
from .caching import PromptCache, segments
from .counting import prompt_tokens
from .diagnosing import Fingerprint, diagnosis, fingerprint
from .errors import Refusal, Refused, invalid, too_long
from .replies import Block, Delivery, Limits, Reply, Script, cut, is_thinking, output_tokens, reply_of
from .requests import BINDING_BETA, MAX_BYTES, Asked, check, read
from .rules import blocks
from .signing import SigningApi, Stale

Json = Any

START = 1_700_000_000.0
OLDER = ("claude-opus-4", "claude-opus-4-1", "claude-sonnet-4")
"""With Claude 3: models that refuse ``max_tokens`` beyond the window, and do not stop at its end."""
SERVER_SUMMARY = "The conversation so far, as the server sums it up."

FOREIGN = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, "
    'or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


class Clock:
    """Seconds since 1970, as the test moves them."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Recorded:
    """A request as it came, and what became of it; ``refusal`` is why it was not answered.

    ``on_purpose``: the refusal stood in the script, the request itself was valid.
    """

    path: str
    headers: Mapping[str, str]
    body: Json
    at: float
    status: int = 0
    refusal: Refusal | None = None
    on_purpose: bool = False
    message: dict[str, Json] | None = None


@dataclass(frozen=True)
class Answer:
    """What goes out: ``message`` is the body; of a stream it is sent as events."""

    status: int
    message: dict[str, Json]
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False
    delivery: Delivery = field(default_factory=Delivery)


class FakeApi:
    """Answers from ``script``, in order, then ``otherwise``. Invalid requests use nothing of the script up.

    ``window`` and ``max_output`` replace what the model table says; ``enforced`` is whether the prefix of
    thinking is checked for requests that do not ask for it (accounts from 2026-08-31 on). Safe for threads.
    """

    def __init__(
        self,
        *script: Script,
        otherwise: Script = "Understood.",
        window: int | None = None,
        max_output: int | None = None,
        max_bytes: int = MAX_BYTES,
        enforced: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self.script: deque[Script] = deque(script)
        self.otherwise = otherwise
        self.window = window
        self.max_output = max_output
        self.max_bytes = max_bytes
        self.enforced = enforced
        self.clock = clock or Clock()
        self.summary: str | None = SERVER_SUMMARY
        self.requests: list[Recorded] = []
        self.signing = SigningApi()
        self.cache = PromptCache(self.clock)
        self._known: dict[str, Fingerprint] = {}
        self._lock = threading.RLock()
        self._serial = 0

    # --- what a test looks at

    @property
    def sent(self) -> list[Recorded]:
        """Requests for messages (none that only count)."""
        return [one for one in self.requests if one.path == "/v1/messages"]

    @property
    def faulty(self) -> list[Recorded]:
        """Requests that were refused for what they are, and not because the script says so."""
        return [one for one in self.requests if one.refusal is not None and not one.on_purpose]

    # --- answering

    def handle(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Answer a POST. ``headers`` have names in lower case."""
        with self._lock:
            recorded = Recorded(path, dict(headers), _parsed(raw), self.clock())
            self.requests.append(recorded)
            try:
                answer = self._answer(recorded, raw)
            except Refused as refused:
                recorded.refusal = refused.refusal
            except Exception as problem:  # a value that no check of ours foresees is nothing the API takes
                recorded.refusal = Refusal(400, f"the request cannot be read: {problem!r}")
            if recorded.refusal is not None:
                why = recorded.refusal
                answer = Answer(why.status, why.body, why.headers)
            recorded.status = answer.status
            request_id = f"req_{len(self.requests):06d}"
            if answer.status >= 400:
                answer = replace(answer, message={**answer.message, "request_id": request_id})
            else:
                recorded.message = answer.message
            return replace(answer, headers={**answer.headers, "request-id": request_id})

    def _answer(self, recorded: Recorded, raw: bytes) -> Answer:
        if recorded.path not in ("/v1/messages", "/v1/messages/count_tokens"):
            raise Refused(Refusal(404, "Not found"))
        counting = recorded.path != "/v1/messages"
        asked = read(recorded.headers, raw, counting=counting, max_bytes=self.max_bytes)
        asked = self._limited(asked)
        check(asked)
        edits = editing.edits_of(asked.body)
        compacting.check_blocks(asked, self.signing)
        if asked.compacts:
            compacting.check_request(asked)
        shown, transformations = self._thinking(asked)
        shown = editing.from_last_compaction(shown)
        original = prompt_tokens(asked.system, asked.tools, shown)
        shown, applied = editing.edited(shown, edits, original)
        tokens = prompt_tokens(asked.system, asked.tools, shown)
        if counting:
            counts: dict[str, Json] = {"input_tokens": tokens}
            if asked.body.get("context_management") is not None:
                counts["context_management"] = {"original_input_tokens": original}
            return Answer(200, counts)
        self._check_length(asked, tokens)
        try:
            reply = reply_of(self.script.popleft() if self.script else self.otherwise, recorded)
        except Exception as problem:  # a test's own function: whatever it is, the test must get to see it
            raise Refused(Refusal(500, f"the script failed: {problem!r}")) from problem
        if isinstance(reply, Refusal):
            recorded.on_purpose = True
            raise Refused(reply)
        compact = next((edit for edit in edits if edit["type"] == editing.COMPACT), None)
        if asked.compacts:
            message = self._compaction(asked, shown, reply)
        elif compact is not None and tokens >= editing.compact_trigger(compact):
            message = self._compacted(asked, shown, reply, bool(compact.get("pause_after_compaction")))
        else:
            message = self._message(asked, shown, reply, tokens)
        if asked.body.get("context_management") is not None:
            message["context_management"] = {"applied_edits": applied}
        if BINDING_BETA in asked.betas:
            message["input_transformations"] = transformations
        return Answer(200, message, stream=bool(asked.body.get("stream")), delivery=reply.delivery)

    def _limited(self, asked: Asked) -> Asked:
        """The request with the window and the output this fake was told to have."""
        model = asked.model
        model = replace(
            model,
            window=self.window or model.window,
            max_output=self.max_output or model.max_output,
        )
        return replace(asked, model=model)

    def _check_length(self, asked: Asked, tokens: int) -> None:
        window, most = asked.model.window, asked.body["max_tokens"]
        if tokens > window:
            raise Refused(too_long(tokens, window))
        if _older(asked) and tokens + most > window:
            raise invalid(
                f"input length and `max_tokens` exceed context limit: {tokens} + {most} > {window}, "
                "decrease input length or `max_tokens` and try again"
            )

    def _thinking(self, asked: Asked) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
        """The messages without the thinking that is dropped, and ``input_transformations``."""
        stale = self.signing.stale(asked.messages, asked.head)
        for one in stale:
            if not one.prefix_only:
                raise invalid(f"{one.path}: Invalid `signature` in `thinking` block")
        if asked.model.thinking != "bound" or not stale:
            return asked.messages, []
        binding = (asked.body.get("thinking") or {}).get("block_binding")
        if binding is None and not self.enforced:
            return asked.messages, [_transformed("thinking_mismatch_allowed", one.path) for one in stale]
        if (binding or {}).get("prefix_mismatch_behavior") != "drop_block":
            raise invalid(f"{stale[0].path}: {FOREIGN}")
        shown, dropped = _without(asked.messages, stale)
        return shown, [_transformed("thinking_dropped", path) for path in dropped]

    # --- messages

    def _message(
        self,
        asked: Asked,
        shown: Sequence[Json],
        reply: Reply,
        tokens: int,
        first: Sequence[Block] = (),
    ) -> dict[str, Json]:
        prompt = segments(
            asked.body["model"], asked.system, asked.tools, shown, asked.body.get("cache_control")
        )
        limits = Limits(
            asked.body["max_tokens"],
            10**9 if _older(asked) else asked.model.window - tokens,
            asked.body.get("stop_sequences") or (),
        )
        said, reason, sequence = cut(reply.content, reply.stop_reason, limits)
        content = list(first)
        for block in said:
            content.append(self._finished(block, asked, content))
        message = self._envelope(asked, reply, content, reason, sequence)
        used = self.cache.use(prompt, asked.model.min_cacheable).usage
        message["usage"] = {**used, "output_tokens": output_tokens(said)}
        if reason == "refusal":
            message["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
        now = fingerprint(asked, prompt)
        wanted = asked.body.get("diagnostics")
        if wanted is not None:
            before = wanted.get("previous_message_id")
            message["diagnostics"] = None if before is None else diagnosis(self._known.get(before), now)
        self._known[message["id"]] = now
        return message

    def _compaction(self, asked: Asked, shown: Sequence[Json], reply: Reply) -> dict[str, Json]:
        """The answer to ``compaction``: one signed block; a reply without a text is a compaction that failed."""
        text = "".join(block.get("text", "") for block in reply.content) or None
        block = self.signing.compaction(text, asked.messages, asked.head)
        message = self._envelope(asked, reply, [block], "compaction", None)
        message["usage"] = {
            **_nothing(),
            "iterations": [self._iteration("compaction", asked, shown, [block])],
        }
        return message

    def _compacted(self, asked: Asked, shown: Sequence[Json], reply: Reply, pause: bool) -> dict[str, Json]:
        """The edit ``compact_20260112``: a block ahead of the answer, or, with a pause, the block alone."""
        self._serial += 1
        block = {"type": "compaction", "content": self.summary, "encrypted_content": f"sealed-{self._serial}"}
        spent = self._iteration("compaction", asked, shown, [block])
        if pause:
            message = self._envelope(asked, reply, [block], "compaction", None)
            message["usage"] = {**_nothing(), "iterations": [spent]}
            return message
        after = shown if self.summary is None else [{"role": "assistant", "content": [block]}]
        tokens = prompt_tokens(asked.system, asked.tools, after)
        message = self._message(asked, after, reply, tokens, [block])
        usage = message["usage"]
        usage["iterations"] = [spent, {"type": "message", **usage}]
        return message

    def _iteration(
        self, kind: str, asked: Asked, shown: Sequence[Json], said: Sequence[Block]
    ) -> dict[str, Json]:
        prompt = segments(asked.body["model"], asked.system, asked.tools, shown, None)
        used = self.cache.use(prompt, asked.model.min_cacheable).usage
        return {"type": kind, **used, "output_tokens": output_tokens(said)}

    def _envelope(
        self, asked: Asked, reply: Reply, content: Sequence[Block], reason: str, sequence: str | None
    ) -> dict[str, Json]:
        self._serial += 1
        return {
            "id": f"msg_{self._serial:06d}",
            "type": "message",
            "role": "assistant",
            "model": reply.model or asked.body["model"],
            "content": list(content),
            "stop_reason": reason,
            "stop_sequence": sequence,
        }

    def _finished(self, block: Block, asked: Asked, before: Sequence[Block]) -> Block:
        """A block of a reply with its signature or its id."""
        if is_thinking(block) and not block.get("signature" if block["type"] == "thinking" else "data"):
            messages = [*asked.messages, {"role": "assistant", "content": list(before)}]
            return self.signing.signed(block, messages, asked.head)
        if block["type"] == "tool_use" and not block.get("id"):
            self._serial += 1
            return {**block, "id": f"toolu_{self._serial:06d}"}
        return block


def _older(asked: Asked) -> bool:
    name = canonical(asked.body["model"])
    return name.startswith("claude-3") or name in OLDER


def _transformed(kind: str, path: str) -> dict[str, Json]:
    return {"type": kind, "reason": "prefix_binding_mismatch", "path": path}


def _without(messages: Sequence[Json], stale: Sequence[Stale]) -> tuple[list[Json], list[str]]:
    """The messages without stale thinking and what of the same thinking stands behind it; the paths dropped."""
    gone = {(one.message, one.block) for one in stale}
    shown, paths = [], []
    for index, message in enumerate(messages):
        left, dropping = [], False
        for number, block in enumerate(blocks(message)):
            dropping = is_thinking(block) and (dropping or (index, number) in gone)
            if dropping:
                paths.append(f"messages.{index}.content.{number}")
            else:
                left.append(block)
        if len(left) == len(blocks(message)):
            shown.append(message)
        elif left:
            shown.append({**message, "content": left})
    return shown, paths


def _nothing() -> dict[str, Json]:
    return {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }


def _parsed(raw: bytes) -> Json:
    try:
        return json.loads(raw)
    except ValueError:
        return raw
