"""The pytest fixture ``fake_api``: a served fake, and clients of the real SDK that talk to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .api import FakeApi
from .replies import Script
from .server import Server

if TYPE_CHECKING:
    import anthropic


class Served:
    """Starts fakes on demand: ``fake_api("hello")`` gives a ``FakeApi`` whose ``url`` is being served."""

    def __init__(self) -> None:
        self._servers: list[Server] = []
        self._clients: list[anthropic.Anthropic] = []

    def __call__(self, *script: Script, **options: Any) -> ServedApi:
        api = ServedApi(*script, **options)
        server = Server(api)
        server.__enter__()
        api.url, api.clients = server.url, self._clients
        self._servers.append(server)
        return api

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for server in self._servers:
            server.__exit__()


class ServedApi(FakeApi):
    """A fake with an address."""

    url: str
    clients: list[anthropic.Anthropic]

    def client(self, **options: Any) -> anthropic.Anthropic:
        """A client of the SDK without retries, unless ``max_retries`` says otherwise; closed with the fixture."""
        import anthropic  # most tests need no SDK, and it is slow to load

        made = anthropic.Anthropic(base_url=self.url, api_key="none", **{"max_retries": 0, **options})
        self.clients.append(made)
        return made

    def async_client(self, **options: Any) -> anthropic.AsyncAnthropic:
        """The same for ``async`` code, which has to close it."""
        import anthropic

        return anthropic.AsyncAnthropic(base_url=self.url, api_key="none", **{"max_retries": 0, **options})


@pytest.fixture
def fake_api() -> Iterator[Served]:
    """Makes strict fakes of the Messages API, each served on a port of its own until the test ends."""
    served = Served()
    try:
        yield served
    finally:
        served.close()
