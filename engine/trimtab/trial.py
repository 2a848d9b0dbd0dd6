"""A proposal tried out: its edits named, folded over the path, checked, repaired. Nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .conversation.edits import Edit, Insert, Mark, New, Rewrite, Splice, Spot
from .conversation.fold import Builder, Overlay, fold, homes
from .conversation.items import MEDIA, THINK, USE, Item
from .conversation.view import View
from .directives import begins_compacted
from .policy.proposal import Cover, Draft, ViewEdit
from .validity import Place, Profile, Violation, check, check_texts, repair, stale_thinking
from .validity.base import leading_system

PASSES = 2
"""Check and repair at most so often; what is still broken then is refused (ARCHITECTURE §4)."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The last request sent: its items, the digest of its system and tools, the newest commit in it (0: none)."""

    items: Sequence[Item]
    head: str
    upto: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """What every trial of one run shares. ``head`` is the digest of the present system and tools."""

    base: View
    builder: Builder
    profile: Profile
    sent: Sent | None
    head: str
    strip: bool
    new_serial: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Standing:
    """A folded view with what the rules say of it; ``states`` let a later check go on behind an append."""

    overlay: Overlay
    view: View
    violations: tuple[Violation, ...] = ()
    states: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The view that edits would give. ``broken`` are violations they introduce and no rule mends."""

    standing: Standing
    edits: tuple[Edit, ...]
    repairs: tuple[Edit, ...]
    broken: tuple[Violation, ...]
    thinking_loss: int
    mended: tuple[Violation, ...] = ()


def attempt(
    bench: Bench, now: Standing, number: int, edits: Iterable[ViewEdit], closing: bool = False
) -> Trial:
    """Try the edits of commit ``number`` on top of what stands now."""
    named = name(bench, now.overlay, now.view, edits)
    overlay = now.overlay.plus(number, named) if named else now.overlay
    items = fold(bench.base.items, overlay, bench.builder) if named else now.view.items
    changed = _only_texts(now, named, items) if named and not closing and not now.violations else None
    if changed is not None:
        view = now.view.alike(items)
        broken = check_texts(items, changed, bench.profile)
        if not broken and not stale(bench, view):
            return Trial(Standing(overlay, view, now.violations, now.states), named, (), (), 0)
    view = View(items) if named else now.view
    inherited = {_key(now.view, violation) for violation in now.violations}
    repairs: list[Edit] = []
    lost = 0
    mended: list[Violation] = []
    for left in reversed(range(PASSES + 1)):
        stripped = stale(bench, view)
        if stripped:
            lost += len(stripped)
            overlay, view = _further(bench, overlay, number, repairs, (Rewrite(stripped, Mark.REMOVE),))
        report = check(view, bench.profile, closing=closing)
        broken = tuple(v for v in report.violations if _key(view, v) not in inherited)
        if not broken or not left:
            break
        mends = repair(view, broken, bench.profile, closing)
        if not mends.edits:
            break
        mended.extend(mends.remarks)
        overlay, view = _further(bench, overlay, number, repairs, name(bench, overlay, view, mends.edits))
    standing = Standing(overlay, view, report.violations, report.states)
    return Trial(standing, named, tuple(repairs), broken, lost, tuple(mended))


def attempt_each(bench: Bench, now: Standing, number: int, covers: Sequence[Cover]) -> list[Trial]:
    """Each cover as a commit of its own, numbered from ``number``; they may not overlap.

    It ends before the first that breaks a rule; if that is the very first, its trial is all there is.
    """
    view = now.view
    ends = [(view.items[cover.start].serial, view.items[cover.stop - 1].serial) for cover in covers]
    trials: list[Trial] = []
    for cover, (first, last) in zip(covers, ends, strict=True):
        start, stop = now.view.index_of(first), now.view.index_of(last)
        if start is None or stop is None:
            break
        trial = attempt(bench, now, number + len(trials), [Cover(start, stop + 1, cover.drafts)])
        if trial.broken:
            return trials or [trial]
        trials.append(trial)
        now = trial.standing
    return trials


def together(trials: Sequence[Trial]) -> Trial:
    """Trials that follow one another, as one."""
    if len(trials) == 1:
        return trials[0]
    return Trial(
        trials[-1].standing,
        tuple([edit for trial in trials for edit in trial.edits]),
        tuple([edit for trial in trials for edit in trial.repairs]),
        trials[-1].broken,
        sum([trial.thinking_loss for trial in trials]),
    )


def _further(
    bench: Bench, overlay: Overlay, number: int, repairs: list[Edit], edits: tuple[Edit, ...]
) -> tuple[Overlay, View]:
    """With repairs on top: of the same commit, and of the view they give."""
    repairs.extend(edits)
    overlay = overlay.plus(number, edits)
    return overlay, View(fold(bench.base.items, overlay, bench.builder))


TEXTS = frozenset({"content", "text"})


def _only_texts(now: Standing, named: Sequence[Edit], items: Sequence[Item]) -> list[int] | None:
    """Indexes of the changed items, if only the words of results and texts differ from what stands now; else None.

    Which calls, results, images and cache marks stand where is then as before, and with it what the rules said.
    """
    for edit in named:
        if not isinstance(edit, Rewrite) or not isinstance(edit.set, Mapping) or not edit.set.keys() <= TEXTS:
            return None
    old = now.view.items
    if len(old) != len(items):
        return None
    changed = [index for index, (one, other) in enumerate(zip(old, items, strict=True)) if one is not other]
    for index in changed:
        one, other = old[index], items[index]
        if one.mask != other.mask or one.mask & (USE | MEDIA) or one.serial != other.serial:
            return None
        if one.results != other.results or one.numbers != other.numbers or len(one.chars) != len(other.chars):
            return None
    return changed


def stale(bench: Bench, view: View) -> tuple[Spot, ...]:
    """Signed thinking that an edit before it has made worthless (model class ``bound``)."""
    if not bench.strip or bench.profile.thinking != "bound":
        return ()
    if not any(item.mask & THINK for item in view.items):
        return ()
    sent = bench.base.items if bench.sent is None else bench.sent.items
    changed_head = bench.sent is not None and bench.sent.head != bench.head
    if not changed_head:
        sent = _behind_compaction(sent, view.items)
    return stale_thinking(sent, view.items, bench.profile.thinking, head_changed=changed_head)


def _behind_compaction(sent: Sequence[Item], items: Sequence[Item]) -> Sequence[Item]:
    """What was sent, as the API takes it behind its own compaction: the block has the signatures of what it covers."""
    lead = leading_system(items)
    if lead + 1 >= len(items) or not begins_compacted(items[lead]):
        return sent
    serials = [item.serial for item in sent]
    if items[lead].serial in serials or items[lead + 1].serial not in serials:
        return sent
    return [*items[: lead + 1], *sent[serials.index(items[lead + 1].serial) :]]


def _key(view: View, violation: Violation) -> tuple[object, ...]:
    """The same violation before and after an edit: positions move, serials stay."""
    items = view.items
    serial = items[violation.index].serial if 0 <= violation.index < len(items) else -1
    return violation.rule, serial, violation.block, violation.ids


def name(bench: Bench, overlay: Overlay, view: View, edits: Iterable[ViewEdit]) -> tuple[Edit, ...]:
    """Edits in terms of the view, as edits in terms of serials (ARCHITECTURE §3)."""
    found = tuple(edits)
    if all(isinstance(edit, Rewrite) for edit in found):
        return tuple(edit for edit in found if isinstance(edit, Rewrite))
    namer = _Namer(bench, overlay, view)
    out: list[Edit] = []
    for edit in found:
        if isinstance(edit, Rewrite):
            out.append(edit)
        elif isinstance(edit, Cover):
            out.extend(namer.cover(edit))
        else:
            out.append(namer.place(edit))
    return tuple(out)


class _Namer:
    """Which run of the path a view item stands for, and what follows from it for ranges."""

    def __init__(self, bench: Bench, overlay: Overlay, view: View) -> None:
        self.bench = bench
        self.view = view
        self.base = bench.base
        self.homes = homes(bench.base.items, overlay)
        self.spliced: dict[int, tuple[int, ...]] = {}
        for _, splice in overlay.splices:
            family = tuple(new.serial for new in splice.items)
            for serial in family:
                self.spliced[serial] = family

    def home(self, item: Item) -> tuple[int, int]:
        """First and last path position the item stands for; (-1, -1) before the first."""
        place = self.base.index_of(item.serial)
        if place is not None:
            return place, place
        return self.homes.get(item.serial, (-1, -1))

    def place(self, edit: Place) -> Insert:
        last = self.home(self.view.items[edit.after_index])[1] if edit.after_index >= 0 else -1
        after = self.base.items[last].serial if last >= 0 else 0
        return Insert(after, (self.bring(Draft(edit.message, edit.origin)),))

    def bring(self, draft: Draft) -> New:
        return New(self.bench.new_serial(), draft.message, draft.origin)

    def cover(self, edit: Cover) -> list[Edit]:
        chosen = self.view.items[edit.start : edit.stop]
        inside = {item.serial for item in chosen}
        whole: list[Item] = []
        loose: list[Item] = []
        for item in chosen:
            brought = item.serial in self.spliced and self._complete(item, inside)
            if brought or self.base.index_of(item.serial) is not None:
                whole.append(item)
            else:
                loose.append(item)
        items = tuple(self.bring(draft) for draft in edit.drafts)
        if not whole:
            out: list[Edit] = [self._remove(item) for item in loose]
            if items:
                last = self.home(chosen[-1])[1] if chosen else -1
                out.append(Insert(self.base.items[last].serial if last >= 0 else 0, items))
            return out
        first = min(self.home(item)[0] for item in whole)
        last = max(self.home(item)[1] for item in whole)
        covers = tuple(item.serial for item in self.base.items[first : last + 1])
        items += self._trailing(edit.stop, first, last)
        # Inserts that trail a covered message go with it; others of the range have to be taken out one by one.
        outside = [
            item for item in loose if not first <= self.home(item)[1] <= last or item.serial in self.spliced
        ]
        return [Splice(covers, items), *(self._remove(item) for item in outside)]

    def _trailing(self, stop: int, first: int, last: int) -> tuple[New, ...]:
        """Copies of what trails the covered messages but was not chosen: the splice would swallow it."""
        kept: list[New] = []
        for item in self.view.items[stop:]:
            brought = self.base.index_of(item.serial) is None and item.serial not in self.spliced
            if not brought or not first <= self.home(item)[1] <= last:
                break
            kept.append(self.bring(Draft(item.message, item.origin)))
        return tuple(kept)

    def _complete(self, item: Item, inside: set[int]) -> bool:
        """Whether all shown messages of the splice that brought this one are chosen, too."""
        return all(
            serial in inside or self.view.index_of(serial) is None for serial in self.spliced[item.serial]
        )

    def _remove(self, item: Item) -> Rewrite:
        numbers = item.numbers if item.numbers is not None else range(len(item.chars))
        return Rewrite(tuple(Spot(item.serial, number) for number in numbers), Mark.REMOVE)
