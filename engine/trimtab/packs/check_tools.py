"""Findings about the names of tools, held against those of a session."""

from __future__ import annotations

from collections.abc import Iterable

from ..matching import Categories, Globs
from .context import Context
from .problems import INFO, WARNING, did_you_mean, listed


def tools_are_those_of(context: Context, used: Iterable[str]) -> None:
    """Tools that no category names, and categories that name none of the tools."""
    tools = context.section("tools")
    if not all(
        isinstance(globs, list) and all(isinstance(one, str) for one in globs) for globs in tools.values()
    ):
        return  # told elsewhere
    names = sorted(set(used))
    categories = Categories(tools)
    strangers = [name for name in names if not categories.of(name)]
    known = [glob for globs in tools.values() for glob in globs if not set("*?") & set(glob)]
    if strangers:
        near = [f"{name}: {hint}" for name in strangers if (hint := did_you_mean(name, known))]
        context.report(
            "unknown-tool",
            f"no category names {listed(f'`{name}`' for name in strangers)} of the session",
            ("tools",) if tools else (),
            "; ".join(near) or "add those a stage should treat in a way of its own to a category",
            on_key=True,
        )
    for category, globs in tools.items():
        if not names or any(map(Globs(globs).match, names)):
            continue
        close = next((found for glob in globs if (found := did_you_mean(glob, strangers))), None)
        # A session need not use every tool; one that is called almost so is another matter.
        context.report(
            "unmatched-category",
            f"the session has no tool of the category `{category}`",
            ("tools", category),
            close or "nothing needs to be changed if the host has such tools",
            on_key=True,
            severity=WARNING if close else INFO,
        )
