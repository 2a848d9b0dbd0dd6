"""A whole agent: two harmless tools, the real SDK, and Trimtab between the conversation and the API.

    echo 'What is in here?' | python examples/agent_loop.py --folder src

Needs ANTHROPIC_API_KEY, or ``--base-url`` of a server that asks for none (``python -m tests.fake_api`` is one). Each
line of the input is a user's turn, ``/compact …`` a compaction by hand, an empty line an idle moment.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from anthropic import Anthropic, BadRequestError, ContentTooLargeError

from trimtab import ApiError, Engine, Facts, Info, ManualRequest, Request, Usage
from trimtab.summarizers.anthropic import AnthropicSummarizer

SYSTEM = "You answer questions about the files in one folder."
PATH = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
TOOLS = [
    {"name": "Read", "description": "Read a text file.", "input_schema": PATH},
    {"name": "List", "description": "List a folder; `.` is the whole one.", "input_schema": PATH},
]


def use_tool(root: Path, name: str, given: dict[str, Any]) -> str:
    try:
        path = (root / str(given.get("file_path", "."))).resolve()
        if not path.is_relative_to(root):
            return "error: that is outside the folder"
        return (
            path.read_text("utf-8")
            if name == "Read"
            else "\n".join(sorted(one.name for one in path.iterdir()))
        )
    except (OSError, ValueError) as problem:
        return f"error: {problem}"


class Agent:
    def __init__(self, client: Anthropic, model: str, root: Path, engine: Engine) -> None:
        self.client, self.model, self.root, self.session = client, model, root.resolve(), engine.session()
        self.messages: list[Any] = []
        self.info: list[Info] = []
        self.usage: Usage | None = None
        self.event("session_start")

    def event(self, name: str, **more: Any) -> Any:
        """Let the pack run; ``outcome.request`` is what to send."""
        request = Request(
            self.model, self.messages, SYSTEM, TOOLS, info=self.info, extra={"max_tokens": 8000}
        )
        facts = Facts(now=time.time(), caller="main", usage=self.usage, **more)
        outcome = self.session.run(request, name, facts)
        for job in outcome.jobs:  # notes, written while the agent goes on
            threading.Thread(target=job.run).start()
        stages = [stage for stage in outcome.receipt.stages if stage.verdict in ("committed", "failed")]
        done = [f"{stage.id} {stage.verdict}" for stage in stages]
        print(f"[{name}]", *done, *(notice.text for notice in outcome.notices), file=sys.stderr)
        return outcome

    def ask(self) -> Any:
        outcome, why = self.event("before_request"), "see above"
        while outcome.send:
            try:
                return self.client.messages.create(**outcome.body)
            except (BadRequestError, ContentTooLargeError) as problem:
                why = str(problem.api_message)
                error = ApiError(why, problem.status_code, problem.type)
                outcome = self.event("overflow", error=error)
        raise SystemExit(f"the conversation cannot be sent any more: {why}")

    def add(self, role: str, content: Any) -> None:
        self.messages.append({"role": role, "content": content})
        self.info.append(Info(at=time.time()))

    def turn(self, words: str) -> str:
        self.add("user", words)
        while True:
            answer = self.ask()
            self.add("assistant", [block.to_dict() for block in answer.content])
            self.usage = Usage.of(answer.usage.to_dict(), answer.model)
            self.event("after_response")
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in answer.content if block.type == "text")
            results = [(call.id, use_tool(self.root, call.name, call.input)) for call in calls]
            self.add(
                "user", [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
            )
            self.event("tool_result")


def main() -> None:
    parser = argparse.ArgumentParser(description="An agent that answers questions about a folder.")
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--model", default="claude-sonnet-5-5")
    parser.add_argument("--base-url", help="a server other than Anthropic's")
    parser.add_argument("--window", type=int, help="tokens, to see it compact early")
    given = parser.parse_args()
    key = os.environ.get("ANTHROPIC_API_KEY") or ("none" if given.base_url else None)
    if key is None:
        raise SystemExit("set ANTHROPIC_API_KEY, or name a server that asks for none with --base-url")
    client = Anthropic(base_url=given.base_url, api_key=key)
    models = {"*": {"window": given.window}} if given.window else None
    engine = Engine.load("claude-code", models=models, summarizer=AnthropicSummarizer(client))
    agent = Agent(client, given.model, given.folder, engine)
    for line in map(str.strip, sys.stdin):
        if line.startswith("/compact"):
            agent.event("manual", request=ManualRequest(instructions=line[8:].strip() or None))
        elif line:
            print(agent.turn(line), flush=True)
        else:
            agent.event("idle")


if __name__ == "__main__":
    main()
