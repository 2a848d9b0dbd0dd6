"""How long ``trimtab check claude-code`` takes as a whole process, and which imports take most of it.

``python -m bench.startup``: median of 15 processes against the bar of 0.35 s; exit 1 if even the fastest of
them misses it, or if ``import trimtab`` or the check imports a client, a tokenizer or a renderer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

BAR = 0.35
"""Seconds of the whole process, the interpreter's own start included."""
HEAVY = ("anthropic", "httpx", "tiktoken", "tokenizers", "toktok", "rich")
"""Packages that nothing but their own feature may import: each costs more than the whole check."""

IMPORT = "import trimtab"
CHECK = "import sys; from trimtab.commands import main; sys.exit(main(['check', 'claude-code']))"
NOTHING = "pass"
LISTED = f"""
import atexit, sys
def tell():
    print("found:", *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
atexit.register(tell)
"""


@dataclass(frozen=True, slots=True)
class Import:
    """One module's own time and that of it with all it brought along, in seconds."""

    name: str
    own: float
    whole: float


def surroundings(folder: str) -> Mapping[str, str]:
    """The environment, but compiled modules are kept (in ``folder``), as where a package is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


def run(code: str, env: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """One process of this interpreter. Raises RuntimeError with what it said if it fails."""
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"exit {done.returncode}: {last[0]}")
    return done


def whole_process(code: str, env: Mapping[str, str], rounds: int) -> list[float]:
    """Seconds of each process, after one that does not count (it compiles)."""
    run(code, env)
    times = []
    for _ in range(rounds):
        start = perf_counter()
        run(code, env)
        times.append(perf_counter() - start)
    return times


def heavy(code: str, env: Mapping[str, str]) -> list[str]:
    """Which of the heavy packages a process has imported at its end."""
    lines = run(LISTED + code, env).stderr.splitlines()
    found = next(line for line in reversed(lines) if line.startswith("found:"))
    return found.split()[1:]


def imports(code: str, env: Mapping[str, str]) -> list[Import]:
    """Every import of a process, slowest first by its own time."""
    found = []
    for line in run(code, env, "-X", "importtime").stderr.splitlines():
        if line.startswith("import time:") and "[us]" not in line:
            own, whole, name = line.removeprefix("import time:").split("|")
            found.append(Import(name.strip(), int(own) / 1e6, int(whole) / 1e6))
    return sorted(found, key=lambda one: -one.own)


def main(given: list[str] | None = None) -> int:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=about)
    add = parser.add_argument
    add("--rounds", type=int, default=15, metavar="N", help="processes of each kind (default 15)")
    add("--imports", type=int, default=20, metavar="N", help="so many imports are listed (default 20)")
    add("--json", type=Path, metavar="FILE", help="write the figures here, too")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        figures, wrong = measured(options.rounds, options.imports, surroundings(folder))
    for line in wrong:
        print(f"wrong: {line}", file=sys.stderr)
    if options.json is not None:
        options.json.write_text(json.dumps({**figures, "wrong": wrong}, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def measured(rounds: int, listed: int, env: Mapping[str, str]) -> tuple[dict[str, object], list[str]]:
    """All figures, printed as they come, and what is wrong with them."""
    wrong: list[str] = []
    figures: dict[str, object] = {"bar": BAR}
    for name, code in (("python -c pass", NOTHING), (IMPORT, IMPORT), ("trimtab check claude-code", CHECK)):
        try:
            times = whole_process(code, env, rounds)
            brought = heavy(code, env)
        except RuntimeError as problem:
            print(f"{name:28} not measured: {problem}")
            wrong.append(f"{name} cannot be measured")
            continue
        figures[name] = {"median": median(times), "least": min(times)}
        bar = ""
        if code == CHECK:
            bar = f"  bar {BAR} s, {'met' if median(times) <= BAR else 'missed'}"
            if min(times) > BAR:
                wrong.append(f"{name} takes {min(times):.3f} s at least, the bar is {BAR} s")
        print(f"{name:28} {median(times):.3f} s, least {min(times):.3f} s{bar}")
        if brought:
            wrong.append(f"{name} imports {', '.join(brought)}")
    if "trimtab check claude-code" in figures:
        slowest = imports(CHECK, env)[:listed]
        print(f"\n{'slowest imports of the check':44} {'own':>9} {'with what it imports':>21}")
        for one in slowest:
            print(f"{one.name:44} {one.own * 1e3:6.1f} ms {one.whole * 1e3:18.1f} ms")
        figures["imports"] = {one.name: one.own for one in slowest}
    return figures, wrong


if __name__ == "__main__":
    sys.exit(main())
