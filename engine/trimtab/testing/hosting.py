"""What a case says as the host would: model, settings, facts, usage, time, event and answers of one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..conversation.request import Usage
from ..facts import ApiError, Facts, ManualRequest
from ..packs.given import given_settings
from ..packs.names import BUILT_IN_FACTS, HOST_FACTS
from ..packs.nodes import Node
from ..packs.pack import MODEL_FIGURES, Pack, Setting
from ..packs.problems import PackError
from ..policy.refusals import CLASSES, classify
from ..policy.stage import EVENTS
from ..summarizers.canned import CannedSummarizer
from .conversation import made_up
from .model import Step
from .values import Values

BESIDE_FACTS = frozenset({"caller", "files", "transcript_path"})
"""What ``facts`` may hold besides the facts a host or a pack names."""
_USAGE = {
    "input_tokens": "input",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


class Host:
    """Reads the runs of one case for one pack. Raises PackError at the place of what is wrong."""

    def __init__(self, values: Values, pack: Pack) -> None:
        self.values = values
        self.pack = pack

    def step(self, node: Node, upto: int) -> Step:
        """One run, what is expected of it left out; ``upto`` messages are there by then."""
        fields, values = node.mapping, self.values
        event = "before_request"
        if "event" in fields:
            event = values.word(fields["event"], EVENTS, "unknown-value", "event")
        for key, home in (("request", "manual"), ("error", "overflow")):
            if key in fields and event != home:
                values.fail(
                    fields[key],
                    "one-of",
                    f"`{key}` goes with `event: {home}`",
                    f"add event: {home}",
                    on_key=True,
                )
        given = fields["given"].mapping if "given" in fields else {}
        undo = fields.get("undo")
        if undo is not None and self.pack.stage(str(undo.value)) is None:
            values.unknown(undo, str(undo.value), self.stages, "unknown-stage", "stage")
        return Step(
            at=node.pos,
            upto=upto,
            event=event,
            model=str(fields["model"].value) if "model" in fields else None,
            settings=self.settings(fields["settings"]) if "settings" in fields else None,
            facts=self.facts(fields["facts"]) if "facts" in fields else None,
            usage=self.usage(fields["usage"]) if "usage" in fields else None,
            usage_at=fields["usage"].pos if "usage" in fields else None,
            now=values.time(fields["now"]) if "now" in fields else None,
            request=self.request(fields.get("request")) if event == "manual" else None,
            error=self.error(fields.get("error"), node) if event == "overflow" else None,
            answers=self.answers(fields["answers"]) if "answers" in fields else None,
            files=self.files(given["files"]) if "files" in given else None,
            undo=str(undo.value) if undo is not None else None,
            undo_at=undo.pos if undo is not None else None,
            resume=fields["resume"].value is True if "resume" in fields else False,
        )

    @property
    def stages(self) -> list[str]:
        return [stage.id for stage in self.pack.every_stage()]

    def settings(self, node: Node) -> dict[str, Setting]:
        """Settings of the pack, checked; figures of the model among them."""
        found: dict[str, Setting] = {}
        for name, each in node.mapping.items():
            if name in MODEL_FIGURES:
                found[name] = self.values.number(each)
                continue
            if name not in self.pack.settings:
                known = [*self.pack.settings, *MODEL_FIGURES]
                self.values.unknown(each, name, known, "unknown-setting", "setting", on_key=True)
            value: Any = each.value
            try:
                given_settings(self.pack, {name: value})
            except PackError as error:
                problem = error.problems[0]
                self.values.fail(each, problem.code, problem.message, problem.hint)
            found[name] = value
        return found

    def facts(self, node: Node) -> dict[str, Any]:
        known = BUILT_IN_FACTS | HOST_FACTS | BESIDE_FACTS | self.pack.facts.keys()
        for name, each in node.mapping.items():
            if name not in known:
                self.values.unknown(each, name, sorted(known), "unknown-fact", "fact", on_key=True)
        raw: dict[str, Any] = node.plain()
        self.values.made(node, lambda: Facts.of(raw))
        return raw

    def usage(self, node: Node) -> Usage:
        counts = {_USAGE[key]: self.values.whole(each) for key, each in node.mapping.items() if key in _USAGE}
        output = node.mapping.get("output_tokens")
        if sum(counts.values()) <= 0:
            self.values.fail(node, "value", "a usage of no tokens says nothing", "input_tokens: 100000")
        return Usage(
            counts.get("input", 0),
            counts.get("cache_read", 0),
            counts.get("cache_write", 0),
            self.values.whole(output) if output is not None else None,
        )

    def request(self, node: Node | None) -> ManualRequest:
        if node is None:
            return ManualRequest()
        raw: Any = node.plain()
        return self.values.made(node, lambda: ManualRequest.of(raw))

    def error(self, node: Node | None, step: Node) -> ApiError | str:
        if node is None:
            self.values.fail(
                step, "missing-key", "an overflow needs the key `error`", "for example error: prompt_too_long"
            )
        raw = node.plain()
        error = ApiError(**raw) if isinstance(raw, Mapping) else str(raw)
        refusal = classify(error, self.pack.api_errors)
        if isinstance(error, str) and " " not in error and refusal is not None and refusal.kind is None:
            # One word is meant as a class; a text the engine does not know may well be what a case is about.
            self.values.unknown(node, error, CLASSES, "unknown-value", "class of refusals")
        return error

    def answers(self, node: Node) -> list[Any]:
        for each in node.items:
            self.values.made(each, lambda each=each: CannedSummarizer([each.plain()], "answers"))  # type: ignore[misc]
        found: list[Any] = node.plain()
        return found

    def files(self, node: Node) -> dict[str, str]:
        found = {}
        for seed, (path, each) in enumerate(node.mapping.items()):
            if isinstance(each.value, dict):
                found[path] = made_up(self.values.size(each.mapping["chars"]), seed)
            else:
                found[path] = str(each.value)
        return found
