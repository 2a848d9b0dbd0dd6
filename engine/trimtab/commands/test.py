"""``trimtab test``: the tests of packs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ..packs.sources import to_look_at
from . import exits

POLL = 0.5
"""Seconds between two looks at the files in watch mode."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The options as given."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    update: bool
    junit: str | None
    form: str
    as_json: bool
    verbose: bool
    coverage: bool
    min_coverage: float | None


@click.command("test", short_help="Run the tests of packs.")
@click.argument("names", metavar="[PACK]...", nargs=-1)
@click.option(
    "-k", "texts", metavar="TEXT", multiple=True, help="Only cases with TEXT in their name. Repeatable: any."
)
@click.option("--update", is_flag=True, help="Write snapshots that differ, remove those nobody asks for.")
@click.option("--coverage", is_flag=True, help="Say which stages no test makes fire.")
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit 1 where fewer stages of a pack fire. Implies --coverage.",
)
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="github: annotations of a workflow, behind the text.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--verbose", "-v", is_flag=True, help="Name every case.")
@click.option("--watch", is_flag=True, help="Run again whenever a pack, template or test changes.")
def command(watch: bool, **options: Any) -> int:
    """Run the tests of packs: tests/*.yaml beside each (docs/testing.md).

    PACK is a name or path, a folder with packs in it, or a single test file; default: the pack here, else all that
    ship. No model is called: a case holds the answers.
    """
    wish = Wish(**options)
    if wish.form == "json":
        wish = replace(wish, as_json=True)
    if watch and wish.as_json:
        raise click.UsageError("--watch and --json do not go together")
    if wish.junit is not None and not Path(wish.junit).absolute().parent.is_dir():
        raise click.BadParameter(f"'{wish.junit}' is in no folder that exists", param_hint="'--junit'")
    return watching(wish) if watch else once(wish)[0]


def once(wish: Wish) -> tuple[int, Mapping[Path, int]]:
    """Run everything; the exit code, and the files it was made of with their times."""
    from ..outputs.progress import progress
    from ..testing.snapshots import Snapshots
    from ..testing.suite import chosen_by, plan, run_plan, watched

    found = plan(wish.names or to_look_at(()))
    files = times(watched(found))
    with progress(sum(len(one.cases) for one in found.files)) as step:
        result = run_plan(found, chosen_by(wish.texts), Snapshots(wish.update), step)
    if wish.update and not result.problems:
        result.stale = [path for path in result.stale if not _removed(path)]
    if wish.junit is not None:
        from ..outputs.junit import junit

        Path(wish.junit).write_text(junit(result), encoding="utf-8")
    _show(result, wish)
    return _code(result, wish), files


def _show(result: Any, wish: Wish) -> None:
    if wish.as_json:
        from ..outputs.as_json import dumps
        from ..outputs.testing import as_dict

        click.echo(dumps(as_dict(result)))
        return
    from ..outputs.console import console
    from ..outputs.problems import problem_text
    from ..outputs.testing import show_result

    for problem in result.problems:
        click.echo(problem_text(problem) + "\n")
    wanted = wish.coverage or wish.min_coverage is not None
    show_result(result, console(), wish.verbose, wanted)
    if wish.form == "github":
        from ..outputs.github import of_tests

        lines = of_tests(result)
        click.echo(lines, nl=bool(lines))


def _code(result: Any, wish: Wish) -> int:
    from ..testing.coverage import lowest

    if result.problems or result.failed:
        return exits.PROBLEMS
    if not result.ran:
        return exits.NOTHING_RAN
    if wish.min_coverage is not None and lowest(result.coverage) < wish.min_coverage:
        return exits.PROBLEMS
    return exits.FINE


def _removed(path: Path) -> bool:
    """Whether a snapshot nobody asks for could be removed; one that could not is told of as stale."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def times(files: set[Path]) -> dict[Path, int]:
    """When each file was last changed, in nanoseconds; -1 for one that is not there."""
    found = {}
    for path in files:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:
            found[path] = -1
    return found


def watching(wish: Wish, wait: Callable[[], None] | None = None, rounds: int | None = None) -> int:
    """Run, then again after each change, until interrupted (or ``rounds`` times); the last exit code."""
    wait = wait or (lambda: time.sleep(POLL))
    code = exits.FINE
    try:
        while True:
            code, before = once(wish)
            if rounds is not None:
                rounds -= 1
                if rounds <= 0:
                    return code
            click.echo("\nwatching; Ctrl-C ends\n")
            while times(set(before)) == before and _same_files(wish, before):
                wait()
    except KeyboardInterrupt:
        return code


def _same_files(wish: Wish, before: Mapping[Path, int]) -> bool:
    """Whether no test file has come up in the folders of those that are known."""
    folders = {path.parent for path in before if path.parent.name == "tests"}
    return all(path in before for folder in folders for path in folder.glob("*.yaml"))
