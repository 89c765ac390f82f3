"""Completion, asked for as each shell asks: by the script that attnlint prints, in the shell itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
TYPED = [
    ("attnlint ch", "check"),
    ("attnlint mod", "model.py"),
    ("attnlint --unsafe-f", "--unsafe-fixes"),
    ("attnlint check --unsafe-f", "--unsafe-fixes"),
    ("attnlint check --output-format sar", "sarif"),
    ("attnlint model.py --stat", "--statistics"),
    ("attnlint model.py --select wrong-d", "wrong-dim-scale"),
    ("attnlint model.py --select ATT101,missing-s", "ATT101,missing-scale"),
    ("attnlint rule unr", "unrooted-scale"),
    ("attnlint sites --config extend-ex", "extend-exclude="),
    ("attnlint config --config mod", "model.py"),
    ("attnlint confirm --rep", "--report"),
    ("attnlint server --iso", "--isolated"),
    ("attnlint generate-shell-completion po", "powershell"),
]
ASK = {
    "bash": (
        "{script}\nCOMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\n"
        "_python_argcomplete attnlint; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ),
    # What the function adds, with the parts of zsh's completion that it calls put in the place of a terminal.
    "zsh": (
        "compdef() {{ print made known: $@; }}\n_describe() {{ print -rl -- ${{(P)2}}; }}\n{script}\n"
        "BUFFER='{typed}'; CURSOR=${{#BUFFER}}; words=(${{=BUFFER}}); _python_argcomplete"
    ),
    "fish": "{script}\ncomplete -C '{typed}'",
}
COMMAND = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"], "fish": ["fish", "-N", "-c"]}


def ask(shell: str, script: str, typed: str, folder: Path) -> str:
    environment = {**os.environ, "HOME": str(folder), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    (folder / "model.py").write_text("")
    command = [*COMMAND[shell], ASK[shell].format(script=script, typed=typed)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("typed", "expected"), TYPED, ids=lambda value: value.replace(" ", "_"))
def test_a_shell_completes(attnlint, tmp_path, shell, typed, expected):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    said = ask(shell, attnlint("generate-shell-completion", shell).out, typed, tmp_path)
    found = [line.split("\t")[0].split(":")[0].strip().replace("\\", "") for line in said.splitlines()]
    assert expected in found, said
    assert "Traceback" not in said


def test_what_completes_says_what_it_is(attnlint, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    said = ask("fish", attnlint("generate-shell-completion", "fish").out, "attnlint rule missing-s", tmp_path)
    assert "missing-scale\tChecks that the logits are scaled" in said


def test_powershell_asks_the_same_program(attnlint):
    script = attnlint("generate-shell-completion", "powershell").out
    assert script.lstrip().startswith("Register-ArgumentCompleter -Native -CommandName attnlint")
    assert script.count("{") == script.count("}")


def test_every_option_of_every_command_has_a_help_text(attnlint):
    from attnlint.completion import full_parser, options

    commands = next(one.choices for one in full_parser()._actions if isinstance(one.choices, dict))
    assert {"check", "sites", "rules", "rule", "config", "confirm", "server", "clean"} <= set(commands)
    for name, parser in commands.items():
        assert [action.dest for action in parser._actions if not action.help] == [], name
        shown = attnlint(name, "--help").out
        assert [option for option in options(name) if option not in shown] == [], name


def test_a_run_that_completes_nothing_does_not_load_the_completion():
    program = "import sys; from attnlint.cli import main; main(['config', '--isolated']); print('argcomplete' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
