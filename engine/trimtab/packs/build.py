"""From a checked pack's plain data to stages: the last step, which alone knows the kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..facts import fact_rules
from ..matching import Categories, Globs, PatternError, pattern
from ..policy.conditions import Condition, condition
from ..policy.errors import PolicyError
from ..policy.expressions import ExpressionError, Quantity, quantity
from ..policy.measures import Keep, keep
from ..policy.narrowing import Fit, fit
from ..policy.selection import Selector, selector
from ..policy.stage import Breaker, Kind, Source, Stage
from ..templating import TemplateProblem, Text
from .context import TEMPLATE_CODES, Context, StageView, setting_value
from .pack import Pack
from .problems import INFO

T = TypeVar("T")


class StageMaker:
    """Compiles the values of one stage; what cannot be compiled is reported, and something harmless returned.

    ``stand_in`` replaces templates that are missing, where the caller has said so.
    """

    def __init__(self, context: Context, stage: StageView, stand_in: str | None = None) -> None:
        self.context = context
        self.where = stage.where
        self.stage_id = stage.id
        self.stand_in = stand_in

    def _try(self, make: Callable[[], T], spare: Callable[[], T], where: tuple[str | int, ...]) -> T:
        try:
            return make()
        except PolicyError as error:
            place = (*self.where, *where, *error.where)
            self.context.report(error.code, error.message, place, error.hint, offset=error.offset or None)
        except (ExpressionError, PatternError) as error:
            code = "pattern" if isinstance(error, PatternError) else "expression"
            self.context.report(code, error.message, (*self.where, *where), error.hint, offset=error.offset)
        return spare()

    def quantity(self, raw: int | float | str, *where: str | int) -> Quantity:
        return self._try(lambda: quantity(raw), lambda: quantity(0), where)

    def condition(self, raw: Mapping[str, Any], *where: str | int) -> Condition:
        accept = where[:1] == ("accept",)
        return self._try(lambda: condition(raw, accept=accept), lambda: condition({}), where)

    def selector(self, raw: Mapping[str, Any], *where: str | int) -> Selector:
        return self._try(lambda: selector(raw), lambda: selector({"blocks": ["text"]}), where)

    def keep(self, raw: Any, *where: str | int) -> tuple[Keep, ...]:
        return self._try(lambda: keep(raw), lambda: (), where)

    def fit(self, raw: Mapping[str, Any], *where: str | int) -> Fit:
        return self._try(lambda: fit(raw), lambda: fit({"per": "view", "tokens": 0}), where)

    def pattern(self, raw: str, *where: str | int) -> re.Pattern[str]:
        return self._try(lambda: pattern(raw), lambda: re.compile(r"(?!)"), where)

    def text(self, raw: Mapping[str, Any], *where: str | int) -> Text | None:
        """The value's `text` or `template`; None if it has neither."""
        if "template" in raw:
            return self.template(raw["template"], *where, "template")
        if "text" not in raw:
            return None
        place = (*self.where, *where, "text")
        try:
            return self.context.inline(place, raw["text"])
        except TemplateProblem as error:
            pos = self.context.resolved.where(place).down(error.line - self.context.lines_before(place))
            self.context.report("template-syntax", error.message, pos, error.hint)
            return self.context.renderer.text("")

    def template(self, name: str, *where: str | int) -> Text:
        try:
            return self.context.renderer.template(name)
        except TemplateProblem as error:
            if error.code == "missing" and self.stand_in is not None:
                return self.context.renderer.text(self.stand_in, name)
            code = TEMPLATE_CODES.get(error.code, "template-syntax")
            self.context.report(code, error.message, (*self.where, *where), error.hint)
            return self.context.renderer.text("")

    def problem(self, message: str, *where: str | int, code: str = "value", hint: str = "") -> None:
        self.context.report(code, message, (*self.where, *where), hint)


def build(context: Context, kinds: Mapping[str, type[Kind]], stand_in: str | None = None) -> Pack:
    """The compiled pack; what is found on the way is reported to ``context``. Its shapes must be sound."""
    data = context.data
    top = [stage for stage in context.stages if stage.parent is None]
    models = tuple(
        (glob, {name: _model_value(context, name, value) for name, value in entry.items()})
        for glob, entry in context.section("models").items()
    )
    return Pack(
        name=data["name"],
        version=data["version"],
        description=data.get("description", ""),
        path=context.resolved.name,
        settings=context.settings,
        models=models,
        limits=context.limits,
        categories=Categories(context.section("tools")),
        facts=fact_rules(context.section("facts")),
        api_errors={name: Globs(globs) for name, globs in context.section("api_errors").items()},
        stages=tuple(_stage(context, each, kinds, stand_in) for each in top),
        folders=context.resolved.folders,
        renderer=context.renderer,
        origin=_source(context, ()),
    )


def _model_value(context: Context, name: str, value: Any) -> bool | float | str:
    return value if isinstance(context.settings.get(name), str) else setting_value(value)


def _source(context: Context, where: tuple[str | int, ...]) -> Source:
    pos = context.resolved.where(where)
    return Source(pos.file, pos.line, pos.column)


def _stage(
    context: Context, stage: StageView, kinds: Mapping[str, type[Kind]], stand_in: str | None
) -> Stage:
    raw = stage.data
    make = StageMaker(context, stage, stand_in)
    kind = kinds.get(stage.kind)
    if kind is None:
        context.report(
            "kind-not-available",
            f"a {stage.kind} stage is checked but not run by this engine: `{stage.id}` will be skipped",
            (*stage.where, "kind"),
            "nothing needs to be changed",
            severity=INFO,
        )
    children = context.children.get(stage.where, ())
    breaker = raw.get("breaker")
    return Stage(
        id=stage.id,
        kind=stage.kind,
        params=kind.build(raw, make) if kind is not None else None,
        at=_events(stage, make),
        when=make.condition(raw["when"], "when") if raw.get("when") else None,
        accept=make.condition(raw["accept"], "accept") if raw.get("accept") else None,
        breaker=_breaker(breaker, make) if breaker else None,
        on_failure=raw.get("on_failure", "keep"),
        enabled=raw.get("enabled", True),
        select=make.selector(raw["select"], "select") if "select" in raw else None,
        keep=make.keep(raw["keep"], "keep") if "keep" in raw else (),
        order=raw.get("order", "oldest"),
        fit=make.fit(raw["fit"], "fit") if "fit" in raw else None,
        once=raw.get("once", False),
        cut_at=raw.get("cut_at", "rounds"),
        children=tuple(_stage(context, each, kinds, stand_in) for each in children),
        origin=_source(context, stage.where),
        description=raw.get("description", ""),
    )


def _events(stage: StageView, make: StageMaker) -> Mapping[str, Condition | None]:
    """The stage's events with the condition of each; a child runs at those of its parent, judged there."""
    at = stage.at
    if isinstance(at, list) or stage.parent is not None:
        return dict.fromkeys(at)
    return {event: make.condition(raw, "at", event) if raw else None for event, raw in at.items()}


def _breaker(raw: Mapping[str, Any], make: StageMaker) -> Breaker:
    cool_down = raw.get("cool_down_minutes")
    return Breaker(
        failures=make.quantity(raw["failures"], "breaker", "failures"),
        unless=make.condition(raw["unless"], "breaker", "unless") if "unless" in raw else None,
        cool_down_minutes=make.quantity(cool_down, "breaker", "cool_down_minutes")
        if cool_down is not None
        else None,
    )
