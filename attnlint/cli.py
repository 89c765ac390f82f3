"""The command line: parses the arguments, runs the sub-command, decides the exit status (0 nothing found, 1 found, 2 not done)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from attnlint._version import __version__

SITE_FORMATS = ("full", "concise", "json", "json-lines")
COMMANDS = ("check", "sites", "rules", "rule", "config", "confirm", "audit", "explain", "server", "clean", "generate-shell-completion")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs attnlint and returns its exit status; never raises for what a user can do wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "_ARGCOMPLETE" in os.environ:
        from attnlint.completion import answer

        answer()
    from attnlint.console import guarded

    return guarded(lambda: _dispatch(arguments))


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("audit", "confirm", "server"):
        return _hand_over(arguments[0], arguments[1:])
    if not arguments:
        build_parser().print_help()
        return 2
    if arguments[0] not in COMMANDS and arguments[0] not in ("-h", "--help", "--version", "-V", "help"):
        word = arguments[0]
        is_word = word.replace("-", "").isalpha() and not word.startswith("-")
        if is_word and not os.path.lexists(word) and (meant := _suggested(word, COMMANDS)):
            from attnlint.config import ConfigError

            raise ConfigError(f"{word}: no such file, folder or command{meant}")
        arguments = ["check", *arguments]
    if arguments[0] == "help":
        arguments = [*arguments[1:2], "--help"]
    parser = build_parser()
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


def _hand_over(command: str, arguments: list[str]) -> int:
    from importlib import import_module

    from attnlint.config import ConfigError
    from attnlint.extras import remedy

    try:
        module = import_module({"audit": "attnlint.audit.command"}.get(command, f"attnlint.{command}"))
        entry = module.main
    except (ImportError, AttributeError) as error:
        extra = {"confirm": "probe"}.get(command, command)
        raise ConfigError(f"`attnlint {command}` is not available here ({error}); {remedy(extra)}") from None
    return int(entry(arguments) or 0)


class Parser(argparse.ArgumentParser):
    """A parser that says which option may be meant by one that it does not know."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            word = next((one for one in unknown.split() if one.startswith("-")), "")
            message += _suggested(word.partition("=")[0], _option_strings(self))
        super().error(message)


def _option_strings(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a parser and of its commands."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            found += [one for inner in action.choices.values() for one in _option_strings(inner)]
    return found


def _suggested(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f"; did you mean `{close[0]}`?" if close else ""


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="attnlint",
        description="Proves with which scale softmax sees q·k, reports where that is not 1/√d_k, and repairs it.",
        epilog="`attnlint PATH…` is `attnlint check PATH…`. Exit status: 0 nothing found, 1 something found, 2 the work could not be done.",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"attnlint {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_check(commands)
    _add_sites(commands)
    _add_rules(commands)
    _add_rule(commands)
    _add_config(commands)
    _add_explain(commands)
    for name, text in (
        ("confirm", "Run a finding's code beside a float64 reference attention, before and after its fix."),
        ("audit", "Find every attention site of repositories, archives and tables of code, on Dask."),
        ("server", "Start the language server."),
    ):
        commands.add_parser(name, help=text, add_help=False)
    clean = commands.add_parser("clean", help="Remove the caches below the current folder.", allow_abbrev=False)
    clean.add_argument("paths", nargs="*", metavar="PATH", help="folders to clean (default: the current one)")
    clean.add_argument("--cache-dir", metavar="DIR", help="a cache that lies elsewhere")
    clean.set_defaults(run=_late("clean"))
    completion = commands.add_parser("generate-shell-completion", help="Print a completion script.", allow_abbrev=False)
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "powershell"), help="the shell that will read it")
    completion.set_defaults(run=_late("completion"))
    return parser


def server_parser() -> Parser:
    """The parser of `attnlint server`, here so that it can be asked without pygls."""
    parser = Parser(
        prog="attnlint server", description="Speaks the language server protocol on standard input and output.", allow_abbrev=False
    )
    parser.add_argument("--stdio", action="store_true", help="what it does anyway; some editors say so")
    parser.add_argument("--config", action="append", metavar="FILE", help="configuration file, or a setting such as 'preview = true'")
    parser.add_argument("--isolated", action="store_true", help="read no configuration file")
    _add_allowed(parser)
    return parser


def _late(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        from attnlint import commands

        command: Callable[[argparse.Namespace], int] = getattr(commands, name)
        return command(options)

    return run


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="Report (and fix) attention scales that are wrong.", allow_abbrev=False)
    check.set_defaults(run=_late("check"))
    check.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; `-` reads standard input (default: the current folder)")
    rules = check.add_argument_group("rules")
    for name, text in (
        ("select", "rules to report: codes, prefixes or names, with commas between"),
        ("extend-select", "rules to report besides"),
        ("ignore", "rules not to report"),
        ("extend-ignore", "rules not to report besides"),
    ):
        rules.add_argument(f"--{name}", action="append", metavar="RULES", help=text)
    rules.add_argument("--per-file-ignores", action="append", metavar="PATTERN:RULES", help="rules not to report in files that match")
    _flag(rules, "preview", "report preview rules and findings too")
    fixes = check.add_argument_group("fixes")
    _flag(fixes, "fix", "apply safe fixes")
    _flag(fixes, "unsafe-fixes", "count and apply fixes that change what a trained checkpoint computes")
    fixes.add_argument("--diff", action="store_true", help="print what --fix would change, and write nothing")
    fixes.add_argument(
        "--confirm", action="store_true", help="run each finding's code before and after its fix; with --fix, apply the fixes so proved"
    )
    fixes.add_argument("--add-ignore", metavar="REASON", nargs="?", const="", help="write a suppression with this reason for every finding")
    output = check.add_argument_group("output")
    _add_output(output)
    _flag(output, "statistics", "print the number of findings of each rule")
    _flag(output, "exit-zero", "exit with status 0 even where something was found")
    _flag(output, "exit-non-zero-on-fix", "exit with status 1 where something was fixed")
    known = check.add_argument_group("known findings")
    known.add_argument("--baseline", metavar="FILE", help='findings listed in this file are not reported ("" for no file)')
    known.add_argument("--update-baseline", action="store_true", help="write the present findings to the baseline")
    known.add_argument("--prune-baseline", action="store_true", help="take entries out of the baseline that are no longer found; add none")
    _add_files(check.add_argument_group("files"))
    _add_work(check.add_argument_group("work"))


def _add_sites(commands: Any) -> None:
    sites = commands.add_parser("sites", help="List every attention site with its verdict.", allow_abbrev=False)
    sites.set_defaults(run=_late("sites"))
    sites.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; `-` reads standard input (default: the current folder)")
    output = sites.add_argument_group("output")
    _add_output(output, SITE_FORMATS)
    _flag(output, "statistics", "print how many sites have which verdict, and why")
    _add_files(sites.add_argument_group("files"))
    _add_work(sites.add_argument_group("work"))


def _add_rules(commands: Any) -> None:
    rules = commands.add_parser("rules", help="List the rules, one a line.", allow_abbrev=False)
    rules.set_defaults(run=_late("rules"))
    rules.add_argument("--output-format", choices=("text", "json"), default="text", help="how the rules are printed")


def _add_rule(commands: Any) -> None:
    rule = commands.add_parser("rule", help="Explain a rule, or all of them.", allow_abbrev=False)
    rule.set_defaults(run=_late("rule"))
    rule.add_argument("rule", nargs="?", metavar="RULE", help="code or name")
    rule.add_argument("--all", action="store_true", help="all rules")
    rule.add_argument("--output-format", choices=("text", "json"), default="text", help="how the rule is printed")


def _add_config(commands: Any) -> None:
    config = commands.add_parser("config", help="Print the effective settings.", allow_abbrev=False)
    config.set_defaults(run=_late("config"))
    config.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="file or folder whose settings to print (default: the current folder)"
    )
    config.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="how the settings are printed")
    config.add_argument("--schema", action="store_true", help="print the JSON schema of the settings")
    config.add_argument("--config", action="append", metavar="FILE", help="configuration file, or a setting such as 'preview = true'")
    config.add_argument("--isolated", action="store_true", help="read no configuration file")


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser("explain", help="Show by numbers why the logits are divided by the root of d_k.", allow_abbrev=False)
    explain.set_defaults(run=_late("explain"))


def _flag(group: Any, name: str, text: str) -> None:
    group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=text)


def _add_output(group: Any, formats: Sequence[str] = ()) -> None:
    from attnlint.config import OUTPUT_FORMATS

    group.add_argument("--output-format", choices=formats or OUTPUT_FORMATS, help="how findings are printed")
    group.add_argument("-o", "--output-file", metavar="FILE", help="write there instead of to standard output")
    group.add_argument("-q", "--quiet", action="store_true", default=None, help="print findings only")
    group.add_argument(
        "-v", "--verbose", action="store_true", default=None, help="print timings and what was passed over, to standard error"
    )
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours (also by NO_COLOR and FORCE_COLOR)")


def _add_files(group: Any) -> None:
    group.add_argument("--exclude", action="append", metavar="PATTERNS", help="files and folders to pass over")
    group.add_argument("--extend-exclude", action="append", metavar="PATTERNS", help="files and folders to pass over besides")
    group.add_argument(
        "--extend-include", action="append", metavar="PATTERNS", help='files to look at besides Python and notebooks, such as "*.md"'
    )
    _flag(group, "force-exclude", "pass over excluded files even where they are named here")
    _flag(group, "respect-gitignore", "pass over what .gitignore names")
    group.add_argument("--stdin-filename", metavar="PATH", help="the name of what standard input holds")


def _add_allowed(group: Any) -> None:
    group.add_argument(
        "--allow-plugins",
        action="store_true",
        default=None,
        help="load the modules that the setting `plugins` of this folder's configuration names: they are code, and run",
    )


def _add_work(group: Any) -> None:
    _add_allowed(group)
    group.add_argument("--max-steps", type=_count, metavar="N", help="steps of evaluation that one file is granted")
    group.add_argument("--max-seconds", type=_count, metavar="N", help="seconds of computing that one file is granted (0: no limit)")
    group.add_argument("--config", action="append", metavar="FILE", help="configuration file, or a setting such as 'preview = true'")
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    group.add_argument("-n", "--no-cache", action="store_true", default=None, help="neither read nor write the cache")
    group.add_argument("--cache-dir", metavar="DIR", help="where the cache lies")
    group.add_argument("-j", "--jobs", type=_count, metavar="N", help="processes to use (0: what the machine has)")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def overrides(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line says of settings, by their names; what it does not say is left out."""
    from attnlint.config import BY_NAME, parse_inline, split_codes

    said: dict[str, Any] = {}
    for text in getattr(options, "config", None) or ():
        if _is_inline(text):
            said.update(parse_inline(text))
    said.update(_from_environment(options))
    for option in BY_NAME.values():
        value = getattr(options, option.attribute, None)
        if value is None or option.file_only:
            continue
        if option.kind == "list":
            said[option.name] = split_codes(value)
        elif option.kind == "table":
            said[option.name] = _table(split_codes(value))
        else:
            said[option.name] = value
    return said


def _from_environment(options: argparse.Namespace) -> dict[str, Any]:
    """What environment variables say of settings."""
    from attnlint.config import OPTIONS, ConfigError

    said: dict[str, Any] = {}
    for option in OPTIONS:
        text = os.environ.get(option.variable) if option.variable else None
        if not text or (option.kind != "flag" and not hasattr(options, "paths")):
            continue
        if option.kind == "flag":
            said[option.name] = text.lower() not in ("0", "false", "no")
        elif option.choices and text not in option.choices:
            raise ConfigError(f"environment variable {option.variable}: {text!r} must be one of {', '.join(option.choices)}")
        else:
            said[option.name] = text
    return said


def _table(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    from attnlint.config import ConfigError

    table: dict[str, tuple[str, ...]] = {}
    last = None
    for pair in pairs:
        pattern, colon, code = pair.rpartition(":")
        if not colon and last is not None:
            pattern, code = last, pair
        elif not colon:
            raise ConfigError(f"--per-file-ignores: {pair!r} must be PATTERN:RULES, such as 'tests/*:ATT101'")
        table[pattern] = (*table.get(pattern, ()), code.strip())
        last = pattern
    return table


def _is_inline(text: str) -> bool:
    return "=" in text and not os.path.exists(text)


def config_file(options: argparse.Namespace) -> str | None:
    """The configuration file that the command line names, if any."""
    named = [text for text in getattr(options, "config", None) or () if not _is_inline(text)]
    return named[-1] if named else None
