"""The files of a new pack, with numbers that hold for its model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from ..conversation.request import Request
from ..engine import Engine
from ..packs.load import check_text
from ..packs.pack import Pack
from ..packs.problems import PackError
from ..packs.show import scalar
from . import texts
from .targets import TARGETS, schema_text

NONE = "none"
REQUIRES = ">=0.1,<1"
ELSEWHERE = ("collapse", "reactive_only")
"""Settings of the packs that ship under which nothing is due at `auto`."""


@dataclass(frozen=True, slots=True)
class Start:
    """What was chosen. ``base`` is `none`, a pack's name, or a path from the working directory; ``written`` is
    that path as the new pack's file has to say it (default: as it is).

    ``folder`` is where the pack will lie, from the root of its repository.
    """

    name: str
    target: str
    model: str
    base: str
    written: str = ""
    folder: str = "."


def starter_files(start: Start) -> dict[str, str]:
    """Each file's path below the pack's folder, and its text. Raises PackError for a base that has errors."""
    # Checked as if it lay here: its own folder may not exist yet.
    report = check_text(_pack_text(start, start.base), "pack.yaml")
    if report.pack is None:
        raise PackError(report.problems)
    filled = {"requires": REQUIRES, "folder": start.folder}
    editor = {
        "yaml.schemas": {
            "schemas/pack.schema.json": ["pack.yaml"],
            "schemas/test.schema.json": ["tests/*.yaml"],
        }
    }
    return {
        "pack.yaml": _pack_text(start, start.written or start.base),
        f"tests/{start.name}.yaml": _tests_text(start, report.pack),
        "schemas/pack.schema.json": schema_text("pack"),
        "schemas/test.schema.json": schema_text("test"),
        ".github/workflows/packs.yml": texts.WORKFLOW.substitute(filled),
        ".pre-commit-config.yaml": texts.HOOKS.substitute(filled),
        ".vscode/settings.json": json.dumps(editor, indent=2) + "\n",
    }


def _pack_text(start: Start, base: str) -> str:
    named = {"name": start.name, "requires": REQUIRES}
    if start.base == NONE:
        stages = TARGETS[start.target].stages
        said = "Old results are cleared, then all is summed up; no model is asked"
        return texts.ALONE.substitute(named, description=said, stages=stages)
    changes = texts.CHANGES_OF_CLAUDE_CODE if start.base == "claude-code" else ""
    said = f"What {Path(start.base).stem} does, with changes of our own"
    return texts.EXTENDING.substitute(named, description=scalar(said), base=scalar(base), changes=changes)


def _tests_text(start: Start, pack: Pack) -> str:
    """Cases that hold for this pack and this model: its threshold is worked out, not assumed."""
    request = Request(start.model, [{"role": "user", "content": "Hello"}])
    limits = Engine(pack).session().explain(request).receipt.limits
    first = "clear" if start.base == NONE else "autocompact"
    known = {stage.id for stage in pack.stages}
    quiet = ", ".join(f"{name}: skipped" for name in (first, "compact") if name in known)
    filled = {
        "model": scalar(start.model),
        "window": int(limits.get("window") or 0),
        "quiet": f"stages: {{{quiet}}}, " if first in known else "",
        "stage": first,
    }
    more: list[str] = []
    auto = limits.get("auto")
    if auto is not None and first in known and not any(map(pack.settings.get, ELSEWHERE)):
        # Forty results that are, by any estimate, about half the threshold: the usage alone decides.
        numbers = {
            "auto": math.ceil(auto),
            "under": math.ceil(auto) - 1,
            "chars": max(100, min(45_000, int(auto) // 25)),
            "limits": f"limits: {{auto: {int(auto)}}}, " if float(auto).is_integer() else "",
        }
        cases = [texts.THRESHOLD, texts.KEPT] if start.base == NONE else [texts.THRESHOLD]
        more += [each.substitute(filled, **numbers) for each in cases]
    if start.base == "claude-code":
        more.append(texts.IDLE.substitute(filled))
    return texts.TESTS.substitute(filled, more="".join(more))
