"""``trimtab summarize``: one summary of a session with its prompt, its answer and what the gate makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import exits
from .subject import Subject, Wish, prepare, say_warnings, subject_options

if TYPE_CHECKING:
    from ..one_summary import OneSummary
    from ..policy.stage import Stage

VARIANTS = "whole, from:ID or up-to:ID"


@click.command("summarize", short_help="Write one summary, and commit nothing.")
@subject_options(
    "pack", "values", "now", "summarizer", "redactor", "folder", "history", "roots", json="All of it as JSON."
)
@click.option(
    "--model", "-m", metavar="MODEL", help="The model that writes. Default: those the stage names, in order."
)
@click.option(
    "--variant",
    metavar="WHICH",
    default="whole",
    show_default=True,
    help=f"{VARIANTS}; ID is a message's serial or its id in the file.",
)
@click.option("--stage", metavar="ID", help="Default: the pack's first stage that has a model write.")
@click.option("--instructions", metavar="TEXT", help="Wishes for this one summary, added to the prompt.")
@click.option("--show-prompt", is_flag=True, help="The prompt in full.")
def command(
    as_json: bool,
    model: str | None,
    variant: str,
    stage: str | None,
    instructions: str | None,
    show_prompt: bool,
    **options: Any,
) -> int:
    """One summary of SESSION: the prompt sent, the answer, each check of the gate, what was grounded, the cost.

    The stage runs alone and as if it were asked for, whatever its conditions say. With --dir earlier commits
    count. Nothing is committed or stored, and nobody is asked unless --summarizer says so.

    Exit codes: 0 a summary was accepted, 1 it was refused or failed, 2 wrong usage, 5 nobody was asked.
    """
    from ..one_summary import summarize_once
    from ..outputs.progress import progress

    point = _point(variant)
    wish = Wish(**options, model=None, event="manual", fallback_model=model)
    with progress(3) as step:
        subject = prepare(wish, step)
        chosen = _stage(subject, stage)
        asked = replace(subject.facts.request, instructions=instructions, **point)
        step(f"writing with {chosen.id}")
        found = summarize_once(
            subject.engine,
            chosen,
            subject.request,
            replace(subject.facts, request=asked),
            model=model,
            records=_records(wish.folder),
        )
    say_warnings(subject.warnings)
    if any(repr(name) in str(found.report.reason) for name in point.values()):
        raise click.BadParameter(f"{found.report.reason}", param_hint="'--variant'")
    if as_json:
        from ..outputs.as_json import dumps
        from ..outputs.summary import as_data

        click.echo(dumps({**as_data(found, subject.engine, show_prompt), "session": subject.about()}))
    else:
        from ..outputs.console import console
        from ..outputs.summary import show_summary

        show_summary(found, subject.engine, console(), show_prompt)
    return _code(found, wish)


def _point(variant: str) -> dict[str, str]:
    """The place a variant names, as a manual request has it."""
    kind, _, name = variant.partition(":")
    if variant == "whole":
        return {}
    if kind in ("from", "up-to", "up_to") and name.strip():
        return {"from_" if kind == "from" else "up_to": name.strip()}
    raise click.BadParameter(f"'{variant}' is none of {VARIANTS}", param_hint="'--variant'")


def _stage(subject: Subject, name: str | None) -> Stage:
    from ..one_summary import summary_stages

    pack = subject.engine.pack
    known = summary_stages(pack)
    if not known:
        raise click.UsageError(f"the pack {pack.name} has no stage of the kind summarize")
    if name is None:
        return known[0]
    for one in known:
        if one.id == name:
            return one
    from ..packs.problems import near_or_all

    what = "is no summarize" if pack.stage(name) is not None else "does not exist"
    raise click.BadParameter(
        f"the stage '{name}' {what}: {near_or_all(name, [one.id for one in known])}", param_hint="'--stage'"
    )


def _records(folder: str | None) -> Any:
    """What a session directory has on record; nothing where there is none yet."""
    from ..journal import NAME, DiskJournal

    if folder is None or not (Path(folder) / NAME).exists():
        return ()
    return DiskJournal.read(folder).records()


def _code(found: OneSummary, wish: Wish) -> int:
    verdict = found.report.verdict
    if verdict == "committed":
        return exits.FINE
    nobody = wish.summarizer == "none" and bool(found.exchanges)
    return exits.NOTHING_RAN if nobody or verdict == "nothing" else exits.PROBLEMS
