"""All that a metric, a condition, a selector or a kind may look at in one run; read-only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..conversation.fold import Overlay
from ..conversation.items import Item, ItemMaker, blocks_of
from ..conversation.request import Info, Request
from ..conversation.view import View, deleted_in
from ..facts import MENTIONS, Facts, mentioned
from ..tokens.figure import Anchor, figure
from ..tokens.models import Model
from .contents import texts
from .evaluation import NeedsTool, NoValue
from .expressions import MAX_NUMBER
from .hiding import unsaid
from .history import HOOK_RESULTS
from .past import Past
from .refusals import Refusal
from .stage import Stage

if TYPE_CHECKING:
    from ..conversation.view import Call
    from ..facts import FactBook
    from ..matching import Categories
    from ..templating import Renderer
    from .expressions import Quantity
    from .protection import Protection


@dataclass(frozen=True, slots=True)
class Policy:
    """What the pack says beyond its stages, resolved for one model: names are looked up in this order."""

    settings: Mapping[str, bool | float | str]
    limits: Mapping[str, Quantity]
    categories: Categories
    window: float
    max_output: float
    max_input: float
    window_known: bool


@dataclass(frozen=True, slots=True)
class UsageThen:
    """A reported usage and what it measured: the items and the overhead of that request."""

    prompt: int
    items: Sequence[Item]
    estimate: float
    after_last_edit: bool


@dataclass(slots=True)
class Proposed:
    """A proposal's measure against the view it was made for; what ``accept`` may ask."""

    freed_tokens: float
    freed_bytes: float
    freed_share: float
    items: int
    cache_loss_tokens: float
    thinking_loss: int


@dataclass
class Scene:
    """One view in one run. The interpreter sets ``stage``, ``chosen``, ``failure`` and ``proposal`` as it goes on.

    ``ceilings``: triggers and sizes from which stages of this run brought the view down.
    """

    event: str
    request: Request
    facts: Facts
    policy: Policy
    model: Model
    view: View
    base: View
    overlay: Overlay
    history: Past
    book: FactBook
    infos: Mapping[int, Info]
    maker: ItemMaker
    templates: Renderer
    overhead_estimate: float
    factor: float
    usage: UsageThen | None
    protect: Callable[[Scene], Protection]
    cut_places: Callable[[View], bytearray]
    policy_of: Callable[[str], Policy]
    refusal: Refusal | None = None
    refused_tokens: float | None = None
    ceilings: Sequence[tuple[float, float]] = ()
    stage: Stage = field(default_factory=lambda: Stage("", ""))
    chosen: Any = None
    failure: str | None = None
    proposal: Proposed | None = None
    _names: dict[str, float | bool | str] = field(default_factory=dict)
    _tokens: float | None = None

    # --- numbers

    @property
    def tokens(self) -> float:
        """The token figure of the view's request, system and tools included (ARCHITECTURE §8)."""
        if self._tokens is None:
            self._tokens = self.figure_of(self.view)
        return self._tokens

    def figure_of(self, view: View) -> float:
        """The token figure of another view in this run."""
        now = self.overhead_estimate + view.tokens - view.deleted_tokens
        then = self.usage
        anchor = None
        if then is not None:
            anchor = Anchor(then.prompt, then.estimate, kept_of(then, view, self.overhead_estimate))
        return figure(now, anchor, self.factor)

    @property
    def beyond_estimate(self) -> float:
        """Of ``tokens``, what the usage measured beyond the estimate; never negative."""
        now = self.overhead_estimate + self.view.tokens - self.view.deleted_tokens
        return max(0.0, self.tokens - self.factor * now)

    @property
    def ceiling(self) -> float | None:
        """Tokens below which the view must stay in this run, after what was freed; None: nothing was."""
        return min(
            (limit if self.tokens < limit else before for limit, before in self.ceilings), default=None
        )

    @property
    def overhead(self) -> float:
        """Tokens of system and tools; a known factor makes them comparable with the figure."""
        return self.tokens_of(self.overhead_estimate)

    @property
    def measured(self) -> bool:
        """Whether the figure rests on a usage reported after the last edit of what was already sent."""
        return self.usage is not None and self.usage.after_last_edit

    @property
    def bytes(self) -> int:
        """About how many bytes the request has: characters and framing, encoded media in full."""
        return self.view.bytes + int(self.overhead_estimate * 4)

    # --- names

    def name(self, name: str) -> float | bool | str:
        """Value of a setting, limit, metric or reserved name. Raises NoValue where it has none."""
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._look_up(name)
        return known

    def _look_up(self, name: str) -> float | bool | str:
        policy = self.policy
        if name in policy.settings:
            return policy.settings[name]
        if name in policy.limits:
            return policy.limits[name].value(self.name)
        if name == "tool_limit":
            raise NeedsTool("`tool_limit` is known only where one tool's result is judged")
        reserved = RESERVED_VALUES.get(name)
        if reserved is not None:
            return reserved(self)
        value = self.metric(name)
        if value is None:
            raise NoValue(f"`{name}` is unknown here")
        return value

    def name_for(self, tool: str | None) -> Callable[[str], float | bool | str]:
        """``name`` with ``tool_limit`` bound to the characters this tool declares for its results."""
        bound = self.tool_limit(tool)
        own: dict[str, float | bool | str] = {}

        def look_up(name: str) -> float | bool | str:
            if name == "tool_limit":
                return bound
            if name in own:
                return own[name]
            limit = self.policy.limits.get(name)
            value = limit.value(look_up) if limit is not None else self.name(name)
            own[name] = value
            return value

        return look_up

    def tool_limit(self, tool: str | None) -> float:
        """Characters a tool declares for its own results (``max_result_chars``); unlimited if it says nothing."""
        tools = self.request.tools
        for declared in tools if isinstance(tools, list | tuple) else ():
            if isinstance(declared, Mapping) and declared.get("name") == tool:
                value = declared.get("max_result_chars")
                if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                    return float(min(value, MAX_NUMBER))
        return math.inf

    def metric(self, name: str) -> float | str | bool | None:
        """A metric of LANGUAGE §7; None where it is unknown. Raises NoValue for a name that is none."""
        from .metrics import METRICS  # the metrics read scenes: imported when asked, not in a circle

        metric = METRICS.get(name)
        if metric is None:
            raise NoValue(f"`{name}` is no setting, limit or metric")
        return metric.read(self)

    def limits(self) -> dict[str, float | None]:
        """Every limit's present value; None where it has none."""
        out: dict[str, float | None] = {}
        for name in self.policy.limits:
            try:
                value = self.name(name)
            except NoValue:
                out[name] = None
            else:
                out[name] = value if isinstance(value, int | float) else None
        return out

    @property
    def overflow_tokens(self) -> float:
        """The smallest request this model has refused as too long in this session, the present one included."""
        known = self.history.history.overflow_tokens(self.request.model)
        return min((size for size in (known, self.refused_tokens) if size is not None), default=math.inf)

    @property
    def settings(self) -> Mapping[str, bool | float | str]:
        return self.policy.settings

    @property
    def categories(self) -> Categories:
        return self.policy.categories

    @property
    def error(self) -> str | None:
        """The class of the API's error, at ``overflow``."""
        return self.refusal.kind if self.refusal is not None and self.event == "overflow" else None

    # --- messages and facts

    def count(self, text: str) -> int:
        """Tokens of a text by itself, in the unit of ``tokens``."""
        return round(self.tokens_of(self.maker.count(text)))

    def tokens_of(self, estimate: float) -> float:
        """Tokens, in the unit of ``tokens``, of what the counter estimates at so many: a text, a block, a message.

        The one place where an estimate becomes what a pack's quantities of tokens are compared with. A usage has no
        say in it: that may hold a system prompt and tools nobody showed us, which no message is to answer for.
        """
        return self.factor * estimate

    def files_of(self, call: Call) -> Sequence[Mapping[str, Any]]:
        """Records of the fact ``files`` that this call gives."""
        return self.book.of_call("files", call.name, call.input)

    def paths_of(self, call: Call) -> Sequence[str]:
        """The paths a call names."""
        found = (record.get("path") for record in self.files_of(call))
        return [path for path in found if isinstance(path, str)]

    def info(self, serial: int) -> Info | None:
        """What the host knows of a message."""
        return self.infos.get(serial)

    def at(self, serial: int) -> float | None:
        """Time of a message in seconds since 1970, if the host gave one."""
        info = self.infos.get(serial)
        return info.at if info is not None else None

    def fact(self, name: str) -> list[Mapping[str, Any]] | None:
        """Records of a fact, newest last; the host's replace the traffic's; None: nobody knows.

        Of the traffic's nothing is said that a stage has taken out of its message by a pattern.
        """
        given = self.facts.records(name, self.book.main_field(name))
        if given is not None:
            return list(given)
        if name == MENTIONS:
            return self.mentions(self.view.items)
        read = self.book.records(name)
        if read is None and name == HOOK_RESULTS:
            return self.history.hook_results() or None
        return None if read is None else unsaid(self, read)

    def mentions(self, items: Iterable[Item]) -> list[Mapping[str, Any]]:
        """The files these messages name, without those of the fact ``files``; in the order of ``mentioned``."""
        used = [path for one in self.fact("files") or () if isinstance(path := one.get("path"), str)]
        said = (
            (item.serial, (text for block in blocks_of(item.message) for text in texts(block)))
            for item in items
        )
        return list(mentioned(said, used))

    def protection(self) -> Protection:
        """What the present stage may not choose."""
        return self.protect(self)

    def cuts(self) -> bytearray:
        """Of each place of the view, whether a change may begin or end there."""
        return self.cut_places(self.view)

    def with_history(self, history: Past) -> Scene:
        """The same scene with another past."""
        return replace(self, history=history)

    def snapshot(self, book: FactBook) -> Scene:
        """A scene that stays as it is while the session goes on; ``book`` must be one nobody else reads."""
        base = View(self.base.items)
        return replace(
            self,
            view=View(self.view.items),
            base=base,
            history=self.history.snapshot(base),
            book=book,
            infos=dict(self.infos),
            ceilings=tuple(self.ceilings),
            chosen=None,
            _names=dict(self._names),
        )

    def last_response_at(self) -> float | None:
        """Time of the newest assistant message of the transcript, if it has one."""
        for item in reversed(self.base.items):
            if item.role == "assistant":
                return self.at(item.serial)
        return None


RESERVED_VALUES: Mapping[str, Callable[[Scene], float | bool]] = {
    "window": lambda scene: scene.policy.window,
    "max_output": lambda scene: scene.policy.max_output,
    "max_input": lambda scene: scene.policy.max_input,
    "window_known": lambda scene: scene.policy.window_known,
    "unlimited": lambda scene: math.inf,
    "overflow_tokens": lambda scene: scene.overflow_tokens,
}


def kept_of(then: UsageThen, view: View, overhead: float) -> float:
    """Estimate of what of a measured request still stands unchanged in the view: ``overhead``, and the messages.

    What stays is added up, not what is gone taken off: of a message on a branch that was left, a session that is
    opened anew does not know the size.
    """
    measured = then.items
    deleted = view.deleted_by_serial()
    if not deleted and view.items[: len(measured)] == measured:
        return then.estimate
    before = deleted_in(measured)
    shown = {id(item) for item in view.items}
    stays = [item for item in measured if id(item) in shown]
    gone = [max(before.get(item.serial, 0), deleted.get(item.serial, 0)) for item in stays]
    return max(0.0, overhead + sum([item.total for item in stays]) - sum(gone))
