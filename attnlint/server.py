"""`attnlint server`: a language server over standard input and output: diagnostics, fixes, suppressions, the derivation on hover."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

try:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer
    from pygls.uris import to_fs_path
except ImportError as error:  # the command line tells how to install what is missing
    raise ImportError(f"it needs pygls 2.0 or newer: {error}") from error

from attnlint._version import __version__
from attnlint.config import ConfigError
from attnlint.editor import Judged, Linter, Opened, Region, Text, touches
from attnlint.hover import markdown
from attnlint.model import Position
from attnlint.session import SYNTAX, UNUSED, Diagnostic
from attnlint.text.buffers import Lines, Point, Replacement, changed

PAUSE = 0.3  # seconds without a change after which a text is linted
LOOK_AFTER = 2.0  # seconds between two looks whether the client's process is still there
STACK = 64 << 20  # bytes; what a deeply nested file asks of the thread that parses it
FIX_ALL = "source.fixAll.attnlint"
CONFIGURATION = ("**/attnlint.toml", "**/.attnlint.toml", "**/pyproject.toml")
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def main(arguments: Sequence[str] = ()) -> int:
    """Serves until the client says `exit` or closes standard input."""
    from attnlint.cli import config_file, overrides, server_parser

    options = server_parser().parse_args(list(arguments))
    path = config_file(options)
    linter = Linter(overrides(options), None if path is None else os.path.abspath(path), options.isolated)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # there is nothing to clean up, and the thread that reads cannot be woken
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    status = 0
    try:
        serve(linter, sys.stdin.buffer, _own_output())
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    sys.stderr.flush()
    os._exit(status)  # whoever asked is gone: nobody waits for an analysis that is under way


def _own_output() -> BinaryIO:
    """Standard output for the protocol alone: whatever else prints there goes to standard error."""
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


def serve(linter: Linter, reader: BinaryIO, writer: BinaryIO) -> None:
    """Answers one client."""
    server = LanguageServer(
        "attnlint",
        __version__,
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        notebook_document_sync=types.NotebookDocumentSyncOptions(
            [types.NotebookDocumentFilterWithNotebook("*", [types.NotebookCellLanguage("python")])], save=True
        ),
    )
    Session(server, linter).register()
    server.start_io(reader, writer)


@dataclass
class Buffer:
    """A text document that the client has open; `owner` is the uri of its notebook, or its own."""

    uri: str
    owner: str
    language: str
    text: str
    version: int | None


class Session:
    """What a client has open and what was said of it. Everything but the analysis runs on the event loop's thread."""

    def __init__(self, server: LanguageServer, linter: Linter) -> None:
        self._server = server
        self._linter = linter
        self._buffers: dict[str, Buffer] = {}
        self._judged: dict[str, Judged] = {}
        self._published: dict[str, set[str]] = {}
        self._changes: dict[str, int] = {}
        self._judged_at: dict[str, int] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._said: set[str] = set()
        before = threading.stack_size(STACK)
        self._thread = ThreadPoolExecutor(1, "attnlint")  # one: the engine is not made for two at a time
        self._thread.submit(int).result()  # starts it, with that stack
        threading.stack_size(before)

    def register(self) -> None:
        """Tells the server which messages are answered, and how."""
        features: tuple[tuple[str, Callable[..., Any], Any], ...] = (
            (types.INITIALIZED, self._initialized, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self._did_open, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._did_change, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self._did_save, types.SaveOptions(include_text=False)),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._did_close, None),
            (types.NOTEBOOK_DOCUMENT_DID_OPEN, self._did_open_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CHANGE, self._did_change_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_SAVE, self._did_save_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CLOSE, self._did_close_notebook, None),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._did_change_files, None),
            (types.TEXT_DOCUMENT_HOVER, self._hover, None),
            (
                types.TEXT_DOCUMENT_CODE_ACTION,
                self._code_actions,
                types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
            ),
        )
        for name, answer, options in features:
            self._server.feature(name, options)(partial(answer))  # a bound method takes no attributes, which pygls sets

    # What the client tells of its texts

    def _initialized(self, _params: types.InitializedParams) -> None:
        if (client := self._server.process_id) is not None and os.name == "posix":
            threading.Thread(target=_end_with, args=(client,), daemon=True).start()
        workspace = self._server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in (*CONFIGURATION, "**/*.py")]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            self._server.client_register_capability(
                types.RegistrationParams([types.Registration("attnlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)])
            )

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._keep(params.text_document, params.text_document.uri)
        self._linter.forget()
        self._lint_soon(params.text_document.uri, 0)

    def _did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._apply(params.text_document, params.content_changes)
        self._lint_soon(params.text_document.uri, PAUSE)

    def _did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._saved(params.text_document.uri)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._buffers.pop(params.text_document.uri, None)
        self._forget(params.text_document.uri)

    def _did_open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        for one in params.cell_text_documents:
            self._keep(one, params.notebook_document.uri)
        self._linter.forget()
        self._lint_soon(params.notebook_document.uri, 0)

    def _did_change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        cells = params.change.cells
        if cells is not None and cells.structure is not None:
            for one in cells.structure.did_open or ():
                self._keep(one, uri)
            for closed in cells.structure.did_close or ():
                self._buffers.pop(closed.uri, None)
        for change in (cells.text_content or ()) if cells is not None else ():
            self._apply(change.document, change.changes)
        self._lint_soon(uri, PAUSE)

    def _did_save_notebook(self, params: types.DidSaveNotebookDocumentParams) -> None:
        self._saved(params.notebook_document.uri)

    def _did_close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        for uri in [one.uri for one in self._buffers.values() if one.owner == params.notebook_document.uri]:
            del self._buffers[uri]
        self._forget(params.notebook_document.uri)

    def _did_change_files(self, _params: types.DidChangeWatchedFilesParams) -> None:
        self._linter.forget()
        for uri in {one.owner for one in self._buffers.values()}:
            self._lint_soon(uri, PAUSE)

    def _keep(self, item: types.TextDocumentItem, owner: str) -> None:
        self._buffers[item.uri] = Buffer(item.uri, owner, item.language_id, item.text, item.version)

    def _apply(self, document: types.VersionedTextDocumentIdentifier, changes: Iterable[Any]) -> None:
        buffer = self._buffers.get(document.uri)
        if buffer is None:
            return
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = (Point(one.line, one.character) for one in (change.range.start, change.range.end))
                buffer.text = changed(buffer.text, start, end, change.text, self._encoding)
            else:
                buffer.text = change.text
        buffer.version = document.version

    def _saved(self, uri: str) -> None:
        """A saved file may change what is said of every open file that rests on it."""
        self._linter.forget()
        path = self._path(uri)
        for other, judged in list(self._judged.items()):
            if other != uri and path in touches(judged.outcome):
                self._lint_soon(other, 0)
        self._lint_soon(uri, 0)

    def _forget(self, uri: str) -> None:
        if (task := self._waiting.pop(uri, None)) is not None:
            task.cancel()
        self._judged.pop(uri, None)
        self._judged_at.pop(uri, None)
        self._changes[uri] = self._changes.get(uri, 0) + 1  # an analysis that is on its way comes too late
        for published in sorted(self._published.pop(uri, set())):
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(published, []))

    # Linting

    def _lint_soon(self, uri: str, pause: float) -> None:
        self._changes[uri] = self._changes.get(uri, 0) + 1
        if (task := self._waiting.pop(uri, None)) is not None:
            task.cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._lint_after(uri, pause))

    async def _lint_after(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        await self._lint(uri)

    async def _current(self, uri: str) -> Judged | None:
        """What is to be said of the text as it is now; waits for no pause in the typing."""
        if self._judged_at.get(uri) != self._changes.get(uri):
            await self._lint(uri)
        return self._judged.get(uri) if self._judged_at.get(uri) == self._changes.get(uri) else None

    async def _lint(self, uri: str) -> None:
        opened = self._opened(uri)
        if opened is None:
            return
        change = self._changes[uri]
        others = [one.outcome for other, one in self._judged.items() if other != uri and one.outcome is not None]
        relevant = [one for one in others if opened.absolute in touches(one)]
        try:
            judged = await asyncio.get_running_loop().run_in_executor(self._thread, self._linter.judge, opened, relevant)
        except ConfigError as error:
            self._say(str(error))
            return
        except Exception as error:  # the server goes on with the other files
            self._log(f"{opened.absolute}: internal error: {type(error).__name__}: {error}; please report it with this file")
            return
        if self._changes.get(uri) != change:
            return  # the text has changed meanwhile
        before = self._judged.get(uri)
        self._judged[uri], self._judged_at[uri] = judged, change
        self._said.clear()
        for note in judged.notes:
            self._log(note)
        self._publish(judged)
        self._lint_those_that_it_speaks_of(judged, before)

    def _lint_those_that_it_speaks_of(self, judged: Judged, before: Judged | None) -> None:
        """Other open files in which this one's analysis has shown something, or no longer does."""
        now, then = (_shown_elsewhere(one) for one in (judged, before))
        for uri, other in list(self._judged.items()):
            if uri != judged.opened.uri and now.get(other.opened.absolute) != then.get(other.opened.absolute):
                self._lint_soon(uri, 0)

    def _opened(self, uri: str) -> Opened | None:
        path = self._path(uri)
        root = self._root(path)
        notebook = self._server.workspace.get_notebook_document(notebook_uri=uri)
        if notebook is None:
            buffer = self._buffers.get(uri)
            if buffer is None or buffer.owner != uri:
                return None
            if buffer.language == "python" and path.endswith(".ipynb"):
                path += ".py"  # JupyterLab sends a notebook's cells as one text of Python, under the notebook's own name
            return Opened(uri, path, root, (Text(uri, buffer.language, buffer.text, buffer.version),))
        texts = []
        for cell in notebook.cells:
            buffer = self._buffers.get(cell.document)
            if buffer is not None:
                is_code = cell.kind == types.NotebookCellKind.Code
                texts.append(Text(buffer.uri, buffer.language, buffer.text, buffer.version, is_code))
        return Opened(uri, path if path.endswith(".ipynb") else path + ".ipynb", root, tuple(texts), True)

    def _path(self, uri: str) -> str:
        """The path of a text; one that was never saved gets one in the folder that is open."""
        if uri.startswith("file:") and (path := to_fs_path(uri)):
            return os.path.abspath(path)
        name = "".join(char if char.isalnum() or char in "._-" else "_" for char in uri.rpartition("/")[2].rpartition(":")[2])
        return os.path.join(self._folders()[0] if self._folders() else os.getcwd(), name or "untitled.py")

    def _root(self, path: str) -> str:
        """The innermost open folder around a file, or its own folder."""
        around = [folder for folder in self._folders() if path.startswith(folder.rstrip(os.sep) + os.sep)]
        return max(around, key=len, default=os.path.dirname(path))

    def _folders(self) -> list[str]:
        workspace = self._server.workspace
        uris = [folder.uri for folder in workspace.folders.values()] or ([workspace.root_uri] if workspace.root_uri else [])
        return [os.path.abspath(path) for uri in uris if (path := to_fs_path(uri))]

    @property
    def _encoding(self) -> str:
        return str(getattr(self._server.workspace.position_encoding, "value", self._server.workspace.position_encoding) or "utf-16")

    def _say(self, message: str) -> None:
        """Shows what is wrong with the settings, once until it is mended."""
        if message not in self._said:
            self._said.add(message)
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"attnlint: {message}"))

    def _log(self, message: str) -> None:
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Warning, f"attnlint: {message}"))

    # Answers

    def _publish(self, judged: Judged) -> None:
        uri = judged.opened.uri
        by_text: dict[str, list[types.Diagnostic]] = {text.uri: [] for text in judged.opened.texts}
        for one in judged.diagnostics:
            region = judged.region(one.finding.span)
            by_text.setdefault(region.uri, []).append(self._diagnostic(judged, one))
        for gone in sorted(self._published.get(uri, set()) - set(by_text)):
            by_text[gone] = []
        self._published[uri] = {text.uri for text in judged.opened.texts}
        versions = {text.uri: text.version for text in judged.opened.texts}
        outcome = judged.outcome
        if outcome is not None and outcome.error is not None and judged.opened.texts:
            first = types.Range(types.Position(0, 0), types.Position(0, 0))
            said = types.Diagnostic(first, outcome.error, types.DiagnosticSeverity.Information, source="attnlint")
            by_text[judged.opened.texts[0].uri].append(said)
        for text, diagnostics in by_text.items():
            params = types.PublishDiagnosticsParams(text, diagnostics, versions.get(text))
            self._server.text_document_publish_diagnostics(params)

    def _diagnostic(self, judged: Judged, one: Diagnostic) -> types.Diagnostic:
        finding = one.finding
        return types.Diagnostic(
            self._range(judged, judged.region(finding.span)),
            finding.message,
            SEVERITIES.get(finding.severity, types.DiagnosticSeverity.Warning),
            finding.code,
            types.CodeDescription(one.rule.url) if one.rule is not None and one.rule.url else None,
            "attnlint",
            [types.DiagnosticTag.Unnecessary] if finding.code == UNUSED[0] else None,
        )

    def _range(self, judged: Judged, region: Region) -> types.Range:
        lines = self._lines(judged, region.uri)
        return types.Range(*(types.Position(point.line, point.character) for point in map(lines.point, (region.start, region.end))))

    def _lines(self, judged: Judged, uri: str) -> Lines:
        return Lines(next((text.text for text in judged.opened.texts if text.uri == uri), ""), self._encoding)

    def _owner(self, uri: str) -> str:
        buffer = self._buffers.get(uri)
        return buffer.owner if buffer is not None else uri

    def _position(self, judged: Judged, uri: str, position: types.Position) -> Position:
        return self._lines(judged, uri).position(Point(position.line, position.character))

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        judged = await self._current(self._owner(uri))
        if judged is None:
            return None
        position = self._position(judged, uri, params.position)
        sites = judged.at(uri, position)
        if not sites:
            return None
        regions = [judged.region(site.span) for site in sites]
        shown = next((region for region in regions if region.holds(uri, position)), None)
        text = markdown(sites, judged.diagnostics, judged.where)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), self._range(judged, shown) if shown is not None else None)

    async def _code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        judged = await self._current(self._owner(uri))
        if judged is None:
            return []
        wanted = params.context.only
        start, end = (self._position(judged, uri, one) for one in (params.range.start, params.range.end))
        here = [one for one in judged.diagnostics if judged.region(one.finding.span).meets(uri, start, end)]
        actions: list[types.CodeAction | None] = []
        if _is_wanted(types.CodeActionKind.QuickFix, wanted):
            actions += [self._fix(judged, one) for one in here]
            actions += [self._suppress(judged, one) for one in here]
        if _is_wanted(FIX_ALL, wanted):
            title = "Apply every safe fix of attnlint"
            actions.append(self._action(judged, title, FIX_ALL, judged.fixed(judged.all_safe()), judged.all_safe(), None))
        return [one for one in actions if one is not None]

    def _fix(self, judged: Judged, one: Diagnostic) -> types.CodeAction | None:
        fix = one.finding.fix
        if fix is None:
            return None
        is_safe = fix.applicability == "safe"
        title = f"Fix {one.finding.name}: {fix.message}"
        if not is_safe and "unsafe" not in fix.message:
            title += " (unsafe: a trained model computes something else afterwards)"
        return self._action(judged, title, types.CodeActionKind.QuickFix, judged.fixed([one]), [one], is_safe)

    def _suppress(self, judged: Judged, one: Diagnostic) -> types.CodeAction | None:
        if one.finding.code in (SYNTAX[0], UNUSED[0]):
            return None
        title = f"Suppress {one.finding.name} here"
        return self._action(judged, title, types.CodeActionKind.QuickFix, judged.suppressed(one), [one], False)

    def _action(
        self,
        judged: Judged,
        title: str,
        kind: str,
        changes: dict[str, list[Replacement]] | None,
        found: Sequence[Diagnostic],
        is_preferred: bool | None,
    ) -> types.CodeAction | None:
        if changes is None:
            return None
        diagnostics = [self._diagnostic(judged, one) for one in found]
        return types.CodeAction(title, kind, diagnostics, is_preferred, edit=self._workspace_edit(judged, changes))

    def _workspace_edit(self, judged: Judged, changes: dict[str, list[Replacement]]) -> types.WorkspaceEdit:
        edits: dict[str, list[types.TextEdit]] = {}
        for uri, found in changes.items():
            edits[uri] = [types.TextEdit(self._range(judged, Region(uri, one.start, one.end)), one.text) for one in found]
        workspace = self._server.client_capabilities.workspace
        can = workspace.workspace_edit if workspace is not None else None
        if can is None or not can.document_changes:
            return types.WorkspaceEdit(changes=edits)
        versions = {text.uri: text.version for text in judged.opened.texts}
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions.get(uri)), found)
                for uri, found in edits.items()
            ]
        )


def _end_with(client: int) -> None:
    """Ends this process when the client's is gone, as the protocol asks for: its end of the pipe may be held open by another."""
    while True:
        time.sleep(LOOK_AFTER)
        try:
            os.kill(client, 0)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            continue  # it is another user's, and there


def _is_wanted(kind: str, wanted: Sequence[str] | None) -> bool:
    """A client may ask for kinds of actions, each of which stands for those below it too."""
    own = str(getattr(kind, "value", kind))
    names = [str(getattr(one, "value", one)) for one in wanted or ()]
    return not names or any(own == name or own.startswith(name + ".") for name in names)


def _shown_elsewhere(judged: Judged | None) -> dict[str, frozenset[object]]:
    """What an analysis has shown in other files than its own, by file."""
    shown: dict[str, set[object]] = {}
    if judged is not None and judged.outcome is not None:
        result = judged.outcome.result
        for name, one in [(one.filename, one) for one in result.findings] + [(one.filename, one) for one in result.sites]:
            path = os.path.abspath(name)
            if path != judged.opened.absolute:
                shown.setdefault(path, set()).add(one)
    return {path: frozenset(found) for path, found in shown.items()}
