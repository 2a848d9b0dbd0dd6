"""A small chat-completions endpoint on a socket: answers from a list, in order, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class Chat:
    """A streamed answer. ``chunks`` go out one by one, ``pause`` seconds before each; without a ``finish`` it breaks
    off.
    """

    chunks: Sequence[str] = ()
    finish: str | None = "stop"
    usage: dict[str, Any] | None = None
    pause: float = 0.0
    deltas: Sequence[dict[str, Any]] = ()
    error: dict[str, Any] | None = None


@dataclass
class Fault:
    """An answer with an error status."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


class ChatServer:
    """Serves ``answers`` at ``url``; a context manager."""

    def __init__(self, *answers: Chat | Fault) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"chat": self}))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    chat: ChatServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.chat.bodies.append(json.loads(raw))
        self.chat.headers.append({name.lower(): value for name, value in self.headers.items()})
        answer = self.chat.answers.pop(0)
        if isinstance(answer, Fault):
            body = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client has given up
            self._stream(answer)

    def _stream(self, answer: Chat) -> None:
        deltas = [
            {"role": "assistant", "content": ""},
            *({"content": one} for one in answer.chunks),
            *answer.deltas,
        ]
        for delta in deltas:
            time.sleep(answer.pause)
            self._send({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if answer.error is not None:
            self._send({"error": answer.error})
            return
        if answer.finish is None:
            return
        self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        if answer.usage is not None:
            self._send({"choices": [], "usage": answer.usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, event: dict[str, Any]) -> None:
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served-model"}
        self.wfile.write(b"data: %s\n\n" % json.dumps({**base, **event}).encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass
