"""One of several processes on a session directory: ``python -m tests.durability.racer FOLDER NAME TURNS PAUSE``.

It says ``ready``, waits for a line, then has one turn after the other: those all racers share, then its own, which
differ by NAME (the same name is the same conversation). Every view is judged by the strict API. The last line it
prints is the JSON of its last view, and how often it found that somebody else had written.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.durability.support import Message, body, conversation, opened, run

from trimtab.journal import DiskJournal

SHARED = 3


def messages_of(name: str, turns: int) -> list[Message]:
    """The conversation of a racer: the shared turns, then its own; the last result is the newest message."""
    return (conversation(SHARED) + conversation(turns, name))[:-1]


def replace_method(where: type, name: str, function: Callable[..., Any]) -> None:
    """This process is the test's own: nobody else sees it."""
    setattr(where, name, function)


def main() -> None:
    folder, name, turns, pause = sys.argv[1:]
    messages = messages_of(name, int(turns))
    chance = random.Random(name)
    reloads = 0
    reload = DiskJournal.reload

    def counted(journal: DiskJournal) -> None:
        nonlocal reloads
        reloads += 1
        reload(journal)

    replace_method(DiskJournal, "reload", counted)
    session = opened(Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    last = ""
    for size, message in enumerate(messages, 1):
        if message["role"] == "user":
            if isinstance(message["content"], list):
                run(session, messages[:size], "tool_result")
            last = body(run(session, messages[:size]))
            time.sleep(chance.random() * float(pause))
    print(json.dumps({"body": last, "reloads": reloads - 1}), flush=True)


if __name__ == "__main__":
    main()
