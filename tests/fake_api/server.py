"""The socket: HTTP/1.1 on 127.0.0.1, one connection a request, streams in chunks so that a break can be seen."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .api import Answer, FakeApi
from .streaming import events, frame

MALFORMED = b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": \n\n'


class Server:
    """Serves a ``FakeApi`` in a thread until it is closed; a context manager. ``url`` is what the SDK wants."""

    def __init__(self, api: FakeApi, port: int = 0) -> None:
        handler = type("Handler", (_Handler,), {"api": api})
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self.api = api

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    api: FakeApi
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.api.handle(self.path.partition("?")[0], headers, raw)
        self.close_connection = True
        try:
            time.sleep(answer.delivery.headers_after)
            if answer.stream and answer.delivery.body is None:
                self._stream(answer)
            else:
                self._plain(answer)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has given up

    def _head(self, answer: Answer, kind: str, **more: str) -> None:
        self.send_response(answer.status)
        kind = answer.delivery.content_type or kind
        for name, value in {"content-type": kind, "connection": "close", **more, **answer.headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _plain(self, answer: Answer) -> None:
        how, body = answer.delivery, json.dumps(answer.message).encode()
        if how.malformed_after is not None or how.end_after is not None:
            body = body[: len(body) // 2]
        if how.error_after is not None:
            body = json.dumps(how.error.body).encode()
        body = body if how.body is None else how.body
        time.sleep(how.pause)
        self._head(answer, "application/json", content_length=str(len(body)))
        self.wfile.write(body if how.drop_after is None else body[: len(body) // 2])

    def _stream(self, answer: Answer) -> None:
        self._head(answer, "text/event-stream; charset=utf-8", transfer_encoding="chunked")
        for part in _parts(answer):
            if part is None:
                if answer.delivery.reset:
                    self._reset()
                return  # no last chunk: the client sees that it is not complete
            time.sleep(answer.delivery.pause)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        """Close so that the client is told of a reset and not of an end: nothing lingers, nobody else has it open."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _parts(answer: Answer) -> Iterator[bytes | None]:
    """The stream's pieces; None where the connection breaks."""
    size = answer.delivery.piece
    for whole in _frames(answer):
        if whole is None or size is None:
            yield whole
        else:
            yield from (whole[at : at + size] for at in range(0, len(whole), size))


def _frames(answer: Answer) -> Iterator[bytes | None]:
    how = answer.delivery
    for sent, event in enumerate(events(answer.message, how.pings)):
        if sent == how.drop_after:
            yield None
        if sent == how.end_after:
            return
        if sent == how.malformed_after:
            yield MALFORMED
        if sent == how.error_after:
            yield frame(how.error.body)
            return
        made = frame(event) if how.mangle is None else how.mangle(frame(event))
        if made:  # an empty chunk would end the stream
            yield made
