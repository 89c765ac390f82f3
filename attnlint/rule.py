"""Rules: what a rule is, how rules are found, and what one reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar, Literal

from attnlint.model import Fix, Step

if TYPE_CHECKING:
    from attnlint.domain.values import Origin
    from attnlint.sites.sites import AttentionSite, Test, Verdict

GROUP = "attnlint.rules"


@dataclass(frozen=True)
class Report:
    """What a rule found at a site: where, what is wrong, and a fix where one is certain."""

    origin: Origin
    message: str
    fix: Fix | None = None
    steps: tuple[Step, ...] | None = None  # the derivation; None: that of the site
    preview: bool = False  # shown under `--preview` alone, whatever its rule is


class Rule:
    """One rule. Subclasses are documented under the fixed headings; the Example is reported, Use instead is not.

    `code` and `name` identify it, a `preview` rule is off unless asked for.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    preview: ClassVar[bool] = False
    severity: ClassVar[str] = "error"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        """Findings at one attention site."""
        raise NotImplementedError


class ScaleRule(Rule):
    """A rule of the net scale. Its `test` says which sites are faulty of its kind, which is its name; `check` reports those.

    A test is asked where the engine has settled nothing: `site.form` says what the ratio is made of. It answers with a fault, or with
    None. The tests are asked in the order of the codes, those of rules `first` before the others and those of `last` after them, and
    the first that answers decides.
    """

    asked: ClassVar[Literal["first", "in turn", "last"]] = "in turn"

    @classmethod
    def test(cls, site: AttentionSite) -> Verdict | None:
        """The fault of this kind that a site has, or None."""
        raise NotImplementedError


def scale_tests(rules: Iterable[type[Rule]]) -> tuple[Test, ...]:
    """The tests of the scale rules among some rules, in the order in which they are asked."""
    turns = ("first", "in turn", "last")
    scales = [rule for rule in rules if issubclass(rule, ScaleRule)]
    return tuple(rule.test for rule in sorted(scales, key=lambda rule: (turns.index(rule.asked), rule.code)))


def rules_in(package_name: str) -> Iterator[type[Rule]]:
    """The rule classes that the modules of a package define, or a module itself."""
    package = import_module(package_name)
    modules = [package]
    for module in iter_modules(getattr(package, "__path__", [])):
        if not module.name.startswith("_"):
            modules.append(import_module(f"{package_name}.{module.name}"))
    for found in modules:
        for value in vars(found).values():
            if (
                isinstance(value, type)
                and issubclass(value, Rule)
                and value not in (Rule, ScaleRule)
                and value.__module__ == found.__name__
                and hasattr(value, "code")
            ):
                yield value


@lru_cache(maxsize=8)
def all_rules(plugins: tuple[str, ...] = ()) -> tuple[type[Rule], ...]:
    """Every installed rule, sorted by code: those of the entry-point group, and of the modules in `plugins`."""
    names = [entry.value for entry in entry_points(group=GROUP)] or [GROUP]
    found: dict[str, type[Rule]] = {}
    for name in (*sorted(set(names) | {GROUP}), *plugins):
        for rule in rules_in(name):
            found.setdefault(rule.code, rule)
    return tuple(found[code] for code in sorted(found))
