"""A language client: JSON-RPC over the standard streams of a real `attnlint server`."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

HANGS = 20  # seconds after which a server that says nothing counts as hanging


class Client:
    """Starts the server, answers its requests, keeps its notifications; a lasting silence is a failure."""

    def __init__(
        self, root: Path, *arguments: str, capabilities: dict[str, Any] | None = None, before: str = "", process_id: int | None = None
    ) -> None:
        """`before` is a statement that the server runs first, `process_id` whose end it has to share."""
        self.root = root
        self.folder = "."
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.messages: list[dict[str, Any]] = []  # notifications that no one has waited for yet
        self.requests: list[dict[str, Any]] = []  # what the server asked for
        self._next = 0
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{before}\nimport sys, attnlint.cli\nsys.exit(attnlint.cli.main())", "server", *arguments],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.stderr: list[bytes] = []
        threading.Thread(target=lambda: self.stderr.extend(self.process.stderr or ()), daemon=True).start()
        answer = self.request(
            "initialize",
            {
                "processId": process_id,
                "rootUri": root.as_uri(),
                "workspaceFolders": [{"uri": root.as_uri(), "name": "root"}],
                "capabilities": {"notebookDocument": {"synchronization": {}}, **(capabilities or {})},
            },
        )
        self.capabilities: dict[str, Any] = answer["capabilities"]
        self.notify("initialized", {})

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = stream.readline()
            self._inbox.put(json.loads(stream.read(length)))
        self._inbox.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        message = self._inbox.get(timeout=HANGS)
        assert message is not None, b"".join(self.stderr).decode()
        assert "internal error" not in str(message.get("params")), message
        if "method" in message and "id" in message:
            self.requests.append(message)
            self._send({"id": message["id"], "result": None})
        return message

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._next and "method" not in message:
                assert "error" not in message, message["error"]
                return message["result"]
            if "method" in message and "id" not in message:
                self.messages.append(message)

    def wait(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification of this kind."""
        while True:
            for index, message in enumerate(self.messages):
                if message["method"] == method:
                    return self.messages.pop(index)["params"]
            message = self._receive()
            if "method" in message and "id" not in message:
                self.messages.append(message)

    def uri(self, name: str) -> str:
        return (self.root / self.folder / name).resolve().as_uri()

    def open(self, name: str, text: str, language: str = "python") -> str:
        uri = self.uri(name) if ":" not in name else name
        self.texts[uri], self.versions[uri] = text, 1
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}})
        return uri

    def change(self, uri: str, *changes: dict[str, Any]) -> None:
        self.versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self.versions[uri]}, "contentChanges": list(changes)},
        )

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next diagnostics of a text, or those of a certain version."""
        while True:
            params = self.wait("textDocument/publishDiagnostics")
            if params["uri"] == uri and version in (None, params.get("version")):
                return params["diagnostics"]

    def actions(self, uri: str, span: dict[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        context: dict[str, Any] = {"diagnostics": [], **({"only": only} if only else {})}
        return self.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": span, "context": context}) or []

    def hover(self, uri: str, line: int, character: int) -> dict[str, Any] | None:
        return self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})

    def close(self) -> int:
        """Ends the server as an editor does; returns its exit status."""
        self.request("shutdown")
        self.notify("exit", {})
        return self.process.wait(HANGS)


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after the edits of a client that counts characters in UTF-16, as the protocol has it by default."""
    lines = text.split("\n")

    def offset(position: dict[str, int]) -> int:
        before = sum(len(line) + 1 for line in lines[: position["line"]])
        units = lines[position["line"]].encode("utf-16-le", "surrogatepass")[: 2 * position["character"]]
        return before + len(units.decode("utf-16-le", "surrogatepass"))

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text
