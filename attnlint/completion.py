"""Completion on the command line: the script that a shell needs, and the answers that it asks attnlint itself for.

The parser is the one source: commands, options, choices, rules and settings are known because it knows them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from argcomplete.completers import FilesCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.shell_integration import shellcode

from attnlint.cli import COMMANDS, build_parser, server_parser

SHELLS = ("bash", "zsh", "fish", "powershell")
RULES = ("select", "extend_select", "ignore", "extend_ignore", "rule")


def script(shell: str) -> str:
    """What makes completion known to a shell."""
    return str(shellcode(["attnlint"], shell=shell)).lstrip("\n")


def answer() -> None:
    """Answers the question that a shell asks in the environment, and ends the process."""
    Finder()(full_parser())


def full_parser() -> argparse.ArgumentParser:
    """The parser with the options of the commands that parse their own."""
    from attnlint.audit.arguments import parser as audit_parser
    from attnlint.confirm.command import parser as confirm_parser

    parser = build_parser()
    commands = _commands(parser)
    commands["audit"], commands["confirm"], commands["server"] = audit_parser(), confirm_parser(), server_parser()
    for command in commands.values():
        for action in command._actions:
            if action.dest in RULES and not action.choices:
                _completed(action, rules)
            elif action.dest == "config":
                _completed(action, configuration)
            elif action.dest == "add_ignore":
                _completed(action, lambda **_: ())
    return parser


def options(command: str) -> list[str]:
    """Every option of a command."""
    return sorted({option for action in _commands(full_parser())[command]._actions for option in action.option_strings})


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (choices,) = (one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    return choices


def _completed(action: argparse.Action, completer: Callable[..., Any]) -> None:
    action.completer = completer  # type: ignore[attr-defined]


def rules(prefix: str, **_: Any) -> dict[str, str]:
    """Codes and names of the rules, plug-ins' too, behind whatever stands before the last comma."""
    import os

    from attnlint.config import Resolver
    from attnlint.registry import rules as known

    before, comma, _last = prefix.rpartition(",")
    plugins = tuple(Resolver({}, None, False).for_directory(os.getcwd()).plugins)
    words = {word: one.summary for one in known(plugins) for word in (one.name, one.code)}
    return {f"{before}{comma}{word}": summary for word, summary in words.items()}


def configuration(prefix: str, **_: Any) -> dict[str, str]:
    """The settings that `--config` may set, and the files that it may name."""
    from attnlint.config import OPTIONS

    settings = {f"{option.name}=": option.help for option in OPTIONS}
    files: Iterable[str] = FilesCompleter()(prefix)
    return {**settings, **dict.fromkeys(files, "a configuration file")}


class Finder(CompletionFinder):
    """Knows that `attnlint PATH` is `attnlint check PATH`."""

    def _get_completions(self, comp_words: list[str], cword_prefix: str, *rest: Any) -> list[str]:
        program, *words = comp_words
        if words and words[0] not in COMMANDS:
            words = ["check", *words]
        found: list[str] = super()._get_completions([program, *words], cword_prefix, *rest)
        if not words:
            self._parser = full_parser()
            found += super()._get_completions([program, "check"], cword_prefix, *rest)
        return list(dict.fromkeys(found))
