"""``trimtab explain``: what ``run`` would do and why; no model is called, nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import exits
from .subject import Subject, Wish, prepare, say_warnings, subject_options


@click.command("explain", short_help="Say what run would do and why.")
@subject_options()
@click.option("--stage", metavar="ID", help="Only this stage.")
def command(as_json: bool, stage: str | None, **options: Any) -> int:
    """Dry run of a pack on SESSION: every condition with its value, what would go, and why.

    Model calls are stood in for by a text of the declared size and marked as assumed.
    """
    from ..outputs.progress import progress

    wish = Wish(**options)
    with progress(3) as step:
        subject = prepare(wish, step)
        if stage is not None and subject.engine.pack.stage(stage) is None:
            from ..packs.problems import near_or_all

            known = [one.id for one in subject.engine.pack.every_stage()]
            why = f"there is no stage '{stage}': {near_or_all(stage, known)}"
            if stage in subject.engine.pack.limits:
                why = f"'{stage}' is a limit, no stage: explain without --stage says what it is made of"
            raise click.BadParameter(why, param_hint="'--stage'")
        step(f"explaining {subject.engine.pack.label}")
        session = dry_session(subject.engine, wish.folder)
        receipt = session.explain(subject.request, wish.event, subject.facts).receipt
        texts = texts_of(session, subject.request)
    say_warnings(subject.warnings)
    report = None if stage is None else receipt.stage(stage)
    if stage is not None and report is None:
        click.echo(f"stage {stage}: the run does not reach it at {wish.event}")
        return exits.NOTHING_RAN
    _show(subject, receipt, report, texts, as_json)
    return exits.receipt_code(receipt, len(subject.warnings), wish.strict)


def _show(subject: Subject, receipt: Any, report: Any, texts: Any, as_json: bool) -> None:
    if not as_json:
        from ..outputs.console import console
        from ..outputs.explanation import show_explanation
        from ..testing.wording import limit_words

        pack = subject.engine.pack
        limits = {name: limit_words(name, quantity, receipt) for name, quantity in pack.limits.items()}
        show_explanation(receipt, console(), texts, None if report is None else [report], limits)
        return
    from ..outputs.as_json import dumps

    data = receipt.as_dict()
    if report is not None:
        data["stages"] = [one for one in _all(data["stages"]) if one["id"] == report.id]
    named = {
        f"{spot.serial}:{spot.block}": text
        for one in ([report] if report else receipt.stages)
        for spot, text in texts.items()
        if spot in one.spots or spot.serial in one.messages
    }
    click.echo(dumps({**data, "session": subject.about(), "texts": named}))


def _all(stages: Any) -> Any:
    for one in stages:
        yield one
        yield from _all(one.get("children", ()))


def dry_session(engine: Any, folder: str | None) -> Any:
    """A session that writes nothing: on the journal in ``folder`` if there is one, else in memory."""
    from ..journal import NAME, DiskJournal
    from ..session import Session

    if folder is None or not (Path(folder) / NAME).exists():
        return engine.session()
    journal = DiskJournal.read(folder)
    return Session(engine, journal)


def texts_of(session: Any, request: Any) -> dict[Any, str]:
    """A line for each block of the transcript and of what earlier commits brought in, by spot."""
    from ..conversation.edits import Spot
    from ..conversation.items import blocks_of
    from ..outputs.blocks import line_of

    track = session.track
    saved = track.save()
    try:
        track.observe(request)
        shown = [(item.serial, item.message) for item in (*track.base.items, *track.standing.view.items)]
    finally:
        track.restore(saved)
        session.staging.forget()
    found: dict[Any, str] = {}
    for serial, message in shown:
        role = str(message.get("role", ""))
        for number, block in enumerate(blocks_of(message)):
            found.setdefault(Spot(serial, number), line_of(block, role))
    return found
