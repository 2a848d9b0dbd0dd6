"""Findings about what a stage does to a conversation: nothing, too early, for ever, or to the user's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .context import Context, StageView

RELATIONS = frozenset({"superseded_by", "repeated", "requested", "refused"})
MOST_CALLS = 20
"""Calls of one ladder that are still sensible."""
ASKING = frozenset({"prompt", "notes"})
WORDS_ASIDE = frozenset({"id", "description", "text", "template", "when", "at", "accept", "kind"})
"""Keys that say when and with what words a stage works, not on what."""


def stages_are_not_shadowed(context: Context) -> None:
    """No earlier stage takes all candidates of a later one whenever that is due."""
    alike: dict[str, list[StageView]] = {}
    for stage in context.stages:
        if stage.kind not in ("replace", "drop") or stage.data.get("enabled") is False:
            continue
        earlier_ones = alike.setdefault(_work(stage), [])
        earlier = next((each for each in earlier_ones if _due_whenever(each, stage)), None)
        earlier_ones.append(stage)
        if earlier is not None:
            line = context.resolved.where((*earlier.where, "id")).line
            context.report(
                "shadowed",
                f"`{earlier.id}` (line {line}) takes the same candidates and is due whenever `{stage.id}` is",
                (*stage.where, "id"),
                "remove it, put it first, or narrow the earlier one",
            )


def _work(stage: StageView) -> str:
    """What a stage does with which candidates, where it stands; when and in what words is left out."""
    aside = {key: value for key, value in stage.data.items() if key not in WORDS_ASIDE}
    return json.dumps([stage.parent and stage.parent.where, stage.kind, aside], sort_keys=True)


def _due_whenever(earlier: StageView, later: StageView) -> bool:
    """Whether the earlier of two stages that do the same is due whenever the later one is."""
    if "accept" in earlier.data or not _weaker(earlier.data.get("when"), later.data.get("when")):
        return False
    if later.parent is not None:
        return True
    first, second = (_by_event(stage.at) for stage in (earlier, later))
    return all(event in first and _weaker(first[event], condition) for event, condition in second.items())


def _by_event(at: Any) -> Mapping[str, Any]:
    return at if isinstance(at, Mapping) else dict.fromkeys(at)


def _weaker(one: Any, other: Any) -> bool:
    """Whether a condition holds whenever the other does, as far as its text tells."""
    other = other or {}
    return all(
        key in other and (value == other[key] or _lower(value, other[key]))
        for key, value in (one or {}).items()
    )


def _lower(one: Any, other: Any) -> bool:
    """Whether each bound of one comparison is a plain number that the other's keeps."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    for word, bound in one.items():
        more = other.get(word)
        if not (isinstance(bound, int | float) and isinstance(more, int | float)):
            return False
        if (bound > more) if word in ("at_least", "above") else (bound < more):
            return False
    return True


def results_have_been_read(context: Context) -> None:
    """What `replace` takes of results has an age, a size, a `keep` or a relation."""
    for stage in context.stages:
        select = stage.data.get("select")
        if (
            stage.kind != "replace"
            or not isinstance(select, Mapping)
            or "tool_result" not in select.get("blocks", ())
        ):
            continue
        if {"keep", "once", "pattern", "fit"} & set(stage.data) or _narrows(select):
            continue
        context.report(
            "unread-results",
            f"`{stage.id}` replaces results the model has not read yet",
            (*stage.where, "select"),
            "add keep: {newest: {items: 5}} or age: {rounds: {at_least: 1}}",
            on_key=True,
        )


def _narrows(select: Mapping[str, Any]) -> bool:
    own = {"size", "age", "empty", "error", "matches"} | RELATIONS
    alternatives = select.get("any", ())
    return bool(own & set(select)) or bool(alternatives and all(map(_narrows, alternatives)))


def attachments_end(context: Context) -> None:
    """What `attach` adds to request after request says when it has been told."""
    for stage in context.stages:
        if stage.kind != "attach" or stage.data.get("place", "end") in ("system", "each"):
            continue
        if set(stage.at) <= {"session_start", "manual", "overflow"} or _is_rare(context, stage):
            continue
        for number, entry in enumerate(stage.data.get("from", ())):
            if entry.get("repeat", "always") == "always":
                context.report(
                    "grows-for-ever",
                    f"`{stage.id}` adds this text with every request",
                    (*stage.where, "from", number),
                    "give it repeat: once, changed or delta, or the stage a condition on since or committed",
                )
                break


def _is_rare(context: Context, stage: StageView) -> bool:
    conditions = [stage.data.get("when"), stage.home.data.get("when")]
    return any(map(_names_a_moment, conditions)) or (
        isinstance(stage.at, Mapping) and all(map(_names_a_moment, stage.at.values()))
    )


def _names_a_moment(condition: Any) -> bool:
    """Whether a condition holds only now and then."""
    if not isinstance(condition, Mapping):
        return False
    branches = condition.get("any")
    return bool({"since", "committed", "turn_start", "idle_minutes"} & set(condition)) or bool(
        branches and all(map(_names_a_moment, branches))
    )


def user_words_are_kept(context: Context) -> None:
    """A summary leaves some words of the user: a tail, a part, or a section that is grounded in them."""
    for stage in context.stages:
        data = stage.data
        # A constant text retells nothing, and a template of facts says itself what it keeps.
        if stage.kind != "summarize" or "prompt" not in data or {"keep", "spans"} & set(data):
            continue
        if any(part.get("part") == "messages" for part in data.get("compose", ())):
            continue
        if "user_messages" in (data.get("ground") or {}).get("sections", {}).values():
            continue
        sections = (data.get("expects") or {}).get("sections", ())
        if any("user" in section.casefold() for section in sections):
            continue
        context.report(
            "user-words-lost",
            f"`{stage.id}` keeps no words of the user",
            (*stage.where, "kind"),
            "add keep: {newest: {turns: 1}}, or a part {part: messages, select: {origins: [user]}}",
        )


def ladders_are_short(context: Context) -> None:
    for stage in context.stages:
        ladder = stage.data.get("ladder", ())
        calls = sum(rung.get("times", 1) for rung in ladder if isinstance(rung.get("times", 1), int))
        if calls > MOST_CALLS:
            context.report(
                "long-ladder",
                f"the ladder of `{stage.id}` has {calls} calls of a model; {MOST_CALLS} are many",
                (*stage.where, "ladder"),
                "take larger steps: a larger share, or fewer `times`",
                on_key=True,
            )


def something_needs_no_model(context: Context) -> None:
    """The last child of a `first_of` that works by models works without one, or a later stage does."""
    for number, stage in enumerate(context.stages):
        children = context.children.get(stage.where, ())
        if stage.kind != "first_of" or not children:
            continue
        last = children[-1]
        later = context.stages[number + len(children) + 1 :]
        if _asks(last) and not any(map(_makes_room, later)):
            context.report(
                "needs-a-model",
                f"`{last.id}` is the last resort of `{stage.id}` and needs a model",
                (*last.where, "id"),
                "add a last child without one: a `drop`, or a `summarize` with `template`",
            )


def _asks(stage: StageView) -> bool:
    return stage.kind == "summarize" and bool(ASKING & set(stage.data))


def _makes_room(stage: StageView) -> bool:
    """Whether a stage shortens what is too long without a model."""
    return stage.kind == "drop" or (stage.kind == "summarize" and not _asks(stage))
