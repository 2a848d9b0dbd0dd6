"""A client of yaml-language-server, as small as the tests need: JSON-RPC over its standard streams."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

SECONDS = 60.0
"""How long an answer may take; the server starts slowly on a busy machine."""
VARIABLE = "TRIMTAB_YAML_LANGUAGE_SERVER"


def server_command() -> list[str] | None:
    """How the server is started, None where there is none: a variable names it, else it is on the path."""
    named = os.environ.get(VARIABLE)
    found = named or shutil.which("yaml-language-server")
    if not found or shutil.which("node") is None:
        return None
    return [found, "--stdio"]


class Editor:
    """An open server; used as a context."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.number = 0
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.told: list[dict[str, Any]] = []

    def __enter__(self) -> Editor:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        threading.Thread(target=self._listen, daemon=True).start()
        capabilities = {
            "textDocument": {
                "completion": {
                    "completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}
                },
                "hover": {"contentFormat": ["markdown"]},
            },
            "workspace": {"configuration": True},
        }
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})
        self.say("initialized", {})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    # --- what tests do

    def open(self, path: Path) -> list[dict[str, Any]]:
        """Open a file; the diagnostics the server has of it."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text("utf-8")}
        self.say("textDocument/didOpen", {"textDocument": document})
        while True:
            told = self._next()
            if (
                told.get("method") == "textDocument/publishDiagnostics"
                and told["params"]["uri"] == path.as_uri()
            ):
                found: list[dict[str, Any]] = told["params"]["diagnostics"]
                return found

    def complete(self, path: Path, line: int, column: int) -> dict[str, str]:
        """What may stand at a place (from 0): label and documentation."""
        found = self.ask("textDocument/completion", self._place(path, line, column))
        items = found if isinstance(found, list) else found["items"]
        return {item["label"]: _text(item.get("documentation")) for item in items}

    def hover(self, path: Path, line: int, column: int) -> str:
        """What is told of a place."""
        found = self.ask("textDocument/hover", self._place(path, line, column))
        return _text(found["contents"]) if found else ""

    def _place(self, path: Path, line: int, column: int) -> dict[str, Any]:
        return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": column}}

    # --- messages

    def say(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        number = self.number
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            answer = self._next()
            if answer.get("id") == number and "method" not in answer:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message that is not a question of the server's; those are answered."""
        while True:
            message = self.answers.get(timeout=SECONDS)
            if "method" not in message or "id" not in message:
                return message
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": self._configuration(message)})

    def _configuration(self, message: dict[str, Any]) -> Any:
        """The settings of an editor that has none but the modelines: no catalogue is fetched from anywhere."""
        if message["method"] != "workspace/configuration":
            return None
        yaml = {"schemaStore": {"enable": False}, "validate": True, "completion": True, "hover": True}
        return [yaml if item.get("section") == "yaml" else {} for item in message["params"]["items"]]

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8")
        assert self.process.stdin is not None
        self.process.stdin.write(f"Content-Length: {len(data)}\r\n\r\n".encode("ascii") + data)
        self.process.stdin.flush()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            size = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            if not size:
                return
            self.answers.put(json.loads(stream.read(size)))


def _text(value: Any) -> str:
    return value["value"] if isinstance(value, dict) else str(value or "")
