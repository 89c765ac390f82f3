"""The sub-commands: settings, files, analysis, report, exit status."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from attnlint import session
from attnlint.cli import config_file, overrides
from attnlint.config import ConfigError, Resolver, Settings
from attnlint.console import acts_on_text, print_error, print_warning, wants_colour
from attnlint.discover import Discovery, SourceFile, discover, package_roots
from attnlint.progress import Progress
from attnlint.timing import timed

if TYPE_CHECKING:
    from attnlint.analysis import Engine, Outcome
    from attnlint.cache import Cache
    from attnlint.fixing import FixedFile
    from attnlint.registry import RuleMeta
    from attnlint.session import Diagnostic, Run

STDIN = "-"
STALE_NAMED = 3  # entries of a baseline that are no longer found, named in a warning


def check(options: argparse.Namespace) -> int:
    """`attnlint check`."""
    resolver = _resolver(options)
    settings = resolver.run
    session.check_selection(settings)
    if options.add_ignore and _is_path(options.add_ignore):
        raise ConfigError(
            f"--add-ignore {options.add_ignore}: this is a path, and what follows the option is taken for the reason; "
            f'put it before the option, or write --add-ignore "why" {options.add_ignore}'
        )
    if options.update_baseline and not settings.baseline:
        raise ConfigError("--update-baseline needs --baseline FILE (or the setting `baseline`) to know where to write")
    if options.prune_baseline and not settings.baseline:
        raise ConfigError("--prune-baseline needs --baseline FILE (or the setting `baseline`) to know what to prune")
    work = Work(options, resolver)
    run = work.check()
    status = _act(options, settings, work, run)
    work.save_cache()
    return 0 if status == 1 and settings.exit_zero else status


def _is_path(reason: str) -> bool:
    return os.path.lexists(reason) or reason.endswith((".py", ".pyi", ".ipynb", os.sep))


def _act(options: argparse.Namespace, settings: Settings, work: Work, run: Run) -> int:
    """Does what the options ask for with the findings of a run: writes a baseline or suppressions, fixes, or reports."""
    if options.update_baseline:
        from attnlint import baseline

        _complain(run, work.found, settings)
        count = baseline.write(settings.baseline, run.diagnostics, work.judged())
        _say(settings, f"wrote {count} finding{_s(count)} to {settings.baseline}")
        return _status(work, run, 0)
    if options.prune_baseline:
        from attnlint import baseline

        _complain(run, work.found, settings)
        count = baseline.prune(settings.baseline, run.diagnostics, work.judged())
        _say(settings, f"took {count} entr{'y' if count == 1 else 'ies'} out of {settings.baseline}")
        return _status(work, run, 0)
    known = _without_known(settings, work, run)
    if options.confirm:
        _confirm(settings, run, print_warning if settings.verbose else None)
    if options.add_ignore is not None:
        return _add_ignores(options, settings, work, run)
    fixed = 0
    if settings.fix or options.diff:
        changes = _fixed_files(options, settings, work, run)
        if options.diff:
            return _show_diff(options, settings, work, run, changes)
        fixed = _write_changes(settings, work, run, changes)
        if fixed and not work.is_stdin:
            before, run = run, work.check()
            run.errors += [error for error in before.errors if error not in run.errors]
            run.refused = before.refused
            known = _without_known(settings, work, run)
            if options.confirm:
                _confirm(settings, run, None)
    _complain(run, work.found, settings)
    from attnlint import reports

    if work.is_stdin and settings.fix:
        sys.stdout.flush()
        sys.stdout.buffer.write(work.data)
        sys.stdout.buffer.flush()
        reports.print_lines(reports.render_findings(run.diagnostics, settings, wants_colour(options.color, sys.stderr)), sys.stderr)
    else:
        reports.write_findings(run, settings, colour=wants_colour(options.color, sys.stdout))
    if fixed:
        _say(settings, f"fixed {fixed} finding{_s(fixed)}")
    if known:
        _say(settings, f"{known} known finding{_s(known)} not reported ({settings.baseline})")
    if settings.verbose:
        from attnlint import timing

        timing.report(run, work)
    return _status(work, run, 1 if run.diagnostics or (fixed and settings.exit_non_zero_on_fix) else 0)


def _confirm(settings: Settings, run: Run, tell: Callable[[str], None] | None) -> None:
    """Runs the code of every finding, which takes seconds each: two are enough to show how far it is."""
    from attnlint import confirming

    progress = Progress(len(run.diagnostics), not settings.quiet, "findings", 2)
    try:
        run.diagnostics = confirming.confirm(run.diagnostics, tell, progress)
    finally:
        progress.close()


def _status(work: Work, run: Run, otherwise: int) -> int:
    """2 where some of the work could not be done."""
    return 2 if run.errors or work.found.errors else otherwise


def _without_known(settings: Settings, work: Work, run: Run) -> int:
    """Takes the findings of the baseline out of a run; returns how many there were."""
    if not settings.baseline:
        return 0
    from attnlint import baseline

    compared = baseline.compare(run.diagnostics, baseline.read(settings.baseline), settings.baseline, work.judged())
    run.diagnostics = list(compared.new)
    if compared.gone:
        count = sum(compared.gone.values())
        first = ", ".join(f"{path} {code}" for path, code, _ in sorted(compared.gone)[:STALE_NAMED])
        more = ", …" if len(compared.gone) > STALE_NAMED else ""
        told = f"{count} known finding{_s(count)} no longer there ({first}{more})"
        run.warnings.append(f"{settings.baseline}: {told}; --prune-baseline takes such entries out")
    return compared.known


def _fixed_files(options: argparse.Namespace, settings: Settings, work: Work, run: Run) -> list[FixedFile]:
    """What fixing makes of each file, without writing anything."""
    from attnlint import fixing

    def allowed(one: Diagnostic) -> bool:
        finding = one.finding
        if finding.fix is None:
            return False
        if finding.fix.applicability == "safe" or settings.unsafe_fixes:
            return True
        return bool(options.confirm and finding.confirmation and finding.confirmation.get("status") == "confirmed")

    def again(absolute: str, data: bytes) -> list[Diagnostic]:
        if options.confirm and not settings.unsafe_fixes:
            return []  # what is left was not confirmed, or comes to light in the next run
        return work.check_bytes(absolute, data)

    by_file: dict[str, list[Diagnostic]] = {}
    for one in run.diagnostics:
        by_file.setdefault(one.absolute, []).append(one)
    changes = []
    for diagnostics in by_file.values():
        if any(allowed(one) for one in diagnostics):
            change = fixing.fix_file(diagnostics, allowed, again)
            run.refused += change.refused
            changes.append(change)
    return changes


def _show_diff(options: argparse.Namespace, settings: Settings, work: Work, run: Run, changes: Sequence[FixedFile]) -> int:
    from attnlint import fixing, reports
    from attnlint.reports.text import harmless, painted

    pieces: Iterable[str] = (piece for change in changes if change.changed for piece in fixing.unified_diff(change))
    if settings.output_file is None and acts_on_text(sys.stdout):
        pieces = map(harmless, pieces)
    if settings.output_file is None and wants_colour(options.color, sys.stdout):
        pieces = map(painted, pieces)
    reports.emit_raw(pieces, settings.output_file)
    _complain(run, work.found, settings)
    count = sum(len(change.applied) for change in changes if change.changed)
    left = len(run.diagnostics) - count
    _say(settings, f"would fix {count} finding{_s(count)}" + (f"; {left} would be left" if left > 0 else ""))
    return _status(work, run, 1 if run.diagnostics else 0)


def _write_changes(settings: Settings, work: Work, run: Run, changes: Sequence[FixedFile]) -> int:
    """Writes the fixed files; returns how many findings went."""
    from attnlint.text.atomic import WriteRefused, rewrite_source

    fixed = 0
    written = []
    for change in changes:
        if not change.changed:
            continue
        if work.is_stdin:
            work.data = change.after
            run.diagnostics = work.check_bytes(change.absolute, change.after)
        else:
            try:
                rewrite_source(change.absolute, change.after, change.before)
            except WriteRefused as error:
                run.errors.append(f"{change.path}: {error}")
                continue
            written.append(change.absolute)
        fixed += len(change.applied)
    if written:
        work.refresh(written)
    return fixed


def _add_ignores(options: argparse.Namespace, settings: Settings, work: Work, run: Run) -> int:
    from attnlint import ignoring
    from attnlint.text.atomic import WriteRefused, rewrite_source

    added = 0
    for change in ignoring.add_ignores(run.diagnostics, options.add_ignore, run.warnings):
        if work.is_stdin:
            sys.stdout.buffer.write(change.after)
            added += len(change.applied)
            continue
        try:
            rewrite_source(change.absolute, change.after, change.before)
        except WriteRefused as error:
            run.errors.append(f"{change.path}: {error}")
        else:
            added += len(change.applied)
    _complain(run, work.found, settings)
    _say(settings, f"added {added} suppression{_s(added)}")
    return _status(work, run, 0)


def _say(settings: Settings, message: str) -> None:
    if not settings.quiet:
        from attnlint.reports.escape import visible

        print(f"attnlint: {visible(message)}", file=sys.stderr)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def sites(options: argparse.Namespace) -> int:
    """`attnlint sites`."""
    resolver = _resolver(options)
    work = Work(options, resolver)
    run = session.sites(list(work.outcomes.values()), work.files, work.documents)
    _complain(run, work.found, resolver.run)
    from attnlint import reports

    reports.write_sites(run, resolver.run, colour=wants_colour(options.color, sys.stdout))
    work.save_cache()
    if resolver.run.verbose:
        from attnlint import timing

        timing.report(run, work)
    return 2 if run.errors or work.found.errors else 0


class Work:
    """The files of a run and what the analysis says of them."""

    def __init__(self, options: argparse.Namespace, resolver: Resolver) -> None:
        paths: list[str] = options.paths or ["."]
        self.resolver = resolver
        self.book = session.RuleBook(resolver)
        self.files: list[SourceFile] = []
        self.outcomes: dict[str, Outcome] = {}
        self.with_suppressions: set[str] = set()
        self.found = Discovery()
        self.roots: list[str] = []
        self.data = b""
        self.documents = session.Documents()
        self.seconds: dict[str, float] = {}
        self.cache: Cache | None = None
        if withheld := resolver.run.withheld:
            self.found.warnings.append(f"{resolver.run.source}: `plugins` not loaded: {', '.join(withheld)}; --allow-plugins loads them")
        self.is_stdin = STDIN in paths
        if self.is_stdin:
            if len(paths) > 1:
                raise ConfigError("`-` (standard input) cannot be given together with other paths")
            self._from_stdin(options.stdin_filename)
        else:
            self._from_paths(paths)

    def _from_paths(self, paths: Sequence[str]) -> None:
        with timed(self.seconds, "find files"):
            warned = self.found.warnings
            self.found = discover(paths, self.resolver)
            self.found.warnings[:0] = warned
        if self.found.left_over:
            from attnlint.text.atomic import sweep

            sweep(self.found.left_over)
        self.files = self.found.files
        if not self.files and not self.found.errors:
            self.found.warnings.append(f"no Python files found under {', '.join(paths)}")
        self.roots = package_roots(self.files, paths)
        self._analyse(self.files)

    def _analyse(self, files: Sequence[SourceFile]) -> None:
        from attnlint import runner

        cache = self._open_cache()
        with timed(self.seconds, "read and screen"):
            screened = runner.screen_files(files, cache)
        self.with_suppressions.difference_update(one.absolute for one in files)
        self.with_suppressions.update(screened.with_suppressions)
        outcomes = list(screened.failed)
        progress = Progress(len(screened.jobs), not self.resolver.run.quiet)

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            progress.step()

        with timed(self.seconds, "analyse"):
            try:
                runner.run(screened.jobs, self._engine(), self.resolver.run.jobs, cache, done)
            finally:
                progress.close()
        self.outcomes.update({outcome.absolute: outcome for outcome in sorted(outcomes, key=lambda outcome: outcome.absolute)})

    def _open_cache(self) -> Cache | None:
        settings = self.resolver.run
        if settings.no_cache:
            return None
        if self.cache is None:
            from attnlint import cache

            folder = settings.cache_dir or os.path.join(settings.root, cache.FOLDER)
            self.cache = cache.Cache(folder, self.roots, settings.plugins, settings.max_steps)
            self.book.cache = self.cache
        return self.cache

    def save_cache(self) -> None:
        """Keeps what the engine said for the next run."""
        if self.cache is not None:
            with timed(self.seconds, "write the cache"):
                self.cache.save()

    def _from_stdin(self, filename: str | None) -> None:
        absolute = os.path.abspath(filename or "stdin.py")
        self.data = sys.stdin.buffer.read()
        settings = self.resolver.for_file(absolute)
        if settings.force_exclude and filename and settings.excluded.match_any_part(absolute):
            return
        self.files = [SourceFile(filename or "<stdin>", absolute)]
        self.roots = package_roots(self.files, [absolute]) if filename else []
        self.documents = session.Documents({absolute: self.data})
        outcome, suppressed = self._analyse_bytes(absolute, self.data)
        self.outcomes = {absolute: outcome}
        self.with_suppressions = suppressed

    def _analyse_bytes(self, absolute: str, data: bytes) -> tuple[Outcome, set[str]]:
        from attnlint import screen
        from attnlint.analysis import analyse

        outcome = analyse(data, absolute, screen.may_hold_attention(data), self._engine())
        return outcome, {absolute} if screen.mentions_suppression(data) else set()

    def _engine(self) -> Engine:
        from attnlint.analysis import Engine, Limits

        settings = self.resolver.run
        return Engine(self.roots, settings.plugins, Limits(settings.max_steps, settings.max_seconds))

    def check(self) -> Run:
        """The findings, selected and without what is suppressed."""
        with timed(self.seconds, "judge"):
            return session.check(list(self.outcomes.values()), self.files, self.book, self.with_suppressions, self.documents)

    def check_bytes(self, absolute: str, data: bytes) -> list[Diagnostic]:
        """The findings that a file would have with these bytes; no suppression is called unused, since other files may need it."""
        outcome, suppressed = self._analyse_bytes(absolute, data)
        files = [one for one in self.files if one.absolute == absolute] or [SourceFile(session.display(absolute, {}), absolute)]
        run = session.check([outcome], files, self.book, suppressed, session.Documents({absolute: data}))
        return [one for one in run.diagnostics if one.absolute == absolute and one.finding.code != session.UNUSED[0]]

    def judged(self) -> list[str]:
        """The files of the run that could be analysed."""
        return [one.absolute for one in self.files if one.absolute in self.outcomes and self.outcomes[one.absolute].error is None]

    def refresh(self, changed: Sequence[str]) -> None:
        """Analyses anew the files that were written, and those whose verdicts rest on them."""
        stale = set(changed)
        for absolute, outcome in self.outcomes.items():
            touched = {os.path.abspath(name) for name in outcome.dependencies}
            touched |= {os.path.abspath(finding.filename) for finding in outcome.result.findings}
            if not stale.isdisjoint(touched):
                stale = stale | {absolute}
        self.documents = session.Documents()
        self._analyse([one for one in self.files if one.absolute in stale])


def _resolver(options: argparse.Namespace) -> Resolver:
    return Resolver(overrides(options), config_file(options), options.isolated)


def _complain(run: Run, found: Discovery, settings: Settings) -> None:
    if not settings.quiet:
        for warning in (*found.warnings, *run.warnings, *run.refused):
            print_warning(warning)
    for error in (*found.errors, *run.errors):
        print_error(error)


def rules(options: argparse.Namespace) -> int:
    """`attnlint rules`."""
    known = _known_rules(options)
    if options.output_format == "json":
        print(json.dumps([_rule_object(one) for one in known], indent=2))
        return 0
    from attnlint.reports.text import table

    rows = [(one.code, one.name, ("(preview) " if one.preview else "") + one.summary) for one in known]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table(rows, width):
        print(line)
    return 0


def _known_rules(options: argparse.Namespace) -> tuple[RuleMeta, ...]:
    """All rules, those of the current folder's plug-ins too."""
    from attnlint import registry

    return registry.rules(tuple(Resolver(overrides(options)).for_directory(os.getcwd()).plugins))


def rule(options: argparse.Namespace) -> int:
    """`attnlint rule`."""
    from attnlint import registry

    known = _known_rules(options)
    if options.all:
        chosen = list(known)
    elif options.rule:
        found = registry.find_rule(options.rule, known)
        if found is None:
            raise registry.unknown_rule(options.rule, known, "attnlint rule")
        chosen = [found]
    else:
        raise ConfigError("attnlint rule: name a rule by code or name (`attnlint rules` lists them), or give --all")
    if options.output_format == "json":
        rows = [_rule_object(one) for one in chosen]
        print(json.dumps(rows if options.all else rows[0], indent=2))
        return 0
    print("\n\n".join(_rule_text(one) for one in chosen))
    return 0


def _rule_object(one: RuleMeta) -> dict[str, object]:
    from attnlint.registry import sections

    return {
        "code": one.code,
        "name": one.name,
        "summary": one.summary,
        "preview": one.preview,
        "default": one.default_on and not one.preview,
        "explanation": one.docs,
        "sections": sections(one.docs),
        "url": one.url,
    }


def _rule_text(one: RuleMeta) -> str:
    state = "\n\nThis rule is in preview: it is reported with --preview only." if one.preview else ""
    return f"# {one.name} ({one.code}){state}\n\n{one.docs}"


def config(options: argparse.Namespace) -> int:
    """`attnlint config`."""
    from attnlint.config import as_json, json_schema
    from attnlint.reports.escape import json_text, visible

    if options.schema:
        print(json.dumps(json_schema(), indent=2))
        return 0
    path = os.path.abspath(options.path)
    if not os.path.exists(path):
        raise ConfigError(f"{options.path}: no such file or directory")
    settings = _resolver(options).for_directory(path if os.path.isdir(path) else os.path.dirname(path))
    values = as_json(settings)
    if options.form == "json":
        print(json_text({"source": settings.source, "settings": values}, 2))
        return 0
    print(f"# from {visible(settings.source or 'defaults')}")
    for name, value in values.items():
        if value is not None:
            print(f"{name} = {_toml(value)}")
    return 0


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    from attnlint.reports.escape import json_text

    return json_text(value)


def explain(options: argparse.Namespace) -> int:
    """`attnlint explain`."""
    from attnlint import explain as explainer

    return explainer.main()


def clean(options: argparse.Namespace) -> int:
    """`attnlint clean`."""
    from attnlint import cache
    from attnlint.reports.escape import visible

    folders = [options.cache_dir] if options.cache_dir else cache.find(options.paths or ["."])
    for folder in folders:
        if cache.remove(folder):
            print(f"removed {visible(folder)}")
    return 0


def completion(options: argparse.Namespace) -> int:
    """`attnlint generate-shell-completion`."""
    from attnlint.completion import script

    print(script(options.shell), end="")
    return 0
