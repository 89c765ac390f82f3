"""Open files: what the server says of them, when, and with which settings."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from client import edited
from samples import CLEAN, COLUMN, FAULTY, ROW, WRONG

# The expression at fault without its parentheses.
SPAN = {"start": {"line": ROW - 1, "character": COLUMN}, "end": {"line": ROW - 1, "character": COLUMN + len(WRONG) - 2}}
EXAMPLE = "self.embed_size ** (1 / 2)"


def codes(found):
    return [one["code"] for one in found]


def swap(old: str, new: str, text: str) -> dict:
    """An incremental change of the one place of `old` in an ASCII text."""
    at = text.index(old)
    line, start = text[:at].count("\n"), at - (text[:at].rfind("\n") + 1)
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": start + len(old)}},
        "text": new,
    }


def test_a_finding_on_opening(client):
    (one,) = client.diagnostics(client.open("model.py", FAULTY))
    assert one["code"] == "ATT102"
    assert "OWNER" not in str(one.get("codeDescription"))
    assert one["source"] == "attnlint"
    assert one["severity"] == 1
    assert one["range"] == SPAN
    assert "head_dim" in one["message"]


def test_the_disk_is_not_what_is_judged(client):
    (client.root / client.folder / "model.py").write_text(FAULTY)
    assert client.diagnostics(client.open("model.py", CLEAN)) == []


def test_typing(client):
    uri = client.open("model.py", FAULTY)
    assert codes(client.diagnostics(uri)) == ["ATT102"]
    client.change(uri, swap("embed_size ** (1 / 2)", "head_dim ** 0.5", FAULTY))
    assert client.diagnostics(uri, 2) == []
    client.change(uri, {"text": FAULTY})
    assert codes(client.diagnostics(uri, 3)) == ["ATT102"]
    client.change(uri, {"text": "def f(:\n"})
    assert codes(client.diagnostics(uri, 4)) == ["ATT002"]


def test_of_quick_changes_only_the_last_is_published(client):
    uri = client.open("model.py", FAULTY)
    client.diagnostics(uri, 1)
    for number in range(5):
        client.change(uri, {"text": f"{FAULTY}\nx = {number}\n"})
    client.change(uri, {"text": CLEAN})
    published = client.wait("textDocument/publishDiagnostics")
    assert (published["version"], published["diagnostics"]) == (7, [])


def test_several_changes_in_one_message_follow_each_other(client):
    uri = client.open("model.py", "x = 1\n")
    client.diagnostics(uri)
    start = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    client.change(uri, {"range": start, "text": FAULTY}, swap("embed_size ** (1 / 2)", "head_dim ** 0.5 / 2 * 2", FAULTY))
    assert client.diagnostics(uri, 2) == []


def test_saving(client):
    uri = client.open("model.py", FAULTY)
    client.diagnostics(uri)
    (client.root / client.folder / "attnlint.toml").write_text('ignore = ["ATT102"]\n')
    client.save(uri)
    assert client.diagnostics(uri) == []


def test_closing_takes_the_findings_away(client):
    uri = client.open("model.py", FAULTY)
    assert client.diagnostics(uri)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []


def test_columns_count_utf16_units(client):
    text = FAULTY.replace("energy / (self", "{'𝐪': energy}['𝐪'] / (self")
    (one,) = client.diagnostics(client.open("model.py", text))
    line = text.splitlines()[ROW - 1]
    expected = len(line[: line.index(EXAMPLE)].encode("utf-16-le")) // 2
    assert one["range"]["start"] == {"line": ROW - 1, "character": expected}


def test_columns_count_bytes_where_the_client_does(start):
    client = start(capabilities={"general": {"positionEncodings": ["utf-8"]}})
    assert client.capabilities["positionEncoding"] == "utf-8"
    text = FAULTY.replace("energy / (self", "{'𝐪': energy}['𝐪'] / (self")
    (one,) = client.diagnostics(client.open("model.py", text))
    line = text.splitlines()[ROW - 1]
    assert one["range"]["start"]["character"] == len(line[: line.index(EXAMPLE)].encode())


def test_a_form_feed_ends_no_line(client):
    uri = client.open("model.py", "\x0c" + CLEAN.replace("class", "\x0c\nclass"))
    assert client.diagnostics(uri) == []
    moved = "\x0c" + CLEAN.replace("class", "\x0c\nclass")
    client.change(uri, swap("head_dim ** 0.5", "embed_size ** (1 / 2)", moved))
    (one,) = client.diagnostics(uri, 2)
    assert one["range"]["start"] == {"line": ROW, "character": COLUMN}


def test_a_byte_order_mark_moves_its_row_only(client):
    text = "\ufeff" + FAULTY
    (one,) = client.diagnostics(client.open("model.py", text))
    assert one["range"] == SPAN


def test_a_declared_encoding(client):
    text = "# -*- coding: latin-1 -*-\n# Größe\n" + FAULTY
    (one,) = client.diagnostics(client.open("model.py", text))
    assert (one["code"], one["range"]["start"]["line"]) == ("ATT102", ROW + 1)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ('ignore = ["ATT102"]', []),
        ('select = ["ATT1"]', ["ATT102"]),
        ('per-file-ignores = { "model.py" = ["wrong-dim-scale"] }', []),
        ('per-file-ignores = { "other.py" = ["wrong-dim-scale"] }', ["ATT102"]),
        ('extend-exclude = ["model.py"]', []),
    ],
)
def test_the_nearest_settings_hold(client, settings, expected):
    (client.root / client.folder / "attnlint.toml").write_text(settings + "\n")
    assert codes(client.diagnostics(client.open("model.py", FAULTY))) == expected


def test_settings_of_the_command_line(start):
    client = start("--config", 'ignore = ["ATT102"]')
    assert client.diagnostics(client.open("model.py", FAULTY)) == []


def test_a_baseline(start, tmp_path):
    (tmp_path / "model.py").write_text(FAULTY)
    (tmp_path / "attnlint.toml").write_text('baseline = "known.json"\nno-cache = true\n')
    subprocess.run([sys.executable, "-m", "attnlint", "check", "--baseline", "known.json", "--update-baseline"], cwd=tmp_path, check=True)
    client = start()
    uri = client.open("model.py", "\n" + FAULTY)
    assert client.diagnostics(uri) == []
    client.change(uri, {"text": FAULTY.replace("(1 / 2)", "0.5")})
    assert codes(client.diagnostics(uri, 2)) == ["ATT102"]


def test_wrong_settings_are_named_once_and_can_be_mended(client):
    settings = client.root / client.folder / "attnlint.toml"
    settings.write_text("slect = []\n")
    uri = client.open("model.py", FAULTY)
    shown = client.wait("window/showMessage")
    assert shown["type"] == 1
    assert "unknown setting `slect`; did you mean `select`?" in shown["message"]
    client.change(uri, {"text": FAULTY + "\n"})
    assert client.actions(uri, SPAN) == []
    settings.write_text("")
    client.save(uri)
    assert codes(client.diagnostics(uri)) == ["ATT102"]
    assert not [one for one in client.messages if one["method"] == "window/showMessage"]


def test_suppressions_are_honoured(client):
    text = FAULTY.replace("dim=-1)\n", "dim=-1)  # attnlint: ignore[wrong-dim-scale] as trained\n")
    assert client.diagnostics(client.open("model.py", text)) == []


def test_an_unused_suppression_is_shown_as_such(client):
    (one,) = client.diagnostics(client.open("model.py", "x = 1  # attnlint: ignore[missing-scale]\n"))
    assert (one["code"], one["severity"], one["tags"]) == ("ATT001", 2, [1])


def test_only_python_is_linted(client):
    assert client.diagnostics(client.open("model.md", f"```python\n{FAULTY}```\n", "markdown")) == []
    (client.root / client.folder / "attnlint.toml").write_text('extend-include = ["*.md"]\n')
    assert codes(client.diagnostics(client.open("page.md", f"```python\n{FAULTY}```\n", "markdown"))) == ["ATT102"]
    assert codes(client.diagnostics(client.open("script", FAULTY))) == ["ATT102"]


def test_a_text_that_was_never_saved(client):
    assert codes(client.diagnostics(client.open("untitled:Untitled-1", FAULTY))) == ["ATT102"]


HELPER = "def scale(width):\n    return width ** -0.5\n"
CALLER = FAULTY.replace("import torch\n", "import torch\nfrom helper import scale\n").replace(
    f"energy / {WRONG}", "energy * scale(self.head_dim)"
)


def until_found(client, uri):
    while not (found := client.diagnostics(uri)):
        pass
    return found


def test_a_saved_helper_is_judged_by_its_open_callers(client):
    helper = client.root / client.folder / "helper.py"
    helper.write_text(HELPER)
    caller, other = client.open("model.py", CALLER), client.open("helper.py", HELPER)
    assert client.diagnostics(caller) == []
    assert client.diagnostics(other) == []
    wrong = HELPER.replace("-0.5", "-1")
    helper.write_text(wrong)
    client.change(other, {"text": wrong})
    client.save(other)
    (one,) = until_found(client, other)
    assert (one["code"], one["range"]["start"]["line"]) == ("ATT103", 1)
    client.change(other, {"text": "\n" + wrong})  # its rows are no longer those on disk, of which the caller's analysis speaks
    assert client.diagnostics(other, 3) == []


KERNEL = """\
import torch


def attention(q, k, v, width):
    return torch.softmax(q @ k.transpose(-2, -1) / width**0.5, dim=-1) @ v
"""
USER = FAULTY.replace("import torch\n", "import torch\nfrom kernel import attention\n").replace(
    FAULTY[FAULTY.index("        energy = ") :], "        return attention(q, k, v, self.embed_size)\n"
)


@pytest.mark.parametrize("order", [("user.py", "kernel.py"), ("kernel.py", "user.py")])
def test_the_server_says_what_the_command_line_says(client, order):
    folder = client.root / client.folder
    texts = {"kernel.py": KERNEL, "user.py": USER}
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "attnlint", "check", "--no-cache", "--output-format", "json", *texts]
    (told,) = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout)
    for name in order:
        client.open(name, texts[name])
    (one,) = until_found(client, client.uri(told["filename"]))
    assert (one["code"], one["message"]) == (told["code"], told["message"])
    assert one["range"]["start"] == {"line": told["location"]["row"] - 1, "character": told["location"]["column"] - 1}


def test_files_are_watched_where_the_client_can(start, tmp_path):
    client = start(capabilities={"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    uri = client.open("model.py", FAULTY)
    assert client.diagnostics(uri)
    (asked,) = [one for one in client.requests if one["method"] == "client/registerCapability"]
    patterns = [one["globPattern"] for one in asked["params"]["registrations"][0]["registerOptions"]["watchers"]]
    assert {"**/attnlint.toml", "**/pyproject.toml", "**/*.py"} <= set(patterns)
    (tmp_path / "attnlint.toml").write_text('ignore = ["ATT102"]\n')
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": client.uri("attnlint.toml"), "type": 1}]})
    assert client.diagnostics(uri) == []


def test_a_closed_pipe_ends_the_server(start):
    client = start("--stdio")
    client.process.stdin.close()
    assert client.process.wait(60) == 0


def test_a_signal_ends_the_server(start):
    client = start()
    client.process.terminate()
    assert client.process.wait(60) != 0


def test_help_starts_no_server():
    done = subprocess.run([sys.executable, "-m", "attnlint", "server", "--help"], capture_output=True, text=True, check=False, input="")
    assert done.returncode == 0
    assert "--config" in done.stdout


def test_without_pygls_the_remedy_is_named():
    program = "import sys; sys.modules['pygls'] = None; from attnlint.cli import main; sys.exit(main(['server']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, input="")
    assert done.returncode == 2
    assert "pip install 'pygls>=2.0'" in done.stderr
    assert "Traceback" not in done.stderr


def test_deep_nesting_ends_no_server(client):
    uri = client.open("deep.py", "import torch\nx = torch.softmax(" + "(" * 5000 + "1" + ")" * 5000 + ")\n")
    client.diagnostics(uri)
    assert codes(client.diagnostics(client.open("model.py", FAULTY))) == ["ATT102"]


def test_edits_of_the_test_client_count_units():
    span = {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4}}
    assert edited("𝐪bcd\n", [{"range": span, "newText": "X"}]) == "𝐪bXd\n"


ENDLESS = """
import attnlint.editor as editor, attnlint.server as server
whole, editor.SECONDS, server.LOOK_AFTER = editor.Linter._judge, {seconds}, 0.1
def judge(self, opened, others):
    editor.SECONDS = 1000
    while "endless" in opened.uri:
        try:
            len(opened.uri)
        except Exception:
            pass
    return whole(self, opened, others)
editor.Linter._judge = judge
"""


def test_what_takes_too_long_is_broken_off_and_the_next_file_is_judged(start):
    client = start(before=ENDLESS.format(seconds=1))
    (said,) = client.diagnostics(client.open("endless.py", FAULTY))
    assert said["message"] == "not analysed: it takes more than 1 seconds"
    assert said["severity"] == 3
    assert codes(client.diagnostics(client.open("model.py", FAULTY))) == ["ATT102"]


@pytest.mark.parametrize("how", ["closed", "gone"])
def test_the_server_ends_with_its_client_whatever_it_is_at(start, how):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = start(before=ENDLESS.format(seconds=1000), process_id=other.pid)
    client.open("endless.py", FAULTY)
    if how == "closed":
        client.process.stdin.close()
    other.communicate(b"\n")  # with `gone`, the pipe stays open
    client.process.wait(60)
