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
from bench._measure import TOLERANCE, Copies, Row, duration, header, line, measure
from bench._memory import Memory, memory


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description="Measure the engine against copy.deepcopy.")
    parser.add_argument("--messages", type=int, nargs="+", default=[REFERENCE], metavar="N", help="sizes for the rows that grow, and for memory")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="rows by name (globs); may be repeated")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="measurements of each row (default 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    parser.add_argument("--check", action="store_true", help=f"exit 1 if a bar is missed by more than {TOLERANCE - 1:.0%}")
    parser.add_argument("--no-gc", action="store_true", help="measure with the garbage collector switched off")
    parser.add_argument("--no-memory", action="store_true", help="leave memory out")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        table = cases(options.messages, Path(folder))
        if options.list:
            for case in table:
                print(f"{case.name:16} {case.title}")
            return 0
        chosen = [case for case in table if not options.only or any(fnmatchcase(case.name, only) for only in options.only)]
        if not chosen:
            print(f"no row is called {' or '.join(options.only)}; --list names them", file=sys.stderr)
            return 2
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
    print(f"\ncopy.deepcopy of the reference: median {duration(median(copies.times))}, least {duration(min(copies.times))}")
    held = [] if options.no_memory or options.only else [memory(size) for size in options.messages]
    for one in held:
        print(remembered(one))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(rows, copies, held, options), indent=1) + "\n", encoding="utf-8")
    return judged(rows) if options.check else 0


def judged(rows: list[Row]) -> int:
    """1 if a bar is clearly missed, or a row could not be measured; says which."""
    missed = [row for row in rows if row.missed_clearly]
    for row in missed:
        why = row.failure or f"{row.ratio:.2f} × copy, the bar is {row.bar:g}"
        print(f"missed: {row.name}: {why}", file=sys.stderr)
    return 1 if missed else 0


def remembered(one: Memory) -> str:
    mega = 1e6
    return (
        f"memory, {one.messages:,} messages of {one.characters / mega:.1f} M characters: the session holds "
        f"{one.held / mega:.1f} MB ({one.each:,} bytes a message), the cold run needs {one.peak / mega:.1f} MB at most"
    )


def as_json(rows: list[Row], copies: Copies, held: list[Memory], options: argparse.Namespace) -> dict[str, Any]:
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
