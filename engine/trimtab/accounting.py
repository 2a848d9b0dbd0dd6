"""What the window holds, by category: the same figure that triggers go by, shared out (REFERENCE R40)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .conversation.items import Item, blocks_of
from .conversation.request import Request
from .conversation.view import is_media
from .facts import Facts, text_of
from .policy.evaluation import NoValue
from .policy.scene import Scene
from .policy.stage import Stage
from .policy.values import ConditionReport
from .validity.base import leading_system

if TYPE_CHECKING:
    from .session import Session

UNLISTED = "unlisted"
"""Category of what the API has counted and the request does not hold: system and tools of a session file."""
RESERVE = "reserve"
"""Name of the limit by which a pack says how much of the window it leaves for the answer."""
MEMORY_FACTS = ("memory", "nested_memory")

_BESIDE = {
    "summary": "summaries",
    **dict.fromkeys(("attachment", "reminder", "context", "note"), "attachments"),
}
_BLOCKS = {
    "tool_use": ("messages", "tool_calls"),
    "thinking": ("messages", "thinking"),
    "redacted_thinking": ("messages", "thinking"),
    "image": ("images",),
    "document": ("images",),
}
_ORDER = ("system", "tools", UNLISTED, "memory", "messages", "attachments", "summaries", "images")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One category: its ``tokens``, its ``share`` of the window (0 to 1), how many blocks, and its own parts."""

    name: str
    tokens: int
    share: float
    blocks: int = 0
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Threshold:
    """A token limit that stages compare the request with before it is sent; ``name`` is its expression."""

    name: str
    tokens: float
    stages: tuple[str, ...]
    reached: bool


@dataclass(frozen=True, slots=True)
class Account:
    """What a request holds, in tokens. The parts add up to ``tokens``, which is the figure of every trigger.

    ``reserve`` is kept for the answer, ``free`` what is left, ``over`` how far the two together go beyond the
    window. ``usage``: the figure rests on a usage the API reported; ``measured``: and nothing sent was edited
    since. ``factor`` turns estimates into tokens of this model.
    """

    model: str
    window: float
    window_known: bool
    tokens: int
    parts: tuple[Part, ...]
    reserve: int
    free: int
    over: int
    thresholds: tuple[Threshold, ...]
    usage: bool
    measured: bool
    factor: float

    def part(self, *path: str) -> Part | None:
        """A category by its path: ``part("messages", "tool_results", "Read")``; None if it holds nothing."""
        parts, found = self.parts, None
        for name in path:
            found = next((part for part in parts if part.name == name), None)
            if found is None:
                return None
            parts = found.parts
        return found


def account_of(
    session: Session, request: Request, facts: Facts | None = None, event: str = "before_request"
) -> Account:
    """What the session's view of this request holds, earlier commits applied, before any stage runs.

    Nothing is committed, written or asked of a model; the session is left as it was. Raises ValueError as ``run``.
    """
    with session.scene(request, facts, event) as scene:
        return account(scene, session.engine.pack.stages)


def account(scene: Scene, stages: Sequence[Stage] = ()) -> Account:
    """What the scene's view holds; ``stages`` are those whose thresholds are wanted."""
    estimates, blocks = _estimates(scene)
    tokens = math.floor(scene.tokens)
    shared = _shared(scene, estimates)
    window = scene.policy.window
    whole = window if 0 < window < math.inf else max(tokens, 1)
    parts = _parts(_rounded(shared, tokens), blocks, whole)
    reserve = _reserve(scene)
    left = whole - tokens - reserve if window < math.inf else 0
    return Account(
        model=scene.request.model,
        window=window,
        window_known=scene.policy.window_known,
        tokens=tokens,
        parts=parts,
        reserve=reserve,
        free=max(0, math.floor(left)),
        over=max(0, math.ceil(-left)),
        thresholds=thresholds(scene, stages),
        usage=scene.usage is not None,
        measured=scene.measured,
        factor=scene.factor,
    )


# --- estimates by category


def _estimates(scene: Scene) -> tuple[dict[Path, float], dict[Path, int]]:
    """Estimated tokens and number of blocks by category; the estimates add up to the request's."""
    found: dict[Path, float] = defaultdict(float)
    blocks: dict[Path, int] = defaultdict(int)
    memory = _memory_texts(scene)
    request, measure = scene.request, scene.maker.measure
    if request.system:
        found["system",] += measure(request.system)[1]
        _move_memory(scene, memory, text_of(request.system), ("system",), found, blocks)
    if request.tools:
        found["tools",] += measure(list(request.tools))[1]
        blocks["tools",] += len(request.tools)
    items = scene.view.items
    leading = leading_system(items)
    for index, item in enumerate(items):
        if index < leading:
            found["system",] += item.total
            continue
        beside = _BESIDE.get(item.origin)
        home: Path = (beside, item.origin) if beside == "attachments" else (beside,) if beside else ()
        _share_item(scene, index, item, home, found, blocks)
        if beside == "attachments":
            _move_memory(scene, memory, text_of(item.message.get("content")), home, found, blocks)
    return found, blocks


def _share_item(
    scene: Scene,
    index: int,
    item: Item,
    home: Path,
    found: dict[Path, float],
    blocks: dict[Path, int],
) -> None:
    """Share a message out over its blocks; what frames it goes with the first."""
    frame = item.total - sum(item.tokens)
    spoken: Path = ("messages", item.role if item.role in ("user", "assistant") else "other")
    if not item.tokens:
        found[home or spoken] += frame
    for number, block in enumerate(blocks_of(item.message)):
        kind = block.get("type")
        tokens = item.tokens[number] + (0 if number else frame)
        path = _BLOCKS.get(str(kind)) or home
        if kind == "tool_result" and not home:
            call = scene.view.call_of(index, number)
            path = ("messages", "tool_results", call.name if call is not None else "(no call)")
            inner = block.get("content")
            for part in inner if isinstance(inner, list) else ():
                if is_media(part):
                    cost = min(tokens, scene.maker.media(part))
                    found["images",] += cost
                    blocks["images",] += 1
                    tokens -= cost
        elif not path:
            path = spoken if kind == "text" else ("messages", "other")
        found[path] += tokens
        blocks[path] += 1


def _memory_texts(scene: Scene) -> list[str]:
    """The texts of the memory files the host names."""
    texts: dict[str, None] = {}
    for name in MEMORY_FACTS:
        for record in scene.fact(name) or ():
            text = next((record[key] for key in ("content", "text") if isinstance(record.get(key), str)), "")
            if text.strip():
                texts[text.strip()] = None
    return list(texts)


def _move_memory(
    scene: Scene,
    memory: Iterable[str],
    text: str,
    home: Path,
    found: dict[Path, float],
    blocks: dict[Path, int],
) -> None:
    """What of a text is memory counts as memory, not as what carries it."""
    for one in memory:
        if one in text:
            tokens = min(scene.maker.count(one), found[home])
            found[home] -= tokens
            found["memory",] += tokens
            blocks["memory",] += 1


# --- from estimates to the figure


def _shared(scene: Scene, estimates: Mapping[Path, float]) -> dict[Path, float]:
    """Estimates in tokens of the figure. What the API counted beyond them is its own category where system
    and tools are unknown; else it is the estimate's error, and every part has its share of it.
    """
    tokens = {path: estimate * scene.factor for path, estimate in estimates.items()}
    total = sum(tokens.values())
    rest = scene.tokens - total
    if rest > 0 and not scene.overhead_estimate and not leading_system(scene.view.items):
        return {**tokens, (UNLISTED,): rest}
    scale = scene.tokens / total if total > 0 else 0.0
    return {path: value * scale for path, value in tokens.items()}


def _rounded(values: Mapping[Path, float], total: int) -> dict[Path, int]:
    """Whole numbers that add up to ``total``: the largest remainders are rounded up."""
    whole = {path: math.floor(value) for path, value in values.items()}
    missing = total - sum(whole.values())
    for path in sorted(values, key=lambda path: whole[path] - values[path])[: max(0, missing)]:
        whole[path] += 1
    return whole


def _parts(tokens: Mapping[Path, int], blocks: Mapping[Path, int], window: float) -> tuple[Part, ...]:
    names = dict.fromkeys(path[0] for path in tokens)
    parts = [_part((name,), tokens, blocks, window) for name in sorted(names, key=_ORDER.index)]
    return tuple(part for part in parts if part.tokens or part.blocks)


def _part(place: Path, tokens: Mapping[Path, int], blocks: Mapping[Path, int], window: float) -> Part:
    size = len(place)
    below = [path for path in tokens if path[:size] == place]
    total = sum(tokens[path] for path in below)
    names = dict.fromkeys(path[size] for path in below if len(path) > size)
    inner = [_part((*place, name), tokens, blocks, window) for name in names]
    inner.sort(key=lambda part: (-part.tokens, part.name))
    count = sum(blocks.get(path, 0) for path in below)
    return Part(place[-1], total, total / window, count, tuple(part for part in inner if part.tokens))


def _reserve(scene: Scene) -> int:
    """Tokens kept for the answer: the pack's limit of that name, else what the model's limits leave."""
    policy = scene.policy
    if RESERVE in policy.limits:
        try:
            value = scene.name(RESERVE)
        except NoValue:
            value = 0
        wanted = float(value) if isinstance(value, int | float) else 0.0
    else:
        wanted = policy.window - policy.max_input if policy.max_input < math.inf else policy.max_output
    return round(max(0.0, min(wanted, policy.window))) if wanted < math.inf else 0


# --- thresholds


def thresholds(scene: Scene, stages: Sequence[Stage]) -> tuple[Threshold, ...]:
    """The token limits of stages that may run before a request, smallest first; switched off ones left out."""
    found: dict[tuple[float, str], list[str]] = {}
    for stage in stages:
        if stage.enabled and "before_request" in stage.at:
            for value, name, owner in _of_stage(scene, stage, stage.at["before_request"]):
                owners = found.setdefault((value, name), [])
                if owner not in owners:
                    owners.append(owner)
    return tuple(
        Threshold(name, value, tuple(owners), scene.tokens >= value)
        for (value, name), owners in sorted(found.items())
    )


def _of_stage(scene: Scene, stage: Stage, at: Any) -> Iterator[tuple[float, str, str]]:
    entries: list[ConditionReport] = []
    before = scene.stage
    scene.stage = stage
    try:
        for condition in (at, stage.when):
            if condition is not None:
                entries.extend(condition.test(scene, True).entries)
    finally:
        scene.stage = before
    if any(entry.path.startswith("settings ") and not entry.holds for entry in entries):
        return
    for entry in _leaves(entries):
        if entry.path in ("tokens at_least", "tokens above") and isinstance(entry.limit, int | float):
            yield float(entry.limit), entry.source or f"{entry.limit:,.0f}", stage.id
    for child in stage.children:
        if child.enabled:
            yield from _of_stage(scene, child, None)


def _leaves(entries: Iterable[ConditionReport]) -> Iterator[ConditionReport]:
    """Entries that say when a stage starts; what is inside ``none`` says when it does not."""
    for entry in entries:
        if entry.path == "none":
            continue
        if entry.nested:
            yield from _leaves(entry.nested)
        else:
            yield entry
