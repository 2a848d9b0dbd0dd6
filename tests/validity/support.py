"""What the tests of the rules share: views of plain messages, and repairs carried out by the real fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trimtab.conversation.edits import Commit, Edit, Insert, New
from trimtab.conversation.fold import ItemBuilder, Overlay, fold
from trimtab.conversation.items import Item, ItemMaker
from trimtab.conversation.view import View
from trimtab.validity import Place, Profile, Report, check, repair
from trimtab.validity.profiles.anthropic import Capabilities, anthropic

Message = dict[str, Any]

MAKER = ItemMaker(count=lambda text: (len(text) + 3) // 4, media=lambda block: 1600)
BOUND = anthropic(Capabilities())
SYSTEM = anthropic(Capabilities(system_messages=True))
MANUAL = anthropic(Capabilities(thinking="manual", prefill=True))


def view_of(messages: Iterable[Message]) -> View:
    """A view in which the message at index i has the serial i + 1."""
    return View(MAKER.make(number, message)[0] for number, message in enumerate(messages, 1))


def carried_out(items: Sequence[Item], edits: Iterable[Any]) -> list[Item]:
    """The items with repairs folded in, as a commit would show them."""
    taken = max([0, *(item.serial for item in items)])
    real: list[Edit] = []
    for edit in edits:
        if isinstance(edit, Place):
            taken += 1
            after = items[edit.after_index].serial if edit.after_index >= 0 else 0
            real.append(Insert(after, (New(taken, edit.message, edit.origin),)))
        else:
            real.append(edit)
    commit = Commit(id="c1", stage="input", run=1, edits=(), repairs=tuple(real))
    return fold(items, Overlay.of([commit]), ItemBuilder(MAKER))


def mended(messages: Sequence[Message], profile: Profile = BOUND) -> tuple[list[Message], Report]:
    """The messages after one repair, and what a check of them still finds."""
    view = view_of(messages)
    edits = repair(view, check(view, profile).violations, profile).edits
    after = View(carried_out(view.items, edits))
    return [dict(item.message) for item in after.items], check(after, profile)


def rules_of(report: Report) -> list[str]:
    return [violation.rule for violation in report.violations]


def _content(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 and isinstance(given[0], str) else list(given)


def user(*content: Any) -> Message:
    return {"role": "user", "content": _content(content)}


def assistant(*content: Any) -> Message:
    return {"role": "assistant", "content": _content(content)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(name: str, tool: str = "Read", /, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def thinking(words: str = "hm", signature: str = "signed") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}
