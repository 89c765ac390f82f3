"""What flows out of the engine: attention sites and findings, in plain values that any front end can print.

Rows and columns count from 1, columns in code points; an end position is exclusive in its column.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Position:
    row: int
    column: int


@dataclass(frozen=True, order=True)
class Span:
    start: Position
    end: Position


@dataclass(frozen=True)
class Edit:
    """Replace the text of `span` by `content`."""

    content: str
    span: Span


@dataclass(frozen=True)
class Fix:
    """Edits that repair a finding. `unsafe` where a trained checkpoint would compute something else afterwards."""

    applicability: str  # "safe" | "unsafe"
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Step:
    """One line of a derivation: `label` ("query", "key", "product", "factor", "by name", "net scale", "fix"), what it says, and where."""

    label: str
    text: str
    row: int | None = None
    filename: str | None = None  # of that row


@dataclass(frozen=True, order=True)
class Caller:
    """The call for which a shared attention function is judged, and the function that it stands in ("" in a script)."""

    filename: str
    row: int
    qualname: str


@dataclass(frozen=True)
class Site:
    """One attention site on one path, as `attnlint sites` lists it. Scales are printed monomials such as `head_dim^-1/2`."""

    filename: str
    span: Span
    qualname: str
    query: str | None
    key: str | None
    contraction: str | None
    scale: str | None
    expected: str | None
    ratio: str | None
    verdict: str  # "correct" | "faulty" | "intended" | "unknown"
    reason: str | None = None
    path: str | None = None
    cell: int | None = None
    derivation: tuple[Step, ...] = ()
    via: Caller | None = None
    evidence: tuple[str, ...] = ()  # what the verdict takes by name; empty where all is by shape


@dataclass(frozen=True)
class Finding:
    """One diagnostic, before selection, suppression and baseline."""

    code: str
    name: str
    message: str
    filename: str
    span: Span
    site: Site | None = None
    fix: Fix | None = None
    derivation: tuple[Step, ...] = ()
    severity: str = "error"
    preview: bool = False
    cell: int | None = None
    confirmation: dict[str, object] | None = None


@dataclass(frozen=True)
class LintResult:
    """Everything the engine says about one source text. `dependencies` are the other files whose content a verdict rests on."""

    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    dependencies: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())  # what was not analysed, and why
