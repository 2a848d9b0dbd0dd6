"""What ``fmt``, ``migrate`` and ``check --fix`` have in common: packs' files written anew, or only shown to differ."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from ..packs.document import MARK, read_text
from ..packs.installed import PACK_FILE
from ..packs.problems import PackError, Problem
from ..packs.sources import packs_below
from ..writing import replace_file, rights_to_replace

F = TypeVar("F", bound=Callable[..., Any])

Change: TypeAlias = Callable[[str, str], tuple[str, tuple[str, ...]]]
"""A file's text and name to its new text and remarks."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file's text before and after; ``remarks`` are what a person has to look at."""

    path: Path
    before: str
    after: str
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def rewriting_options(command: F) -> F:
    """``PACK… --check --diff --json``."""
    for add in (
        click.option("--json", "as_json", is_flag=True, help="As JSON."),
        click.option("--diff", "show_diff", is_flag=True, help="Show what would change; write nothing."),
        click.option(
            "--check", "only_check", is_flag=True, help="Write nothing; exit 1 if a file would change."
        ),
        click.argument("packs", metavar="PACK...", nargs=-1, required=True),
    ):
        command = add(command)
    return command


def rewrite(packs: Sequence[str], change: Change, dry: bool) -> tuple[list[Rewritten], list[Problem]]:
    """Change the files named and write them unless ``dry``.

    A file that cannot be read or changed is a problem and stays as it is; the others are done all the same.
    """
    done: list[Rewritten] = []
    problems: list[Problem] = []
    for path in _files(packs):
        try:
            each = _changed(path, change)
            if each.changed and not dry:
                _replace_text(path, each.after)
            done.append(each)
        except PackError as error:
            problems += error.problems
        except OSError as error:
            problems.append(Problem("file", error.strerror or str(error), str(path)))
    return done, problems


def _changed(path: Path, change: Change) -> Rewritten:
    """The file with its text as it would be. Raises PackError, OSError."""
    before = read_text(path, str(path))
    mark = MARK if before.startswith(MARK) else ""
    after, remarks = change(before.removeprefix(mark), str(path))
    return Rewritten(path, before, mark + after, remarks)


def as_dict(done: Sequence[Rewritten], problems: Sequence[Problem]) -> dict[str, Any]:
    """The outcome for programs."""
    files = [
        {
            "file": str(each.path),
            "changed": each.changed,
            **({"remarks": list(each.remarks)} if each.remarks else {}),
        }
        for each in done
    ]
    return {"files": files, "problems": [one.to_dict() for one in problems]}


def difference(each: Rewritten) -> str:
    """What would change, as a unified diff."""
    texts = (each.before.splitlines(keepends=True), each.after.splitlines(keepends=True))
    lines = difflib.unified_diff(*texts, str(each.path), f"{each.path} (new)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def show(done: Sequence[Rewritten], problems: Sequence[Problem], dry: bool, show_diff: bool) -> None:
    """The outcome for people: each file that changes, each problem, and how many there were."""
    from ..outputs.problems import problem_text
    from ..outputs.words import escaped, plural

    changed = [each for each in done if each.changed]
    for each in changed:
        if show_diff:
            click.echo(escaped(difference(each)), nl=False)
        else:
            click.echo(escaped(f"{'would change' if dry else 'changed'}: {each.path}"))
    if changed and dry and not show_diff:
        click.echo("  --diff shows what; without --check it is written")
    told(done, "look at this")
    for problem in problems:
        click.echo(problem_text(problem), err=True)
    counts = [
        (len(changed), "would change" if dry else "changed"),
        (len(done) - len(changed), "left as it is"),
    ]
    words = [f"{plural(count, 'file')} {what}" for count, what in counts if count]
    if words:
        click.echo(", ".join(words), err=show_diff)


def told(done: Sequence[Rewritten], word: str) -> None:
    """The remarks on each file, on the error stream: what is printed may be for programs."""
    from ..outputs.words import escaped

    for each in done:
        for remark in each.remarks:
            click.echo(escaped(f"{word}: {remark}"), err=True)


def _files(names: Sequence[str]) -> Iterator[Path]:
    """The files named, each once; a folder that is no pack itself stands for the packs below it.

    Raises click.BadParameter for what is no file of a pack.
    """
    found: dict[Path, Path] = {}
    for path in (one for name in names for one in packs_below(Path(name)) or [Path(name)]):
        if path.is_dir():
            path = path / PACK_FILE
        if not path.is_file():
            hint = "name a file, or a folder that holds pack.yaml; a pack that is installed is not rewritten"
            raise click.BadParameter(f"there is no file '{path}'; {hint}", param_hint="'PACK'")
        found.setdefault(path.resolve(), path)
    return iter(found.values())


def _replace_text(path: Path, text: str) -> None:
    """Write ``text`` over a file that is there, whole or not at all; its rights stay. Raises OSError."""
    path = path.resolve()
    replace_file(path, text.encode("utf-8"), rights_to_replace(path))
