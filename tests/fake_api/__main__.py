"""``python -m tests.fake_api``: serve the strict fake by hand until interrupted."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from .api import FakeApi
from .server import Server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_api", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--window", type=int, help="tokens of every model's window, instead of its own")
    parser.add_argument(
        "--script", type=Path, help="JSON list of replies, each a text or a list of content blocks"
    )
    parser.add_argument("--otherwise", default="Understood.", help="the reply when the script is over")
    given = parser.parse_args()
    script = json.loads(given.script.read_text("utf-8")) if given.script else []
    api = FakeApi(*script, otherwise=given.otherwise, window=given.window)
    api.clock.now = time.time()
    with Server(api, given.port) as server:
        print(f"listening on {server.url}", flush=True)
        seen = 0
        try:
            while True:
                time.sleep(0.2)
                api.clock.now = time.time()
                for one in [one for one in api.requests[seen:] if one.status]:
                    why = f" {one.refusal.message}" if one.refusal else ""
                    print(f"{one.status} {one.path}{why}", flush=True)
                    seen += 1
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
