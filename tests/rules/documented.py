"""The rules' documentation as data: the code under `Example` and `Use instead`."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass

from attnlint.rule import Rule, all_rules

_BLOCK = re.compile(r"## (?P<heading>Example|Use instead)\n```python\n(?P<code>.*?)```", re.S)


@dataclass(frozen=True)
class Documented:
    rule: type[Rule]
    wrong: str
    right: str
    fixable: bool

    @property
    def code(self) -> str:
        return self.rule.code


def documented() -> list[Documented]:
    found = []
    for rule in all_rules():
        docs = inspect.cleandoc(rule.__doc__ or "")
        blocks = {match["heading"]: textwrap.dedent(match["code"]) for match in _BLOCK.finditer(docs)}
        safety = docs.partition("## Fix safety")[2].partition("## References")[0]
        found.append(Documented(rule, blocks["Example"], blocks["Use instead"], not safety.strip().startswith("No fix")))
    return found
