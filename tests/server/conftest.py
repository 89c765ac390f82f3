"""One language server for the tests that need no other; each test has a folder of its own in the server's workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("pygls.lsp.server", reason="the extra `server` is not installed")

from client import Client


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("workspace"))
    yield client
    assert client.close() == 0
    assert b"Traceback" not in b"".join(client.stderr)


_numbers = count(1)


@pytest.fixture
def client(running: Client) -> Iterator[Client]:
    """The server, with `folder` as the name of a folder that no other test uses, in messages from before this test taken out."""
    running.folder = f"test{next(_numbers)}"
    (running.root / running.folder).mkdir()
    running.messages.clear()
    yield running
    for uri in list(running.texts):
        running.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    running.texts.clear()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Starts a server of the test's own."""
    clients: list[Client] = []

    def launch(*arguments: str, **options: object) -> Client:
        clients.append(Client(tmp_path, *arguments, **options))
        return clients[-1]

    yield launch
    for one in clients:
        if one.process.poll() is None:
            assert one.close() == 0
