"""Settings: which there are, where they come from (nearest configuration file, command line), and what they mean for a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnlint._version import __version__
from attnlint.text.files import read

if TYPE_CHECKING:
    from attnlint.discover import Patterns

OUTPUT_FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")
DEFAULT_EXCLUDE = (
    ".attnlint_cache",
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "buck-out",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
CONFIG_NAMES = ("attnlint.toml", ".attnlint.toml", "pyproject.toml")


class ConfigError(Exception):
    """A setting, option or configuration file is wrong; the text names it and says what to write instead."""


@dataclass(frozen=True)
class Option:
    """One setting: `kind` is list, flag, text, number, table (of lists), choice or path."""

    name: str
    kind: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    file_only: bool = False  # cannot be given on the command line
    variable: str = ""  # the environment variable that gives it, too
    user_only: bool = False  # comes from the command line and the environment alone: a linted tree may not choose it
    is_written: bool = False  # names what is written to: in a file, only what lies in the file's own folder

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")


OPTIONS = (
    Option(
        "select",
        "list",
        None,
        "Rules to report: codes (ATT102), prefixes (ATT1) or names (wrong-dim-scale); by default those that are on for everyone.",
    ),
    Option("extend-select", "list", (), "Rules to report besides those selected."),
    Option("ignore", "list", (), "Rules not to report: codes, prefixes or names; the more specific of select and ignore wins."),
    Option("extend-ignore", "list", (), "Rules not to report besides those ignored."),
    Option("preview", "flag", False, "Report preview rules and findings that are not yet on for everyone."),
    Option("per-file-ignores", "table", {}, "Rules not to report in files that match a pattern."),
    Option("fix", "flag", False, "Apply safe fixes."),
    Option("unsafe-fixes", "flag", False, "Also apply fixes that change what a trained checkpoint computes."),
    Option("extend-safe-fixes", "list", (), "Rules whose fixes count as safe.", file_only=True),
    Option("extend-unsafe-fixes", "list", (), "Rules whose fixes count as unsafe.", file_only=True),
    Option("output-format", "choice", "full", "How findings are printed.", OUTPUT_FORMATS, variable="ATTNLINT_OUTPUT_FORMAT"),
    Option(
        "output-file",
        "path",
        None,
        "File to write the findings to instead of standard output.",
        variable="ATTNLINT_OUTPUT_FILE",
        user_only=True,
    ),
    Option("statistics", "flag", False, "Print the number of findings of each rule instead of the findings."),
    Option("exit-zero", "flag", False, "Exit with status 0 even where something was found."),
    Option("exit-non-zero-on-fix", "flag", False, "Exit with status 1 where something was fixed, even if nothing is left."),
    Option("baseline", "path", None, "File of known findings that are not reported.", is_written=True),
    Option("no-cache", "flag", False, "Neither read nor write the cache."),
    Option(
        "cache-dir",
        "path",
        None,
        "Folder of the cache; `.attnlint_cache` beside the configuration file or in the current folder.",
        is_written=True,
    ),
    Option("jobs", "number", 0, "Processes to use; 0 takes what the machine has where the job is large enough."),
    Option("max-steps", "number", 300_000, "Steps of evaluation that one file is granted; a definition gets a tenth of them."),
    Option(
        "max-seconds",
        "number",
        60,
        "Seconds of computing that one file is granted; what takes longer is not analysed (status 2); 0 sets no limit.",
        user_only=True,
    ),
    Option("exclude", "list", DEFAULT_EXCLUDE, "Files and folders that are passed over, as glob patterns."),
    Option("extend-exclude", "list", (), "Files and folders that are passed over besides those excluded."),
    Option("extend-include", "list", (), 'Files to look at besides *.py, *.pyi and *.ipynb, as glob patterns such as "*.md".'),
    Option("force-exclude", "flag", False, "Pass over excluded files even where they are named on the command line."),
    Option("respect-gitignore", "flag", True, "Pass over what .gitignore names."),
    Option("quiet", "flag", False, "Print findings only."),
    Option("verbose", "flag", False, "Print timings and what was passed over, to standard error."),
    Option("extend", "path", None, "Configuration file that this one starts from.", file_only=True),
    Option("required-version", "text", None, 'Versions of attnlint that may be used, such as ">=0.1".', file_only=True),
    Option(
        "plugins",
        "list",
        (),
        "Modules of further rules. They are code, and run: those that the configuration of the current folder names are loaded with "
        "`--allow-plugins` only, those of a file given with `--config` always, those of any other configuration never.",
        file_only=True,
    ),
    Option(
        "allow-plugins",
        "flag",
        False,
        "Load the modules that the setting `plugins` of the current folder's configuration names.",
        variable="ATTNLINT_ALLOW_PLUGINS",
        user_only=True,
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}
# Settings of a nested configuration file that hold for its files; the others are settled once a run.
PATH_OPTIONS = frozenset({"output-file", "baseline", "cache-dir", "extend"})


@dataclass(frozen=True)
class Settings:
    """Effective settings for the files below `root`, the folder of the configuration file."""

    values: Mapping[str, Any]
    root: str
    source: str | None = None
    withheld: tuple[str, ...] = ()  # plug-ins that the file names and that nobody has allowed

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name.replace("_", "-")]
        except KeyError:
            raise AttributeError(name) from None

    @cached_property
    def excluded(self) -> Patterns:
        from attnlint.discover import Patterns

        return Patterns([*self.values["exclude"], *self.values["extend-exclude"]], self.root)

    @cached_property
    def _included(self) -> Patterns:
        from attnlint.discover import Patterns

        return Patterns(self.values["extend-include"], self.root)

    def wanted(self, name: str, absolute: str) -> bool:
        """Whether a file found in a folder is one to look at, by its name."""
        return name.endswith((".py", ".pyi", ".ipynb")) or bool(self.values["extend-include"] and self._included.match(absolute, name))

    @cached_property
    def file_ignores(self) -> tuple[tuple[Patterns, bool, tuple[str, ...]], ...]:
        """Each pattern of per-file-ignores, whether it is negated, and its codes."""
        from attnlint.discover import Patterns

        table = self.values["per-file-ignores"]
        return tuple(
            (Patterns([pattern.removeprefix("!")], self.root), pattern.startswith("!"), tuple(codes)) for pattern, codes in table.items()
        )

    def ignored_in(self, absolute: str) -> tuple[str, ...]:
        """The rules that per-file-ignores silences in a file."""
        return tuple(
            code for patterns, negated, codes in self.file_ignores if patterns.match_any_part(absolute) != negated for code in codes
        )


def defaults() -> dict[str, Any]:
    return {option.name: option.default for option in OPTIONS}


class Resolver:
    """Finds the settings of a file: command line over the nearest configuration file over the defaults.

    `overrides` are what the command line says; `config` is a file that replaces all others; `isolated` reads none. `run` holds for
    what is settled once a run, plug-ins among it: those that a linted tree names for itself are never loaded, and those of the current
    folder's file, which may be part of a linted tree, where `allow-plugins` is given.
    """

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, config: str | None = None, isolated: bool = False, cwd: str | None = None
    ) -> None:
        self.overrides = dict(overrides or {})
        self.cwd = cwd or os.getcwd()
        self.isolated = isolated
        self._fixed = None if config is None else read_file(config, required=True)
        self._by_folder: dict[str, Settings] = {}
        self.run = self.for_directory(self.cwd)

    def for_directory(self, folder: str) -> Settings:
        """The settings that hold for the files of a folder. Raises ConfigError for a wrong configuration file."""
        known = self._by_folder.get(folder)
        if known is None:
            known = self._by_folder[folder] = self._resolve(folder)
        return known

    def for_file(self, absolute: str) -> Settings:
        return self.for_directory(os.path.dirname(absolute))

    def _resolve(self, folder: str) -> Settings:
        if self._fixed is not None:
            return self._settings(self._fixed, self.cwd, None)
        if not self.isolated:
            if table := self._own_file(folder):
                path, values = table
                return self._settings(values, folder, path)
            parent = os.path.dirname(folder)
            if parent != folder:
                return self.for_directory(parent)
        return self._default

    @cached_property
    def _default(self) -> Settings:
        return self._settings({}, self.cwd, None)

    def _own_file(self, folder: str) -> tuple[str, dict[str, Any]] | None:
        for name in CONFIG_NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                values = read_file(path)
                if values is not None:
                    return path, values
        return None

    def _settings(self, values: dict[str, Any], root: str, source: str | None) -> Settings:
        withheld: tuple[str, ...] = ()
        if source is not None and not self.overrides.get("allow-plugins"):
            withheld = values.get("plugins", ())
            values = {name: value for name, value in values.items() if name != "plugins"}
        return Settings({**defaults(), **values, **self.overrides}, root, source, withheld)


def read_file(path: str, required: bool = False, seen: tuple[str, ...] = ()) -> dict[str, Any] | None:
    """The checked settings of a configuration file, with what it extends; None where a pyproject.toml has none of ours."""
    absolute = os.path.abspath(path)
    if absolute in seen:
        raise ConfigError(f"{path}: `extend` goes in a circle: {' → '.join([*seen, absolute])}")
    try:
        data = read(path)
    except OSError as error:
        if required or seen:
            by = f"{seen[-1]}: `extend`: " if seen else ""
            raise ConfigError(f"{by}{path}: cannot read the configuration file: {(error.strerror or str(error)).lower()}") from None
        return None
    is_pyproject = os.path.basename(path) == "pyproject.toml"
    if is_pyproject and not required and not seen and b"attnlint" not in data:
        return None
    document = parse_toml(data, path)
    if is_pyproject:
        table = document.get("tool", {}).get("attnlint") if isinstance(document.get("tool", {}), dict) else None
        if table is None:
            if required or seen:
                raise ConfigError(f"{path}: has no [tool.attnlint] table")
            return None
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: tool.attnlint must be a table")
        prefix = "tool.attnlint."
    else:
        table, prefix = document, ""
    values = check_values(table, path, prefix, os.path.dirname(absolute))
    if wanted := values.get("required-version"):
        check_version(wanted, path)
    if base := values.get("extend"):
        inherited = read_file(base, seen=(*seen, absolute)) or {}
        inherited.pop("extend", None)
        values = {**inherited, **values}
    return values


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ConfigError(f"{where}: not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise ConfigError(f"{where}: not valid TOML: {error}") from None


def check_values(table: Mapping[str, Any], where: str, prefix: str = "", base: str = "", by_user: bool = False) -> dict[str, Any]:
    """The settings of a table, each of its type; paths are taken from `base`. Raises ConfigError that names the key.

    What is not said `by_user`, on the command line, but stands in a file may name nothing outside `base` to be written.
    """
    checked: dict[str, Any] = {}
    for key, value in table.items():
        option = BY_NAME.get(key)
        if option is None:
            raise ConfigError(f"{where}: unknown setting `{prefix}{key}`{suggestion(key, BY_NAME)}")
        if option.user_only and not by_user:
            raise ConfigError(
                f"{where}: `{prefix}{key}` is for the command line alone (`--{key}`"
                + (f", or the environment variable {option.variable}" if option.variable else "")
                + "): a file may come with the code that is linted; take it out there"
            )
        checked[key] = check_value(option, value, f"{where}: `{prefix}{key}`", base)
        if option.is_written and not by_user and checked[key] and not _lies_in(checked[key], base):
            raise ConfigError(
                f"{where}: `{prefix}{key}` leads out of the folder of its file, and what is written there may be anyone's: "
                f"name a path in that folder, or give `--{key}` on the command line"
            )
    return checked


def _lies_in(path: str, folder: str) -> bool:
    """Whether a path, links followed, lies below a folder."""
    inside = os.path.join(os.path.realpath(folder), "")
    return os.path.realpath(path).startswith(inside)


def check_value(option: Option, value: Any, where: str, base: str = "") -> Any:
    """One value of the type its option asks for."""
    match option.kind, value:
        case "list", list() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case "flag", bool():
            return value
        case "number", int() if not isinstance(value, bool) and value >= 0:
            return value
        case "text", str():
            return value
        case "path", str():
            return os.path.join(base, os.path.expanduser(value)) if value else None
        case "choice", str() if value in option.choices:
            return value
        case "table", dict() if all(isinstance(item, list) and all(isinstance(code, str) for code in item) for item in value.values()):
            return {pattern: tuple(codes) for pattern, codes in value.items()}
    wanted = {
        "list": 'a list of strings, such as ["ATT1"]',
        "flag": "true or false",
        "number": "a whole number, 0 or more",
        "text": "a string",
        "path": "a string",
        "choice": "one of " + ", ".join(option.choices),
        "table": 'a table of lists, such as {"tests/*" = ["ATT101"]}',
    }
    raise ConfigError(f"{where} must be {wanted[option.kind]}, not {value!r}")


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` where a known word is close, else nothing."""
    import difflib

    close = difflib.get_close_matches(word.replace("_", "-"), list(known), 1)
    return f"; did you mean `{close[0]}`?" if close else ""


_COMPARE = re.compile(r"^\s*(===?|~=|!=|<=|>=|<|>)?\s*v?(\d+(?:\.\d+)*(?:\.\*)?)\s*$")


def check_version(wanted: str, where: str, current: str = __version__) -> None:
    """Raises ConfigError where this version is not one of those that `required-version` allows."""
    have = _release(current)
    for part in wanted.split(","):
        match = _COMPARE.match(part)
        if match is None:
            raise ConfigError(
                f'{where}: `required-version` must be a version such as "0.1.0" or a range such as ">=0.1,<2", not {wanted!r}'
            )
        operator, number = match.groups()
        if not _allowed(have, operator or "==", number):
            raise ConfigError(
                f"{where}: requires attnlint {wanted}, but this is {current}; install the version asked for or change `required-version`"
            )


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _allowed(have: tuple[int, ...], operator: str, number: str) -> bool:
    if number.endswith(".*"):
        want = _release(number[:-2])
        same = have[: len(want)] == want
        return not same if operator == "!=" else same
    want = _release(number)
    width = max(len(have), len(want))
    left, right = have + (0,) * (width - len(have)), want + (0,) * (width - len(want))
    verdicts = {
        "==": left == right,
        "===": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "~=": left >= right and have[: len(want) - 1] == want[:-1],
    }
    return verdicts[operator]


def as_json(settings: Settings) -> dict[str, Any]:
    """The effective settings as JSON values, in the order of the documentation."""
    shown = {}
    for option in OPTIONS:
        if option.user_only:
            continue
        value = settings.values[option.name]
        shown[option.name] = (
            list(value) if isinstance(value, tuple) else {k: list(v) for k, v in value.items()} if isinstance(value, dict) else value
        )
    return shown


def json_schema() -> dict[str, Any]:
    """The JSON schema of `[tool.attnlint]`, generated from the table of options."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "attnlint settings",
        "description": "Settings of attnlint in attnlint.toml or in the [tool.attnlint] table of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {option.name: _schema(option) for option in sorted(OPTIONS, key=lambda option: option.name) if not option.user_only},
    }


def _schema(option: Option) -> dict[str, Any]:
    strings = {"type": "array", "items": {"type": "string"}}
    shape: dict[str, dict[str, Any]] = {
        "list": strings,
        "flag": {"type": "boolean"},
        "number": {"type": "integer", "minimum": 0},
        "text": {"type": "string"},
        "path": {"type": "string"},
        "choice": {"type": "string", "enum": list(option.choices)},
        "table": {"type": "object", "additionalProperties": strings},
    }
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    return {"description": option.help, **shape[option.kind], **({} if default is None else {"default": default})}


def parse_inline(text: str) -> dict[str, Any]:
    """The settings of `--config 'key = value'`."""
    return check_values(parse_toml(text.encode(), f"--config {text!r}"), "--config", "", os.getcwd(), by_user=True)


def split_codes(values: Sequence[str]) -> tuple[str, ...]:
    """Codes of an option that may be repeated and takes lists with commas."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
