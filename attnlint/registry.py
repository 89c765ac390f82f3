"""What rules there are: codes, names and whether they are on; loads the rules themselves only when something depends on them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attnlint._version import __version__
from attnlint.config import ConfigError, suggestion

if TYPE_CHECKING:
    from attnlint.rule import Rule

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead", "Fix safety", "References")
REPOSITORY = "https://github.com/OWNER/attnlint"
"""Where the rules' pages lie. `OWNER` is a placeholder, as in README: `docs/host.py` puts the account that hosts the project there."""
OWN = re.compile(r"^ATT\d+$")


@dataclass(frozen=True)
class RuleMeta:
    """What the front end needs to know of a rule."""

    code: str
    name: str
    preview: bool
    default_on: bool
    docs: str

    @property
    def summary(self) -> str:
        """The first sentence of what it does."""
        text = sections(self.docs).get("What it does", self.docs)
        return " ".join(text.split("\n\n")[0].split())

    @property
    def url(self) -> str | None:
        """Its page; None for a rule of another package, and where no host has been named: `attnlint rule` has the text in any case."""
        if "/OWNER/" in REPOSITORY or not OWN.match(self.code):
            return None
        return f"{REPOSITORY}/blob/v{__version__}/docs/rules/{self.name}.md"


class UnusedSuppression:
    """## What it does
    Reports a suppression comment that suppresses nothing.

    ## Why is this bad
    A suppression that outlives its finding hides the next one, and tells a reader of a fault that is not there.

    ## Example
    ```python
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)  # attnlint: ignore[missing-scale]
    ```

    ## Use instead
    ```python
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    ```

    ## Fix safety
    Safe: only the comment goes.

    ## References
    - `attnlint check --add-ignore "reason"` writes suppressions for what is found.
    """

    code = "ATT001"
    name = "unused-suppression"
    preview = False
    default_on = True


class SyntaxErrors:
    """## What it does
    Reports a file, or a notebook's cell, that does not parse, at the place that Python's own compiler names.

    ## Why is this bad
    Nothing in it can be judged: silence about such a file would read as approval.

    ## Example
    ```python
    def attend(q, k, v:
        return q
    ```

    ## Use instead
    ```python
    def attend(q, k, v):
        return q
    ```

    ## Fix safety
    There is no fix.

    ## References
    - The Python language reference, chapter 10, full grammar specification.
    """

    code = "ATT002"
    name = "syntax-error"
    preview = False
    default_on = True


BUILT_IN = (UnusedSuppression, SyntaxErrors)


def rule_classes(plugins: Sequence[str] = ()) -> tuple[type[Rule], ...]:
    """The rule classes, those of plug-ins too. Raises ConfigError where a plug-in cannot be loaded."""
    from attnlint.rule import GROUP, all_rules

    try:
        known = all_rules()
    except Exception as error:  # what the code of another package raises when it is imported is not ours to foresee
        raise ConfigError(
            f"a package of rules cannot be loaded: {type(error).__name__}: {error}; "
            f"mend or uninstall the package that has the entry point `{GROUP}`"
        ) from error
    if not plugins:
        return known
    try:
        return all_rules(tuple(plugins))
    except Exception as error:  # the module is somebody's code
        named = f"{error}" if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ConfigError(f"setting `plugins`: {named}; install or mend the module, or take it off the list") from None


@lru_cache(maxsize=4)
def rules(plugins: tuple[str, ...] = ()) -> tuple[RuleMeta, ...]:
    """Every rule, by code. Loads the rule modules."""
    found: dict[str, RuleMeta] = {}
    classes: list[type[Any]] = [*BUILT_IN, *rule_classes(plugins)]
    for one in classes:
        docs = inspect.cleandoc(one.__doc__ or "")
        found[one.code] = RuleMeta(one.code, one.name, bool(one.preview), bool(getattr(one, "default_on", True)), docs)
    return tuple(found[code] for code in sorted(found))


def find_rule(word: str, known: Iterable[RuleMeta]) -> RuleMeta | None:
    """The rule of a code or a name, in any case."""
    folded = word.lower().replace("_", "-")
    return next((one for one in known if folded in (one.code.lower(), one.name.lower())), None)


class Selection:
    """Which rules are reported for a file. The more specific of what selects and what ignores a rule wins; on a tie, ignoring."""

    def __init__(
        self, known: Sequence[RuleMeta], select: Sequence[str] | None, extend: Sequence[str], ignore: Sequence[str], preview: bool
    ) -> None:
        self.preview = preview
        self.enabled: set[str] = set()
        for one in known:
            if select is None:
                chosen = 1 if one.default_on or one.preview else 0
            else:
                chosen = max((rank(word, one) for word in select), default=0)
            extended = max((rank(word, one) for word in extend), default=0)
            dropped = max((rank(word, one) for word in ignore), default=0)
            if max(chosen, extended) > dropped and (preview or not one.preview):
                self.enabled.add(one.code)

    def allows(self, code: str, preview: bool) -> bool:
        return code in self.enabled and (self.preview or not preview)


_PREFIX = re.compile(r"^[A-Z]+\d*$")


def rank(word: str, one: RuleMeta) -> int:
    """How specifically a word names a rule: 0 not at all."""
    if word == "ALL":
        return 1
    if word.lower().replace("_", "-") == one.name:
        return 100
    upper = word.upper()
    if one.code == upper:
        return 100
    return 1 + len(upper) if _PREFIX.match(upper) and one.code.startswith(upper) else 0


def unknown_rule(word: str, known: Sequence[RuleMeta], where: str) -> ConfigError:
    """The error that says that there is no such rule, and which one may be meant."""
    names = [name for one in known for name in (one.code, one.name)]
    return ConfigError(f"{where}: unknown rule `{word}`{suggestion(word, names)} (`attnlint rules` lists them)")


def check_words(words: Iterable[str], known: Sequence[RuleMeta], where: str) -> None:
    """Raises ConfigError for a word that names no rule."""
    for word in words:
        if word != "ALL" and not any(rank(word, one) for one in known):
            raise unknown_rule(word, known, where)


def sections(docs: str) -> dict[str, str]:
    """The text under each heading of a rule's documentation."""
    found: dict[str, str] = {}
    heading = ""
    for line in docs.splitlines():
        title = line.strip().strip("#:").strip()
        if title.rstrip("?") in HEADINGS and (line.startswith("#") or not line.startswith((" ", "\t"))):
            heading = title.rstrip("?")
            found[heading] = ""
        elif (heading and not set(line.strip()) <= set("=-~")) or (heading and not line.strip()):
            found[heading] += line + "\n"
    return {title: text.strip() for title, text in found.items()}
