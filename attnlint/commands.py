"""The sub-commands: settings, files, analysis, report, exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlint import session
from attnlint.cli import config_file, overrides
from attnlint.config import ConfigError, Resolver, Settings
from attnlint.console import print_error, print_warning, wants_colour
from attnlint.discover import Discovery, SourceFile, discover, package_roots

if TYPE_CHECKING:
    from attnlint.analysis import Outcome
    from attnlint.session import Run

STDIN = "-"


def check(options: argparse.Namespace) -> int:
    """`attnlint check`."""
    resolver = _resolver(options)
    settings = resolver.run
    session.check_selection(settings)
    work = Work(options, resolver)
    run = session.check(work.outcomes, work.files, resolver, work.with_suppressions, work.documents)
    _complain(run, work.found, settings)
    from attnlint import reports

    reports.write_findings(run, settings, colour=wants_colour(options.color, sys.stdout))
    if run.errors or work.found.errors:
        return 2
    return 1 if run.diagnostics and not settings.exit_zero else 0


def sites(options: argparse.Namespace) -> int:
    """`attnlint sites`."""
    resolver = _resolver(options)
    work = Work(options, resolver)
    run = session.sites(work.outcomes, work.files, work.documents)
    _complain(run, work.found, resolver.run)
    from attnlint import reports

    reports.write_sites(run, resolver.run, colour=wants_colour(options.color, sys.stdout))
    return 2 if run.errors or work.found.errors else 0


class Work:
    """The files of a run and what the analysis says of them."""

    def __init__(self, options: argparse.Namespace, resolver: Resolver) -> None:
        paths: list[str] = options.paths or ["."]
        self.files: list[SourceFile] = []
        self.outcomes: list[Outcome] = []
        self.with_suppressions: list[str] = []
        self.found = Discovery()
        self.roots: list[str] = []
        if STDIN in paths:
            if len(paths) > 1:
                raise ConfigError("`-` (standard input) cannot be given together with other paths")
            self._from_stdin(options, resolver)
        else:
            self._from_paths(paths, resolver)

    def _from_paths(self, paths: Sequence[str], resolver: Resolver) -> None:
        from attnlint import runner

        self.documents = session.Documents()
        self.found = discover(paths, resolver)
        self.files = self.found.files
        if not self.files and not self.found.errors:
            self.found.warnings.append(f"no Python files found under {', '.join(paths)}")
        screened = runner.screen_files(self.files)
        self.with_suppressions = screened.with_suppressions
        self.outcomes = list(screened.failed)
        self.roots = package_roots(self.files, paths)
        runner.run(screened.jobs, self.roots, resolver.run.jobs, self.outcomes.append)
        self.outcomes.sort(key=lambda outcome: outcome.absolute)

    def _from_stdin(self, options: argparse.Namespace, resolver: Resolver) -> None:
        from attnlint import screen
        from attnlint.analysis import analyse
        from attnlint.suppress import mentions_suppression

        name = options.stdin_filename or "<stdin>"
        absolute = os.path.abspath(options.stdin_filename or "stdin.py")
        self.data = sys.stdin.buffer.read()
        self.documents = session.Documents({absolute: self.data})
        settings = resolver.for_file(absolute)
        if settings.force_exclude and options.stdin_filename and settings.excluded.match_any_part(absolute):
            return
        self.files = [SourceFile(name, absolute)]
        self.roots = package_roots(self.files, [absolute] if options.stdin_filename else [])
        project = None
        interpret = screen.may_hold_attention(self.data)
        if interpret:
            from attnlint.engine.project import Project

            project = Project(self.roots)
        self.outcomes = [analyse(self.data, absolute, interpret, project)]
        self.with_suppressions = [absolute] if mentions_suppression(self.data) else []


def _resolver(options: argparse.Namespace) -> Resolver:
    return Resolver(overrides(options), config_file(options), options.isolated)


def _complain(run: Run, found: Discovery, settings: Settings) -> None:
    if not settings.quiet:
        for warning in (*found.warnings, *run.warnings):
            print_warning(warning)
    for error in (*found.errors, *run.errors):
        print_error(error)
