"""What ``run`` and ``explain`` have in common: a session file, a pack, and how they meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from ..policy.stage import EVENTS
from ..readers import NO_MODEL, READERS
from .values import wrong

F = TypeVar("F", bound=Callable[..., Any])

OVERFLOW_CLASS = "prompt_too_long"
"""What an ``overflow`` run of a file assumes of the API's refusal: the file does not hold it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The options as given."""

    session: str
    pack: str
    model: str | None
    values: tuple[str, ...]
    now: str | None
    folder: str | None
    history: bool
    event: str = "before_request"
    summarizer: str = "none"
    strict: bool = False
    roots: tuple[str, ...] = ()
    session_format: str | None = None
    redactor: str = "patterns"
    fallback_model: str | None = None
    """The session's model, where the file does not say."""


def _preset(*names: str, default: str, help: str, **rest: Any) -> Callable[[Any], Any]:
    """An option that has a value unless another is given; the help shows it."""
    return click.option(*names, default=default, show_default=True, help=help, **rest)


def _repeatable(*names: str, metavar: str, help: str) -> Callable[[Any], Any]:
    return click.option(*names, metavar=metavar, multiple=True, help=f"{help} Repeatable.")


_SESSION = click.argument("session", metavar="SESSION")
_OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "pack": _preset("--pack", "-p", metavar="PACK", default="claude-code", help="Name or path."),
    "model": click.option("--model", "-m", metavar="MODEL", help="Default: the session's own."),
    "values": _repeatable(
        "--set",
        "values",
        metavar="NAME=VALUE",
        help="A setting, window, max_output, max_input, or a dotted place (limits.auto).",
    ),
    "event": _preset("--at", "event", type=click.Choice(EVENTS), default="before_request", help="Event."),
    "now": click.option(
        "--now",
        metavar="TIME",
        help="ISO 8601 or seconds since 1970. Default: the session's newest time.",
    ),
    "summarizer": _preset(
        "--summarizer",
        "-s",
        metavar="WHO",
        default="none",
        help="none, anthropic, openai:MODEL@URL, command:PROGRAM… or canned:FILE.",
    ),
    "redactor": _preset(
        "--redactor",
        metavar="WHO",
        default="patterns",
        help="Takes secrets out of what a summarizer gets and gives: patterns, detect-secrets or none.",
    ),
    "folder": click.option(
        "--dir", "folder", metavar="DIR", help="Session directory: journal and store. Default: in memory."
    ),
    "session_format": click.option(
        "--session-format",
        type=click.Choice(list(READERS)),
        help="How SESSION is read. Default: detected.",
    ),
    "history": click.option(
        "--history", is_flag=True, help="The whole conversation instead of the live context."
    ),
    "roots": _repeatable("--files", "roots", metavar="ROOT", help="A folder stages may read files of."),
    "strict": click.option(
        "--strict", is_flag=True, help="Exit 1 on warnings too; an invalid request is an error."
    ),
}


def subject_options(*names: str, json: str = "The receipt as JSON.") -> Callable[[F], F]:
    """SESSION, the options with these names (all of them, if none is named), and ``--json``."""
    return lambda command: _SESSION(session_options(*names, json=json)(command))


def session_options(*names: str, json: str) -> Callable[[F], F]:
    """The options with these names (all of them, if none is named), and ``--json``."""

    def add(command: F) -> F:
        command = click.option("--json", "as_json", is_flag=True, help=json)(command)
        for name in reversed(names or tuple(_OPTIONS)):
            command = _OPTIONS[name](command)
        return command

    return add


@dataclass(slots=True)
class Subject:
    """A session file read, a pack loaded, and an engine that has both; ``warnings`` were found on the way."""

    recording: Any
    request: Any
    facts: Any
    engine: Any
    warnings: list[str]

    def about(self) -> dict[str, Any]:
        """What the receipt's JSON says of the file."""
        recording = self.recording
        problems = [
            {
                key: value
                for key, value in (("line", one.line), ("message", one.message), ("hint", one.hint))
                if value
            }
            for one in recording.problems
        ]
        part = "history" if self.request.messages is recording.history.messages else "live"
        if recording.live is recording.history:
            part = "whole"
        return {"file": recording.path, "format": recording.format, "part": part, "problems": problems}


def prepare(wish: Wish, step: Callable[[str], None]) -> Subject:
    """Read, load, put together. Raises what ``exits`` knows, and click.UsageError for wrong options."""
    from ..engine import Engine
    from ..facts import Facts, ManualRequest, moment
    from ..files import NoFiles, RootedFiles
    from ..readers import facts_of, read
    from ..redaction import make as make_redactor
    from ..store import FolderStore
    from .values import Values, added, load_pack, settings_of

    if wish.folder is not None and not wish.folder.strip():
        raise wrong("it is empty; name a folder, or leave it out to keep nothing", "--dir")
    values = Values.of(wish.values)
    try:
        now = None if wish.now is None else moment(_seconds(wish.now))
    except ValueError as error:
        raise wrong(str(error), "--now") from None
    summarizer, doubt = _summarizer(wish.summarizer)
    try:
        redactor = make_redactor(wish.redactor)
    except ValueError as error:
        raise wrong(str(error), "--redactor") from None
    for root in wish.roots:
        if not root.strip() or not Path(root).is_dir():
            raise wrong(f"there is no folder '{root}'", "--files")
    step(f"loading the pack {wish.pack}")
    report, pack = load_pack(wish.pack, values)
    settings, models = settings_of(pack, values)
    step(f"reading {wish.session}")
    recording = read(wish.session, format=wish.session_format)
    if wish.model is not None:
        told = tuple(problem for problem in recording.problems if problem.code != NO_MODEL)
        recording = replace(recording, problems=told)
    request = recording.history if wish.history else recording.live
    if wish.model is not None:
        request = replace(request, model=wish.model)
    elif not request.model and wish.fallback_model is not None:
        request = replace(request, model=wish.fallback_model)
    if not request.model:
        raise click.UsageError(f"{wish.session} does not say which model it is for; name one with --model")
    engine = Engine(
        pack,
        settings=settings,
        models=models,
        summarizer=summarizer,
        store=FolderStore(wish.folder) if wish.folder is not None else None,
        files=RootedFiles(wish.roots) if wish.roots else NoFiles(),
        redactor=redactor,
        strict=wish.strict,
    )
    known = facts_of(recording)
    if now is not None:
        known["now"] = now
    facts = Facts(
        **known,
        error=OVERFLOW_CLASS if wish.event == "overflow" else None,
        request=ManualRequest() if wish.event == "manual" else None,
    )
    warnings = [_read_warning(recording.path or wish.session, problem) for problem in recording.problems]
    warnings += [problem.render() for problem in report.problems if problem.severity == "warning"]
    warnings += [f"--summarizer {wish.summarizer}: {doubt}"] if doubt else []
    warnings += added(wish.pack, values)
    return Subject(recording, request, facts, engine, warnings)


def _summarizer(spec: str) -> tuple[Any, str | None]:
    """The summarizer that was asked for, and why it will probably fail. Raises click.BadParameter if it must."""
    from ..summarizers import doubtful, parse, unusable

    try:
        summarizer = parse(spec)
    except OSError as error:
        words = f"the answers cannot be read: {error.filename}: {error.strerror or error}"
        raise wrong(words, "--summarizer") from None
    except ValueError as error:
        raise wrong(str(error), "--summarizer") from None
    why = unusable(summarizer)
    if why is not None:
        raise wrong(why, "--summarizer")
    return summarizer, doubtful(summarizer)


def _seconds(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _read_warning(path: str, problem: Any) -> str:
    place = f"{path}:{problem.line}" if problem.line else path
    return f"{place}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")


def say_warnings(warnings: list[str], most: int = 20) -> None:
    """The warnings on stderr; of very many only the first."""
    from ..outputs.problems import mark
    from ..outputs.words import escaped

    for one in warnings[:most]:
        click.echo(mark("warning") + escaped(one), err=True)
    if len(warnings) > most:
        click.echo(f"{mark('warning')}… and {len(warnings) - most:,} more", err=True)
