"""``trimtab diff``: two packs compared, in what they say and in what they do to sessions."""

from __future__ import annotations

from typing import Any

import click

from . import exits
from .subject import Wish, prepare, say_warnings, session_options


@click.command("diff", short_help="Compare two packs.")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--on", "sessions", metavar="SESSION", multiple=True, help="Run both on it, dry. Repeatable.")
@session_options("model", "values", "event", "now", "summarizer", "history", json="As JSON.")
def command(one: str, other: str, sessions: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Compare the packs A and B (names or paths) with all they extend worked in: settings, limits, tools,
    facts, stages by id, templates; each value with its place.

    With --on both are run dry on a session: which verdicts and messages differ, tokens, and the cost of the
    next call, with what a warm prompt cache loses. The options below are of these runs. Exit code 0: no
    difference; 1: there is one, or a pack has errors.
    """
    from ..comparing import compare
    from ..outputs.progress import progress
    from ..packs.difference import differences
    from ..packs.load import check
    from ..packs.problems import PackError

    reports = [check(name) for name in (one, other)]
    broken = [problem for report in reports if not report.ok for problem in report.problems]
    first, second = (report.resolved for report in reports)
    if broken or first is None or second is None:
        raise PackError(broken)
    found = differences(first, second)
    effects, warnings = [], []
    with progress(6 * len(sessions)) as step:
        for session in sessions:
            left, right = (
                prepare(Wish(session, pack, folder=None, **options), step) for pack in (one, other)
            )
            step(f"running both on {session}")
            facts = (left.facts, right.facts)
            effects.append(compare(left.engine, right.engine, left.request, options["event"], facts))
            warnings += [*left.warnings, *right.warnings]
    say_warnings(list(dict.fromkeys(warnings)))
    labels = [f"{each.data['name']}@{each.data['version']}" for each in (first, second)]
    if as_json:
        from ..outputs.as_json import dumps
        from ..outputs.difference import difference_dict, effect_dict

        data = {
            "before": {"pack": labels[0], "file": first.name},
            "after": {"pack": labels[1], "file": second.name},
            "differences": [difference_dict(each) for each in found],
            "sessions": [
                {"session": session, "event": options["event"], **effect_dict(effect)}
                for session, effect in zip(sessions, effects, strict=True)
            ],
        }
        click.echo(dumps(data))
    else:
        from ..outputs.console import console
        from ..outputs.difference import show_differences, show_effect

        out = console()
        show_differences(found, (labels[0], labels[1]), out)
        for session, effect in zip(sessions, effects, strict=True):
            show_effect(effect, f"{session} · {options['event']}", out)
    return exits.PROBLEMS if found or any(effect.differs for effect in effects) else exits.FINE
