"""The table of the engine's speed: ``python -m bench.run``. Every row is a ratio to one ``copy.deepcopy``.

The copy is taken again before and after each measurement, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import tempfile
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

from bench._cases import cases
from bench._hosts import REFERENCE, messages_of
from bench._measure import Copies, Row, duration, header, line, markdown, measure, profile
from bench._memory import Memory, memory


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--messages", type=int, nargs="+", default=[REFERENCE], metavar="N", help="more sizes, and memory's")
    add("--only", action="append", default=[], metavar="NAME", help="rows by name (globs); may be repeated")
    add("--rounds", type=int, default=15, metavar="N", help="measurements of each row (default 15)")
    add("--json", type=Path, metavar="FILE", help="write the figures here, too")
    add("--markdown", type=Path, metavar="FILE", help="write the table here, as Markdown")
    add("--check", action="store_true", help="exit 1 if a bar is missed by more than a quarter")
    add("--no-gc", action="store_true", help="measure with the garbage collector switched off")
    add("--no-memory", action="store_true", help="leave memory out")
    add("--profile", action="store_true", help="instead: where the time of the rows goes, by cProfile")
    add("--list", action="store_true", help="name the rows and stop")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        table = cases(options.messages, Path(folder))
        if options.list:
            for case in table:
                print(f"{case.name:16} {case.title}")
            return 0
        wanted = options.only or ["*"]
        chosen = [case for case in table if any(fnmatchcase(case.name, only) for only in wanted)]
        if not chosen:
            print(f"no row is called {' or '.join(options.only)}; --list names them", file=sys.stderr)
            return 2
        if options.profile:
            for case in chosen:
                print(profile(case))
            return 0
        copies = Copies(list(messages_of(REFERENCE)))
        copies.take()
        copies.times.clear()
        width = max(len(case.title) for case in chosen)
        print(header(width))
        rows: list[Row] = []
        for case in chosen:
            if options.no_gc:
                gc.disable()
            rows.append(measure(case, copies, options.rounds))
            gc.enable()
            print(line(rows[-1], width), flush=True)
    both = f"median {duration(median(copies.times))}, least {duration(min(copies.times))}"
    print(f"\ncopy.deepcopy of the reference: {both}")
    held = [] if options.no_memory or options.only else [memory(size) for size in options.messages]
    for one in held:
        print(remembered(one))
    if options.json is not None:
        text = json.dumps(as_json(rows, copies, held, options), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    if options.markdown is not None:
        lines = [markdown(rows), "", f"`copy.deepcopy` of the reference: {both}.", *map(remembered, held)]
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return judged(rows) if options.check else 0


def judged(rows: list[Row]) -> int:
    """1 if a bar is clearly missed, or a row could not be measured; says which."""
    missed = [row for row in rows if row.missed_clearly]
    for row in missed:
        why = row.failure or f"{row.ratio:.2f} × copy, the bar is {row.bar:g}"
        print(f"missed: {row.name}: {why}", file=sys.stderr)
    return 1 if missed else 0


def remembered(one: Memory) -> str:
    held, peak = one.held / 1e6, one.peak / 1e6
    return (
        f"memory, {one.messages:,} messages of {one.characters / 1e6:.1f} M characters: the session holds "
        f"{held:.1f} MB ({one.each:,} bytes a message), a cold run needs {peak:.1f} MB at most"
    )


def as_json(
    rows: list[Row], copies: Copies, held: list[Memory], options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "collector": not options.no_gc,
        "rounds": options.rounds,
        "copy": {"median": median(copies.times), "least": min(copies.times)},
        "rows": [row.as_json() for row in rows],
        "memory": [asdict(one) for one in held],
    }


if __name__ == "__main__":
    sys.exit(main())
