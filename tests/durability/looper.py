"""One of several processes that never let go: ``python -m tests.durability.looper FOLDER NAME SECONDS``.

It says ``ready``, waits for a line, then runs a conversation that grows with every run, without any pause, until the
time is over. Every view is judged by the strict API. The last line it prints is the JSON of how many runs it had, and
of the longest time it waited for one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.durability.racer import messages_of
from tests.durability.support import opened, run

TURNS = 60


def main() -> None:
    folder, name, seconds = sys.argv[1:]
    messages = messages_of(name, TURNS)
    sizes = [size for size, message in enumerate(messages, 1) if message["role"] == "user"]
    session = opened(Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    runs, slowest = 0, 0.0
    now = start = time.monotonic()
    while now < start + float(seconds):
        run(session, messages[: sizes[min(runs, len(sizes) - 1)]])
        runs += 1
        before, now = now, time.monotonic()
        slowest = max(slowest, now - before)
    print(json.dumps({"runs": runs, "slowest": slowest}), flush=True)


if __name__ == "__main__":
    main()
