"""The report: sites grouped by place over calls, their verdicts, and the ways to read them."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attnlint.probe import names
from attnlint.probe.errors import AttentionFault
from attnlint.probe.expect import resolve
from attnlint.probe.facts import Run
from attnlint.probe.headsums import HeadSums, largest
from attnlint.probe.judge import Verdict, judge, tolerance
from attnlint.probe.values import Samples, Site

_SEVERITY = {"fault": 3, "skipped": 2, "declared": 1, "ok": 0}
PENDING = 64


class _Group:
    """The calls of one site. Late knowledge (a factor on the output) may still reach the last of them."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.pending: list[tuple[Run, float | None]] = []
        self.calls = 0
        self.faults = 0
        self.worst: Site | None = None
        self.sums: dict[str, list[float]] = {}
        self.error: float | None = None
        self.samples: Samples | None = None
        self.max_logit: float | None = None
        self.heads = HeadSums()
        self.head_dims: dict[int, None] = {}
        self.lengths: dict[int, None] = {}


class Report:
    """What a block's attentions measured. `sites` lists them in the order of their first run.

    `disabled` is true where ATTNLINT_PROBE=off silenced the probe. `status` is the worst of the sites', "not-observed" without any.
    """

    def __init__(self, model: Any = None, expect: Any = None, *, keep_samples: bool = False) -> None:
        self._model = weakref.ref(model) if model is not None else None
        self._root = type(model).__name__ if model is not None else None
        self._expect = expect
        self.keep_samples = keep_samples
        self.disabled = False
        self.ranks: dict[int, tuple[Site, ...]] = {}
        self.opaque_calls: set[str] = set()
        self.softmaxes = 0
        self.internal_errors: list[BaseException] = []
        self._groups: dict[Any, _Group] = {}
        self._fixed: tuple[Site, ...] | None = None
        self._members: dict[int, str] | None = None

    # --- collecting -------------------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        return self._model() if self._model is not None else None

    def accept(self, run: Run) -> None:
        """Take one attention that ran, if it belongs to what is watched."""
        named = self._name(run)
        if named is None:
            return
        owner, module = named
        key = (owner, _line(run))
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(module)
        expect = resolve(self._expect, group.module)
        error: float | None = None
        if run.reference is not None and run.head_dim:
            verdict = judge(run, expect)
            if verdict.expected is not None:
                error = run.reference(verdict.expected)
        group.pending.append((run, error))
        if len(group.pending) > PENDING:
            self._fold(group, *group.pending.pop(0))

    def _name(self, run: Run) -> tuple[int | None, str] | None:
        modules = run.place.modules
        model = self.model
        if model is None:
            if self._model is not None:
                return None
            return names.owner_and_name(modules)
        if self._members is None:
            self._members = names.members(model)
        for module in modules:
            name = self._members.get(id(module))
            if name is not None:
                return id(module), name or names.class_name(model)
        if any(id(m) not in self._members for m in modules[:1]):
            self._members = names.members(model)
            for module in modules:
                name = self._members.get(id(module))
                if name is not None:
                    return id(module), name or names.class_name(model)
        return None

    def close(self) -> None:
        """The block is over: nothing is added any more, and what is left of the runs is folded."""
        for group in self._groups.values():
            while group.pending:
                self._fold(group, *group.pending.pop(0))
        self._members = None

    def absorb(self, other: Report) -> None:
        """Add what another report of the same model measured (one call of an installed probe)."""
        for key, theirs in other._groups.items():
            mine = self._groups.get(key)
            if mine is None:
                self._groups[key] = theirs
                continue
            mine.calls += theirs.calls
            mine.faults += theirs.faults
            for name, pair in theirs.sums.items():
                total = mine.sums.setdefault(name, [0.0, 0.0])
                total[0] += pair[0]
                total[1] += pair[1]
            if theirs.error is not None:
                mine.error = theirs.error if mine.error is None else max(mine.error, theirs.error)
            mine.max_logit = largest(mine.max_logit, theirs.max_logit)
            mine.heads.absorb(theirs.heads)
            mine.samples = mine.samples or theirs.samples
            mine.head_dims.update(theirs.head_dims)
            mine.lengths.update(theirs.lengths)
            if theirs.worst is not None and (mine.worst is None or _rank(theirs.worst) > _rank(mine.worst)):
                mine.worst = theirs.worst
        self.disabled = self.disabled or other.disabled
        self.opaque_calls |= other.opaque_calls
        self.softmaxes += other.softmaxes
        self.internal_errors.extend(other.internal_errors)

    def _fold(self, group: _Group, run: Run, error: float | None) -> None:
        _add(group, run, judge(run, resolve(self._expect, group.module)), error)

    # --- reading ----------------------------------------------------------------------------------------------------------------

    @property
    def sites(self) -> list[Site]:
        if self._fixed is not None:
            return list(self._fixed)
        return [self._site(group) for group in self._groups.values()]

    def _site(self, group: _Group) -> Site:
        if group.pending:
            copy = _Group(group.module)
            copy.__dict__.update({k: (dict(v) if isinstance(v, dict) else v) for k, v in group.__dict__.items()})
            copy.sums = {k: list(v) for k, v in group.sums.items()}
            copy.heads = group.heads.copy()
            copy.pending = []
            for run, error in group.pending:
                self._fold(copy, run, error)
            group = copy
        site = group.worst
        if site is None:
            raise RuntimeError("a site without a run")
        means: dict[str, Any] = {name: (values[0] / values[1] if values[1] else None) for name, values in group.sums.items()}
        note = site.note
        if group.module and len(group.head_dims) > 1 and len(group.lengths) == 1:
            note = "; ".join(
                filter(None, [note, f"the contraction changes with the sequence ({_listed(group.head_dims)}): channel attention"])
            )
        if 0 < group.faults < group.calls:
            note = "; ".join(filter(None, [f"{group.faults} of {group.calls} calls are at fault", note]))
        return replace(
            site,
            calls=group.calls,
            faults=group.faults,
            reference_error=group.error,
            samples=group.samples,
            note=note,
            max_logit=group.max_logit,
            heads=group.heads.result(),
            **means,
        )

    @property
    def faults(self) -> list[Site]:
        return [site for site in self.sites if site.status == "fault"]

    @property
    def status(self) -> str:
        sites = self.sites
        if not sites:
            return "not-observed"
        return max((site.status for site in sites), key=lambda s: _SEVERITY[s])

    @property
    def ok(self) -> bool:
        return self.disabled or self.status not in ("fault", "not-observed")

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)

    def __len__(self) -> int:
        return len(self.sites)

    def __bool__(self) -> bool:
        return True

    def raise_for_faults(self) -> None:
        """Raise AttentionFault for faults, or where no attention ran at all: silence is no success. Passes when disabled."""
        if self.disabled:
            return
        message = self.message()
        if message:
            raise AttentionFault(message, self)

    def message(self) -> str:
        """What `raise_for_faults` says; empty where there is nothing to say."""
        from attnlint.probe import text

        if self.disabled:
            return ""
        sites = self.sites
        if not sites:
            return text.nothing_observed(self.softmaxes, self.opaque_calls)
        faults = [site for site in sites if site.status == "fault"]
        return text.faults(faults, len(sites)) if faults else ""

    def to_json(self, indent: int | None = 2) -> str:
        """The report as a JSON document: `status`, `disabled` and `sites`, each with every figure (null where it cannot be had).

        A site has the fields of `Site` but `samples`; `factors` and `heads` are lists of objects. `indent=None` writes one line.
        """
        document: dict[str, Any] = {
            "status": self.status,
            "disabled": self.disabled,
            "sites": [_plain(site.as_dict()) for site in self.sites],
        }
        if self.ranks:
            document["ranks"] = {str(rank): [_plain(site.as_dict()) for site in sites] for rank, sites in self.ranks.items()}
        return json.dumps(document, indent=indent)

    def to_html(self, path: str | None = None) -> str:
        """A page that stands alone: figures over depth, a table that sorts, and a card for each attention, faults first.

        A card has the logits beside the reference's, and maps of the weights by head. Both need `watch(..., keep_samples=True)`;
        without samples the page says so. Writes the page, in UTF-8, to `path` where given. Raises OSError where that cannot be written.
        """
        from attnlint.probe.html import page

        document = page(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(document)
        return document

    def gather(self) -> Report:
        """The reports of all ranks as one (a collective: each rank calls it, after the block). Alone, the report itself.

        Sites of one place are one site over the ranks: calls add up, the worst rank speaks. `ranks` keeps each rank's own sites.
        """
        from attnlint.probe.ranks import gather_sites

        per_rank = gather_sites(self.sites)
        if per_rank is None:
            return self
        return merged(per_rank, self.disabled)

    def __str__(self) -> str:
        from attnlint.probe import text

        return text.render(self)

    def __repr__(self) -> str:
        return f"<attnlint probe report: {len(self._fixed if self._fixed is not None else self._groups)} sites, {self.status}>"

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from attnlint.probe import text

        yield text.rich_table(self, options.max_width)


def merged(per_rank: dict[int, list[Site]], disabled: bool) -> Report:
    """One report from the ranks' sites."""
    together: dict[tuple[str, str, int], list[Site]] = {}
    for sites in per_rank.values():
        for site in sites:
            together.setdefault((site.module, site.file, site.line), []).append(site)
    rows = []
    for sites in together.values():
        worst = max(sites, key=lambda s: _SEVERITY[s.status])
        calls = sum(s.calls for s in sites)

        def mean(name: str, sites: list[Site] = sites) -> float | None:
            known = [(getattr(s, name), s.calls) for s in sites if getattr(s, name) is not None]
            return sum(v * c for v, c in known) / sum(c for _, c in known) if known else None

        errors = [s.reference_error for s in sites if s.reference_error is not None]
        rows.append(
            replace(
                worst,
                calls=calls,
                faults=sum(s.faults for s in sites),
                reference_error=max(errors) if errors else None,
                max_weight=mean("max_weight"),
                saturated=mean("saturated"),
                entropy=mean("entropy"),
                jacobian=mean("jacobian"),
                max_logit=max((s.max_logit for s in sites if s.max_logit is not None), default=None),
            )
        )
    report = Report()
    report.disabled = disabled
    report._fixed = tuple(rows)
    report.ranks = {rank: tuple(sites) for rank, sites in per_rank.items()}
    return report


def _line(run: Run) -> Any:
    """The line of the product: the user's, or the framework's own where the module itself is the framework's."""
    place = run.place
    owner = type(place.modules[0]).__module__ if place.modules else ""
    if owner.startswith(("torch.nn.", "torch.jit", "torch.ao.")) or place.raw.file.startswith("<eval_with_key"):
        return place.raw
    return place.user


def _listed(values: dict[int, None]) -> str:
    return ", ".join(str(v) for v in values)


def _plain(value: Any) -> Any:
    """As JSON has it: null for a number that is none."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _add(group: _Group, run: Run, verdict: Verdict, error: float | None) -> None:
    group.calls += 1
    group.faults += verdict.status == "fault"
    if run.head_dim is not None:
        group.head_dims[run.head_dim] = None
        group.lengths[run.keys] = None
    statistics = run.statistics
    for name in ("max_weight", "saturated", "entropy", "jacobian"):
        value = getattr(statistics, name)
        pair = group.sums.setdefault(name, [0.0, 0.0])
        if value is not None:
            pair[0] += value
            pair[1] += 1
    if error is not None:
        group.error = error if group.error is None else max(group.error, error)
    if group.samples is None:
        group.samples = run.samples
    group.max_logit = largest(group.max_logit, run.max_logit)
    group.heads.add(verdict.heads)
    site = Site(
        module=group.module,
        file=run.place.user.file,
        line=run.place.user.line,
        calls=1,
        head_dim=verdict.head_dim,
        scale=verdict.scale,
        expected=verdict.expected,
        ratio=verdict.ratio,
        status=verdict.status,
        kind=verdict.kind,
        factors=verdict.factors,
        slope=verdict.slope,
        r_squared=run.r_squared,
        tolerance=tolerance(run.dtype),
        query_shape=run.q_shape,
        key_shape=run.k_shape,
        dtype=run.dtype,
        op=run.op,
        note="; ".join(verdict.notes),
        function=run.place.function,
    )
    if group.worst is None or _rank(site) > _rank(group.worst):
        group.worst = site


def _rank(site: Site) -> tuple[int, float]:
    measured = 1.0 if site.slope is not None else 0.0
    return _SEVERITY[site.status], measured
