"""Sessions in miniature for the tests of kinds: real scenes, folds, effects; no interpreter, no packs."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.strategies import PIXEL

from trimtab.conversation.edits import Commit
from trimtab.conversation.fold import ItemBuilder, Overlay, fold
from trimtab.conversation.items import Item, ItemMaker, blocks_of
from trimtab.conversation.request import Info, Message, Request
from trimtab.conversation.view import View
from trimtab.effects import Ask, AskFailed, Effect, Get, Hook, Pause, Put, Read, Redact, Reply, drive
from trimtab.facts import FactBook, Facts, fact_rules
from trimtab.matching import Categories, pattern
from trimtab.policy.conditions import Condition, condition
from trimtab.policy.expressions import Quantity, quantity
from trimtab.policy.history import History
from trimtab.policy.measures import keep
from trimtab.policy.narrowing import fit
from trimtab.policy.past import Past, StageIndex
from trimtab.policy.proposal import Proposal
from trimtab.policy.protection import Protection
from trimtab.policy.scene import Policy, Scene, UsageThen
from trimtab.policy.selection import Selector, candidates, selector
from trimtab.policy.stage import DEFAULT_EVENTS, Stage
from trimtab.records import RunRecord
from trimtab.redaction import Redactor, redact_all
from trimtab.stages import KINDS
from trimtab.store import MemoryStore
from trimtab.templating import Renderer, Text
from trimtab.tokens.estimate import estimate
from trimtab.tokens.media import media_tokens
from trimtab.tokens.models import lookup
from trimtab.trial import Bench, Standing, attempt
from trimtab.validity import check, cuts
from trimtab.validity.base import Profile
from trimtab.validity.profiles.anthropic import Capabilities, anthropic


class Making:
    """Compiles the values of a stage; a problem is an error of the test, unless it looks at ``problems``."""

    def __init__(self, renderer: Renderer, stage_id: str = "stage") -> None:
        self.renderer = renderer
        self.stage_id = stage_id
        self.problems: list[tuple[tuple[str | int, ...], str, str]] = []

    def quantity(self, raw: int | float | str, *where: str | int) -> Quantity:
        return quantity(raw)

    def condition(self, raw: Mapping[str, Any], *where: str | int) -> Condition:
        return condition(raw, accept=where[:1] == ("accept",))

    def selector(self, raw: Mapping[str, Any], *where: str | int) -> Selector:
        return selector(raw)

    def keep(self, raw: Any, *where: str | int) -> Any:
        return keep(raw)

    def fit(self, raw: Mapping[str, Any], *where: str | int) -> Any:
        return fit(raw)

    def text(self, raw: Mapping[str, Any], *where: str | int) -> Text | None:
        if "template" in raw:
            return self.renderer.template(raw["template"])
        return self.renderer.text(raw["text"]) if "text" in raw else None

    def template(self, name: str, *where: str | int) -> Text:
        """A file of the renderer's folders; a name with a blank in it is the text itself."""
        return self.renderer.text(name) if " " in name else self.renderer.template(name)

    def pattern(self, raw: str, *where: str | int) -> Any:
        return pattern(raw)

    def problem(self, message: str, *where: str | int, code: str, hint: str = "") -> None:
        self.problems.append((where, message, code))


def unfenced(text: str) -> str:
    """A prompt without the lines of its fences."""
    return re.sub(r"\n?</?data-[0-9a-f]{12}>\n?", "", text)


def stage_of(raw: Mapping[str, Any], renderer: Renderer | None = None) -> Stage:
    """A stage from its raw keys, as a pack would build it; ``id`` may be left out."""
    raw = {"id": "stage", **raw}
    make = Making(renderer or Renderer(), raw["id"])
    at = raw.get("at", DEFAULT_EVENTS)
    events = (
        {event: make.condition(inner) for event, inner in at.items()}
        if isinstance(at, Mapping)
        else dict.fromkeys(at)
    )
    stage = Stage(
        id=raw["id"],
        kind=raw["kind"],
        params=KINDS[raw["kind"]].build(raw, make),
        at=events,
        when=make.condition(raw["when"]) if "when" in raw else None,
        accept=make.condition(raw["accept"], "accept") if "accept" in raw else None,
        select=make.selector(raw["select"]) if "select" in raw else None,
        keep=make.keep(raw["keep"]) if "keep" in raw else (),
        order=raw.get("order", "oldest"),
        fit=make.fit(raw["fit"]) if "fit" in raw else None,
        once=raw.get("once", False),
        cut_at=raw.get("cut_at", "rounds"),
    )
    assert not make.problems, make.problems
    return stage


@dataclass
class Ports:
    """Answers effects: a store in memory, files and answers as given; all that was asked is kept."""

    files: dict[str, str] = field(default_factory=dict)
    answers: list[str | Reply | AskFailed] = field(default_factory=list)
    hooks: dict[str, Any] = field(default_factory=dict)
    store: MemoryStore = field(default_factory=MemoryStore)
    store_fails: bool = False
    redactor: Redactor | None = None
    effects: list[Effect] = field(default_factory=list)

    def perform(self, effect: Effect) -> Any:
        if not isinstance(effect, Redact):
            self.effects.append(effect)
        if isinstance(effect, Put):
            if self.store_fails:
                raise OSError(28, "no space left on device")
            return "/store/" + self.store.put(effect.name, effect.text)
        if isinstance(effect, Get):
            return self.store.get(effect.name)
        if isinstance(effect, Read):
            text = self.files.get(effect.path)
            return None if text is None else text.encode()[: effect.limit].decode("utf-8", "ignore")
        if isinstance(effect, Redact):
            return redact_all(self.redactor, effect.texts, effect.names)
        if isinstance(effect, Hook):
            return self.hooks.get(effect.moment)
        if isinstance(effect, Pause):
            return None
        if isinstance(effect, Ask):
            if not self.answers:
                raise AskFailed("unavailable", "there is no model here")
            answer = self.answers.pop(0)
            if isinstance(answer, AskFailed):
                raise answer
            return answer if isinstance(answer, Reply) else Reply(answer)
        raise AssertionError(f"nobody answers {effect}")

    @property
    def questions(self) -> list[Ask]:
        return [effect for effect in self.effects if isinstance(effect, Ask)]

    @property
    def puts(self) -> list[Put]:
        return [effect for effect in self.effects if isinstance(effect, Put)]


@dataclass
class Session:
    """A transcript, the commits over it, what a pack would say; ``run`` lets a stage propose and commit.

    ``usage`` is what the API reported for the whole transcript as it stands when the session is made.
    """

    messages: list[Message]
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: Mapping[str, bool | float | str] = field(default_factory=dict)
    limits: Mapping[str, str | float] = field(default_factory=dict)
    fact_rules: Mapping[str, Any] = field(default_factory=dict)
    infos: Sequence[Info | None] = ()
    model: str = "claude-sonnet-4-5"
    window: float = 200_000
    overhead: float = 0
    factor: float = 1.0
    usage: int | None = None
    renderer: Renderer = field(default_factory=Renderer)
    ports: Ports = field(default_factory=Ports)
    request_tools: Sequence[Mapping[str, Any]] | None = None
    stages: Sequence[Stage] = ()

    def __post_init__(self) -> None:
        self.maker = ItemMaker(estimate, media_tokens)
        self.builder = ItemBuilder(self.maker)
        self.history = History()
        self.overlay = Overlay()
        self.path: list[Item] = []
        self.known: dict[int, Info] = {}
        self.serial = 0
        self.runs = 0
        first, self.messages = self.messages, []
        self.append(first, self.infos)
        self.then = None
        if self.usage is not None:
            total = self.overhead + sum(item.total for item in self.path)
            self.then = UsageThen(self.usage, list(self.path), total, True)

    def append(self, messages: Sequence[Message], infos: Sequence[Info | None] = ()) -> None:
        """Further messages of the transcript."""
        for at, message in enumerate(messages):
            self.serial += 1
            info = infos[at] if at < len(infos) else None
            if info is not None:
                self.known[self.serial] = info
            item, _ = self.maker.make(self.serial, message, info.origin if info is not None else None)
            self.path.append(item)
            self.messages.append(message)

    @property
    def items(self) -> list[Item]:
        return fold(self.path, self.overlay, self.builder)

    @property
    def shown(self) -> list[Message]:
        """The messages the next request would show."""
        return [item.message for item in self.items]

    @property
    def texts(self) -> list[str]:
        """All words of each shown message, blocks joined by ``|``."""
        return [words(message) for message in self.shown]

    def profile(self) -> Profile:
        return anthropic(Capabilities.of(lookup(self.model)))

    def policy(self, model: str, categories: Categories) -> Policy:
        """The pack's names for a model; another one has the window of the table."""
        known = lookup(model)
        return Policy(
            settings=self.settings,
            limits={name: quantity(raw) for name, raw in self.limits.items()},
            categories=categories,
            window=self.window if model == self.model else known.window,
            max_output=32_000,
            max_input=float("inf") if known.max_input is None else float(known.max_input),
            window_known=model == self.model or known.known,
        )

    def scene(self, event: str = "before_request", facts: Facts | None = None) -> Scene:
        """What a stage would see now."""
        facts = facts or Facts()
        base, view = View(self.path), View(self.items)
        categories = Categories(self.tools)
        book = FactBook(fact_rules(self.fact_rules), categories)
        book.extend(self.path)
        past = Past(
            history=self.history,
            index=StageIndex.of(self.stages),
            base=base,
            event=event,
            now=facts.now,
            factor=self.factor,
            categories=categories,
            at=lambda serial: self.known[serial].at if serial in self.known else None,
            committed_now=[],
        )
        return Scene(
            event=event,
            request=Request(self.model, self.messages, tools=self.request_tools),
            facts=facts,
            policy=self.policy(self.model, categories),
            policy_of=lambda model: self.policy(model, categories),
            model=lookup(self.model),
            view=view,
            base=base,
            overlay=self.overlay,
            history=past,
            book=book,
            infos=self.known,
            maker=self.maker,
            templates=self.renderer,
            overhead_estimate=self.overhead,
            factor=self.factor,
            usage=self.then,
            protect=self._protection,
            cut_places=lambda view: cuts(view, self.profile()),
        )

    def _protection(self, scene: Scene) -> Protection:
        stage = scene.stage
        origins = stage.select.origins if stage.select is not None else frozenset()
        return Protection(
            scene.view,
            stage=stage.id,
            pinned={serial for serial, info in self.known.items() if info.pinned},
            changes=scene.overlay.changes,
            author=self.history.touched_by,
            placeholder=lambda author: author == stage.id,
            restored=(),
            undone={},
            undone_messages={},
            origins=origins,
            shorten_user=stage.kind == "replace"
            and "user" in origins
            and bool(getattr(stage.params, "store", None)),
        )

    def propose(
        self,
        stage: Stage | Mapping[str, Any],
        event: str = "before_request",
        facts: Facts | None = None,
        **changes: Any,
    ) -> Proposal:
        """What the stage proposes; nothing is committed. ``changes`` are set on the scene."""
        if not isinstance(stage, Stage):
            stage = stage_of(stage, self.renderer)
        scene = replace(self.scene(event, facts), stage=stage)
        for name, value in changes.items():
            setattr(scene, name, value)
        return propose(scene, self.ports)

    def run(
        self,
        stage: Stage | Mapping[str, Any],
        event: str = "before_request",
        facts: Facts | None = None,
        **changes: Any,
    ) -> Proposal:
        """Let the stage propose, commit what it proposes, and return that."""
        if not isinstance(stage, Stage):
            stage = stage_of(stage, self.renderer)
        proposal = self.propose(stage, event, facts, **changes)
        if proposal.edits:
            self.commit(stage.id, proposal)
        self.runs += 1
        self.history.add(RunRecord(self.runs, event))
        return proposal

    def commit(self, stage: str, proposal: Proposal) -> Commit:
        """Check, repair and fold in what is proposed, as the interpreter does; what stays broken fails."""
        standing = Standing(self.overlay, View(self.items))
        bench = Bench(View(self.path), self.builder, self.profile(), None, "", True, self._new_serial)
        standing = replace(standing, violations=check(standing.view, bench.profile, closing=False).violations)
        trial = attempt(bench, standing, len(self.history.commits) + 1, proposal.edits)
        assert not trial.broken, trial.broken
        commit = Commit(
            self.history.next_commit(),
            stage,
            self.runs + 1,
            trial.edits,
            trial.repairs,
            stored=proposal.stored,
            facts={"told": proposal.remarks["told"]} if "told" in proposal.remarks else {},
        )
        self.history.add(commit)
        self.overlay = Overlay.of(self.history.live())
        return commit

    def _new_serial(self) -> int:
        self.serial += 1
        return self.serial


def propose(scene: Scene, ports: Ports | None = None) -> Proposal:
    """Choose candidates for the scene's stage and let its kind propose."""
    stage = scene.stage
    assert stage.params is not None
    if stage.params.picks:
        assert stage.select is not None
        joined = stage.fit is not None and stage.fit.per == "message"
        scene.chosen = candidates(scene, stage.select, scene.protection(), stage.keep, staying=joined)
        if not scene.chosen.candidates:
            return Proposal(reason="no candidate")
    proposed = stage.params.propose(scene)
    if isinstance(proposed, Proposal):
        return proposed
    assert isinstance(proposed, Generator)
    proposal: Proposal = drive(proposed, (ports or Ports()).perform)
    return proposal


# --- messages


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*named: tuple[str, str, Mapping[str, Any]], text: str = "") -> Message:
    """An assistant message with calls ``(id, tool, input)``."""
    words: list[Any] = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": id, "name": name, "input": dict(given)} for id, name, given in named]
    return {"role": "assistant", "content": words + uses}


def results(*given: tuple[str, Any], error: bool = False) -> Message:
    """A user message with results ``(call id, content)``."""
    extra = {"is_error": True} if error else {}
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": id, "content": content, **extra} for id, content in given
        ],
    }


def read(id: str, path: str, content: Any) -> list[Message]:
    """A whole round: a call of Read and its result."""
    return [calls((id, "Read", {"file_path": path})), results((id, content))]


def bash(id: str, command: str, output: Any) -> list[Message]:
    """A whole round: a call of Bash and its result."""
    return [calls((id, "Bash", {"command": command})), results((id, output))]


def work(*names: str, size: int = 60) -> list[Message]:
    """Rounds of Bash with these ids, their outputs three times so many words long."""
    return [message for name in names for message in bash(name, f"run {name}", "line of output " * size)]


def image() -> dict[str, Any]:
    """An image block of one pixel."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def words(message: Message) -> str:
    """All words of a message, blocks joined by ``|``; calls as ``name(input)``, media by their type."""
    found: list[str] = []
    for block in blocks_of(message):
        kind = block.get("type")
        if kind == "tool_result":
            inner = block.get("content")
            if isinstance(inner, list):
                found.append("+".join(str(part.get("text", part.get("type"))) for part in inner))
            else:
                found.append(str(inner))
        elif kind == "tool_use":
            found.append(f"{block.get('name')}({block.get('input')})")
        else:
            found.append(str(block.get(str(kind), kind)) if kind in ("text", "thinking") else str(kind))
    return "|".join(found)
