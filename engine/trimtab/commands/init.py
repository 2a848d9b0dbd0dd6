"""``trimtab init``: a new pack with its tests, and what CI, hooks and editors need."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..packs.installed import NAME
from ..writing import link_on_the_way, write_all
from . import exits

if TYPE_CHECKING:
    from ..starter import Start

OWN = ("pack.yaml", "tests/", "schemas/")
"""Files of the pack itself; the others may be there already, and then stay as they are."""


@click.command("init", short_help="Begin a pack.")
@click.argument("folder", metavar="DIR")
@click.option("--name", metavar="NAME", help="The pack's name. Default: the folder's.")
@click.option("--target", metavar="API", help="The API requests are for. Default: anthropic.")
@click.option(
    "--model", metavar="MODEL", help="The model its tests are about. Default: a common one of the API."
)
@click.option(
    "--base", metavar="PACK", help="claude-code, another pack's name or path, or none. Default: claude-code."
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; take the defaults.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; asks nothing.")
def command(
    folder: str,
    name: str | None,
    target: str | None,
    model: str | None,
    base: str | None,
    yes: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Begin a pack in DIR: pack.yaml, tests that pass, JSON Schemas and settings for editors, a workflow for
    GitHub, hooks for pre-commit.

    On a terminal, what no option says is asked. No file is overwritten without --force: a pack that is there is
    refused, a workflow, hooks or settings that are there stay as they are. All files are written or none, and none
    through a symbolic link.
    """
    from ..outputs.words import escaped
    from ..starter import TARGETS, starter_files

    place = Path(folder)
    for each in (place, *place.parents):
        if os.path.lexists(each) and not each.is_dir():
            raise click.BadParameter(f"'{each}' is no folder", param_hint="'DIR'")
    asks = not yes and not as_json and sys.stdin is not None and sys.stdin.isatty()
    start = _start(place, name, target, model, base, asks)
    files = starter_files(start)
    there = [path for path in files if os.path.lexists(place / path)]
    kept = [] if force else [path for path in there if not path.startswith(OWN)]
    written = [path for path in files if path not in kept]
    _refuse_links(place, written)
    taken = [path for path in there if path.startswith(OWN)]
    if taken and not force:
        raise click.ClickException(
            f"{', '.join(taken)} {'is' if len(taken) == 1 else 'are'} there already in {folder}\n"
            "  hint: name another folder; --force writes over what is there"
        )
    write_all(place, {path: files[path].encode("utf-8") for path in written})
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"folder": folder, "name": start.name, "written": written, "kept": kept}))
        return exits.FINE
    for path in written:
        click.echo(escaped(f"written: {place / path}"))
    for path in kept:
        click.echo(escaped(f"kept as it is: {place / path} (--force writes over it)"))
    shown = escaped(str(place))
    click.echo(f"\nthe pack {start.name}, for {TARGETS[start.target].meaning}. Next:")
    next_steps = {f"check {shown}": "is it sound?"}
    first = "share" if start.base == "none" else "percent" if start.base == "claude-code" else "a number"
    next_steps[f"test {shown}"] = f"do its tests pass? Change {first} in pack.yaml and see one fail"
    if start.base != "none":
        next_steps[f"diff {escaped(start.base)} {shown}"] = "what is not as in its base?"
    next_steps[f"explain SESSION -p {shown}"] = "what would it do to a session file, and why?"
    for words, question in next_steps.items():
        click.echo(f"  trimtab {words:<{max(map(len, next_steps))}}  {question}")
    if start.folder != ".":
        click.echo("CI, hooks and editor settings belong into the root of the repository: move them there")
    return exits.FINE


def _refuse_links(place: Path, paths: Sequence[str]) -> None:
    """Nothing is written through a link: what it leads to lies elsewhere. Raises click.ClickException."""
    link = link_on_the_way(place, paths)
    if link is not None:
        raise click.ClickException(
            f"{link} is a symbolic link (to {os.readlink(link)}), and nothing is written through one\n"
            "  hint: remove the link, or name another folder"
        )


def _start(
    place: Path, name: str | None, target: str | None, model: str | None, base: str | None, asks: bool
) -> Start:
    """What was said, else what is answered, else the defaults. Raises click.BadParameter."""
    from ..packs.problems import near_or_all
    from ..starter import TARGETS, Start

    def answer(given: str | None, question: str, default: str) -> str:
        if given is not None:
            return given.strip()
        return str(click.prompt(question, default=default, err=True)).strip() if asks else default

    name = answer(name, "Name of the pack", _kebab(place.resolve().name))
    if not NAME.fullmatch(name) or len(name) > 64:
        raise click.BadParameter(
            f"'{name}' is no name: kebab-case, such as house-rules", param_hint="'--name'"
        )
    known = ", ".join(TARGETS)
    target = answer(target, f"API its requests are for ({known})", next(iter(TARGETS)))
    if target not in TARGETS:
        raise click.BadParameter(
            f"there is no '{target}': {near_or_all(target, TARGETS)}", param_hint="'--target'"
        )
    model = answer(model, "Model its tests are about", TARGETS[target].model)
    if not model:
        raise click.BadParameter("it is empty", param_hint="'--model'")
    base = answer(base, "Pack to build on (a name, a path, or none)", "claude-code")
    return Start(name, target, model, *_base(base, place), folder=_from_root(place))


def _base(base: str, place: Path) -> tuple[str, str]:
    """The base as seen from here, and as the new file will write it."""
    from ..packs.sources import PACK_FILE, find_pack, is_path

    if base == "none" or not is_path(base):
        return base, base
    found = find_pack(base).resolve()
    target = found.parent if found.name == PACK_FILE else found
    here, there = (Path(os.path.relpath(target, each.resolve())).as_posix() for each in (Path(), place))
    return f"./{here}", there if there.startswith(".") else f"./{there}"


def _from_root(place: Path) -> str:
    """The folder as seen from the root of the repository it lies in; `.` where it is the root, or in none."""
    here = place.resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return here.relative_to(folder).as_posix()
    return "."


def _kebab(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())
    name = "-".join(words).lstrip("0123456789-")
    return name[:64].rstrip("-") or "house-rules"
