"""One finding confirmed: the job for the child, and what its readings say."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnlint.confirm import targets, verdict
from attnlint.confirm.isolate import ChildFailed, Limits, run_child
from attnlint.model import Edit, Finding
from attnlint.packages import NOT_CONFIRMED

FIGURES = ("scale", "expected", "ratio", "max_weight", "saturated", "entropy", "jacobian", "reference_error")


@dataclass(frozen=True)
class Shown:
    """What was measured in one version: the figures at the worst length, and samples of both."""

    figures: Mapping[str, Any]
    calls: int
    logits: tuple[tuple[float | None, ...], ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {name: self.figures.get(name) for name in FIGURES}
        found["head_dim"] = self.figures.get("head_dim")
        found["factor"] = self.figures.get("factor")
        found["kind"] = self.figures.get("kind")
        found["calls"] = self.calls
        return found


@dataclass(frozen=True)
class Confirmation:
    """`status` is "confirmed", "refuted" or "not-confirmed"; `reason` says why; `case` how the code was run."""

    status: str
    reason: str
    before: Shown | None = None
    after: Shown | None = None
    case: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        return {
            "status": self.status,
            "reason": self.reason,
            "before": self.before.as_dict() if self.before else None,
            "after": self.after.as_dict() if self.after else None,
            "case": dict(self.case) or None,
        }


def confirm(
    finding: Finding, program: str, path: str, fixed: str | None = None, limits: Limits | None = None, roots: Sequence[str] = ()
) -> Confirmation:
    """Runs a finding's code, before and after its fix (or in the text `fixed`), in a process of its own."""
    if finding.site is None or finding.name not in verdict.MEASURED:
        return Confirmation("not-confirmed", f"{finding.name} is no claim about a measured scale or mask")
    if finding.name in verdict.RATIO_RULES and finding.site.verdict == "intended":
        meant = finding.site.reason or "as intended"
        return Confirmation("not-confirmed", f"nothing to confirm: the linter reports nothing here, it reads the scale as meant ({meant})")
    path = os.path.abspath(path)
    if os.path.abspath(finding.filename) != path and finding.filename:
        return Confirmation("not-confirmed", f"the finding stands in another file, {finding.filename}")
    if fixed is None and finding.fix is not None:
        fixed = apply_edits(program, finding.fix.edits)
    try:
        job = make_job(finding, program, path, fixed, roots)
    except SyntaxError as error:
        return Confirmation("not-confirmed", f"the {'fixed ' if fixed is not None else ''}code does not parse: {error.msg}")
    if job["library"] is None:
        return Confirmation("not-confirmed", "the code uses neither PyTorch nor NumPy, and only these can be run")
    try:
        result = run_child(job, limits or Limits())
    except ChildFailed as error:
        return Confirmation("not-confirmed", str(error))
    return conclude(finding, job, result)


def conclude(finding: Finding, job: Mapping[str, Any], result: Mapping[str, Any]) -> Confirmation:
    """The confirmation that a child's result amounts to."""
    case = dict(result.get("case") or {})
    if "fence" in result:
        case["fence"] = list(result["fence"])
    if result.get("stubs"):
        case["stand_ins"] = list(result["stubs"])
    if not result.get("before"):
        reasons = list(result.get("reasons") or ["no runnable case was found"])
        missing = result.get("missing") or {}
        firsts = {reason.partition(": ")[0]: reason for reason in reversed(reasons)}  # the first of each thing that was run
        text = "; ".join([reason for reason in reasons if firsts[reason.partition(": ")[0]] is reason][:3])
        if missing:
            text += f" (not installed: {', '.join(sorted(missing))})"
        return Confirmation("not-confirmed", text, case=case)
    before, after = result["before"], result.get("after")
    if job.get("after") is None:
        after_figures: list[Any] | None = None
    else:
        after_figures = [one["figures"] for one in after or ()]
    status, reason = verdict.judge(finding.name, [one["figures"] for one in before], after_figures, int(case.get("assignments", 1)))
    if status == "refuted" and finding.site is not None and finding.site.path:
        status, reason = "not-confirmed", f"{reason}; but the finding holds where {finding.site.path}, and this may not have been so"
    if result.get("after_reason") and status != "refuted":
        status, reason = "not-confirmed", f"{reason.partition(';')[0]}; {result['after_reason']}"
    return Confirmation(status, reason, _shown(before, finding), _shown(after, finding) if after else None, case)


def _shown(readings: Sequence[Mapping[str, Any]], finding: Finding) -> Shown:
    ordered = sorted(readings, key=lambda one: not verdict.bears_out(one["figures"], finding.name))
    worst = ordered[0]
    figures = dict(worst["figures"])
    note = str(figures.get("note") or "")
    fits = re.search(r"fits at these sizes: ([^;]+)", note)
    site = finding.site
    figures["factor"] = None
    if verdict.off(figures):
        named = site.scale if site is not None else None
        measured = fits[1].split(", ")[0] if fits else None
        figures["factor"] = f"{named} = {measured}" if named and measured and named != "1" else measured or named
    return Shown(
        figures, sum(int(one["figures"].get("calls") or 0) for one in readings), _tuples(worst["logits"]), _tuples(worst["weights"])
    )


def _tuples(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)


def make_job(finding: Finding, program: str, path: str, fixed: str | None, roots: Sequence[str]) -> dict[str, Any]:
    """What the child needs, in plain values. Raises SyntaxError where a text does not parse."""
    tree = ast.parse(program)
    rows = targets.site_rows(finding)
    job: dict[str, Any] = {
        "path": path,
        "kind": finding.name,
        "roots": [os.path.abspath(root) for root in roots],
        "entries": targets.entries(tree, finding),
        "flags": targets.path_flags(finding),
        "before": _version(tree, program, rows),
        "after": None,
    }
    if fixed is not None:
        after = ast.parse(fixed)
        job["after"] = _version(after, fixed, [targets.shifted(program, fixed, row) for row in rows])
    job["library"] = library(tree)
    job["libraries"] = ["numpy", "torch"] if job["library"] == "torch" else ["numpy"]
    return job


def _version(tree: ast.Module, text: str, rows: Sequence[int]) -> dict[str, Any]:
    return {"text": text, "rows": [targets.statement_rows(tree, row) for row in rows]}


def library(tree: ast.Module) -> str | None:
    """The framework that a file computes with: "torch" before "numpy"; None for another."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.split(".")[0])
    if imported & {"torch", "flash_attn", "xformers", "lightning", "pytorch_lightning", "timm", "transformers", "diffusers"}:
        return "torch"
    if imported & NOT_CONFIRMED:
        return None
    return "numpy" if "numpy" in imported else "torch"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """A text with edits made; rows and columns count from 1, columns in code points."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(row: int, column: int) -> int:
        return starts[min(row, len(lines) + 1) - 1] + column - 1

    for edit in sorted(edits, key=lambda one: one.span, reverse=True):
        start, end = edit.span.start, edit.span.end
        text = text[: offset(start.row, start.column)] + edit.content + text[offset(end.row, end.column) :]
    return text
