"""What a writer is asked: the request itself plus the prompt, or a rendered transcript in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..conversation.items import THINK, Item, ItemMaker
from ..conversation.request import Message, Request
from ..conversation.view import View
from ..directives import WISHES, Wish, write
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ..templating import fence, mark
from ..tokens.models import lookup
from ..validity import check, repair
from ..validity.draft import Draft
from ..validity.profiles.anthropic import Capabilities, anthropic
from ._ladder import build_clips, limits_of
from ._material import Entry, Limit, Material, clipped, cut, gather, paired, with_media, without
from ._range import leading
from ._transcript import transcript

POINT_CHARS = 400
"""Characters of the message at the marked point that are quoted to find it."""
RESERVE_TOKENS = 4000
"""Room for an answer of no declared size: what a dry run assumes (ARCHITECTURE §5)."""


@dataclass(frozen=True, slots=True)
class Input:
    """LANGUAGE §10 ``input`` and ``previous``; ``as_text`` renders, in ``role`` user or system."""

    as_text: bool = False
    role: str = "user"
    without: frozenset[str] = frozenset()
    clips: Mapping[str, tuple[str, Quantity]] | None = None
    media: str | None = None
    originals: bool = False
    apart: bool = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], previous: str | None, make: Maker) -> Input:
        return cls(
            raw.get("as") == "text",
            raw.get("role") or "user",
            frozenset(raw.get("without") or ()),
            build_clips(raw.get("clip") or {}, make, "input", "clip"),
            raw.get("media"),
            raw.get("originals") is True,
            previous == "apart",
        )

    def material(self, scene: Scene, start: int, stop: int, *, originals: bool) -> Material:
        """The plain input for a range. As it is, a writer sees all before the range too, for the cache's
        sake.

        Raises NoValue.
        """
        first = start if self.as_text else 0
        found = gather(scene, first, stop, originals=originals, previous=not self.apart)
        if self.without:
            found = without(scene, found, self.without)
        found = with_media(scene, found, self.media or ("names" if self.as_text else "keep"))
        if self.clips:
            found = clipped(scene, found, limits_of(self.clips, scene))
        return paired(scene, found) if found.changed else found


@dataclass(frozen=True, slots=True)
class Sheet:
    """One input, ready to be asked with: ``tokens`` is its estimate in the writer's tokens, without the
    prompt. ``seal`` is the mark of all fences in the question.
    """

    request: Request | None
    transcript: str
    system: str | None
    point: str | None
    tokens: float
    seal: str


def sheet(
    scene: Scene, given: Input, material: Material, start: int, model: str, others: Sequence[str] = ()
) -> Sheet:
    """The material as it goes to a model; ``others`` are texts that will be fenced with the same mark."""
    if given.as_text:
        text = transcript(material.entries)
        seal = mark([text, *others])
        fenced = fence(text, seal)
        tokens = scene.maker.count(fenced) * factor_of(scene, model)
        if given.role == "system":
            return Sheet(None, "", fenced, None, tokens, seal)
        return Sheet(None, fenced, None, None, tokens, seal)
    messages = _messages(scene, material, model)
    if not material.changed and model == scene.request.model:
        # Byte for byte what the main thread sends, so that its cache serves both.
        items = [entry.item for entry in material.entries]
        request = write(
            scene.request, items, {WISHES: (Wish("newest_user"),)} if _cached(scene) else {}
        ).request
    else:
        request = _request(scene, messages, material, model)
    tokens = (scene.overhead_estimate + material.tokens) * tokens_each(scene, material, model)
    words, count = _marked_point(scene, material, start)
    seal = mark([words, *others])
    return Sheet(request, "", None, _point(words, count, seal), tokens, seal)


def tokens_each(scene: Scene, material: Material, model: str) -> float:
    """Real tokens for one estimated token of a request; what usage told of the main thread's holds."""
    if model != scene.request.model or not material.entries:
        return factor_of(scene, model)
    prefix = View(scene.view.items[: material.entries[-1].index + 1])
    return scene.figure_of(prefix) / max(1.0, scene.overhead_estimate + prefix.tokens)


def factor_of(scene: Scene, model: str) -> float:
    """Tokens of the model for one estimated token."""
    return scene.factor if model == scene.request.model else lookup(model).factor


def excess(scene: Scene, model: str, tokens: float, output: float | None) -> float:
    """By how many tokens a request would not fit the model's own window; 0 or less: it fits, or nobody
    knows.
    """
    policy = scene.policy if model == scene.request.model else scene.policy_of(model)
    if not policy.window_known:
        return 0.0
    reserve = min(RESERVE_TOKENS if output is None else output, policy.window / 3)
    return max(tokens + reserve - policy.window, tokens - policy.max_input)


# ------------------------------------------------------------------------------------------------- as it is


def _request(scene: Scene, messages: Sequence[Message], material: Material, model: str) -> Request:
    """Same system, tools and prefix as the main thread; system texts of stages stand behind the host's."""
    own = 0
    items = [entry.item for entry in material.entries]
    while own < len(items) and items[own].role == "system" and items[own].origin == "attachment":
        own += 1
    system = scene.request.system
    if own:
        before: list[Any] = []
        if isinstance(system, str):
            before = [{"type": "text", "text": system}]
        elif system is not None:
            before = list(system)
        system = [*before, *(block for entry in material.entries[:own] for block in entry.blocks)]
    return replace(scene.request, model=model, messages=list(messages[own:]), system=system, info=())


def _cached(scene: Scene) -> bool:
    """Whether the main thread's requests are cached by marks that the writer's request lacks: those a stage sets, and
    the one the API sets itself.
    """
    return bool(scene.history.history.marked) or scene.request.extra.get("cache_control") is not None


def _messages(scene: Scene, material: Material, model: str) -> list[Message]:
    """The messages; a list that is no plain prefix any more is made valid for the model again."""
    other = model != scene.request.model
    if other:
        material = material.with_entries([entry for entry in material.entries if not _about_cache(entry)])
    # Signed thinking holds for its own model only, and of class ``bound`` only over an unchanged prefix.
    void = other or (material.changed and scene.model.thinking == "bound")
    if void and any(entry.item.mask & THINK for entry in material.entries):
        material = without(scene, material, {"thinking"})
    shown = [entry.message for entry in material.entries]
    return mended(shown, model) if material.changed else shown


def _about_cache(entry: Entry) -> bool:
    """Whether the message only speaks of the server's cache: another model has another, and perhaps no such blocks."""
    kinds = {block.get("type") for block in entry.blocks}
    return kinds == {"cache_edits"}


class _Shown:
    """Items as the rules see a view."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items

    def spot(self, index: int, block: int) -> Any:
        return Draft(self.items).spot(index, block)


_MAKER = ItemMaker(count=len, media=lambda block: 0)


def mended(messages: Sequence[Message], model: str) -> list[Message]:
    """The messages, repaired where the rules of the model's API are broken; the end is left open for the
    prompt.
    """
    profile = anthropic(Capabilities.of(lookup(model)))
    items = [_MAKER.make(number + 1, message)[0] for number, message in enumerate(messages)]
    found = check(_Shown(items), profile, closing=False)
    repairs = repair(_Shown(items), found.violations, profile, closing=False)
    if not repairs.edits:
        return list(messages)
    draft = Draft(items)
    draft.apply(repairs.edits)
    return [item.message for item in draft.items]


# ---------------------------------------------------------------------------------------------- marked point


def _marked_point(scene: Scene, material: Material, start: int) -> tuple[str, int]:
    """How the part of a writer begins, and how many messages it has; no words if it sees nothing but that part."""
    before = [entry for entry in material.entries if entry.index < start]
    inside = [entry for entry in material.entries if entry.index >= start]
    if not inside or len(before) <= leading([entry.item for entry in before]):
        return "", 0
    words = transcript(inside[:1]) or transcript(inside[:3])
    return cut(words, Limit("chars", POINT_CHARS), scene.count), len(inside)


def _point(words: str, count: int, seal: str) -> str | None:
    """What tells a writer where its part begins."""
    if not count:
        return None
    return (
        f"The marked point lies before the last {count} messages above; the first of them begins like this "
        f"(a quotation, to find the place by):\n{fence(words, seal)}\n"
        "Report what stands behind the marked point only. What comes before it stays where it is."
    )
