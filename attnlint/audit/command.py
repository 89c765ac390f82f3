"""`attnlint audit`: from its arguments to an audit, and what is said at the end of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
    import fsspec  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as error:  # the command line tells how to install what is missing
    raise ImportError(f"it needs dask, distributed, fsspec and pyarrow: {error}") from error

from attnlint.audit import audit
from attnlint.audit.arguments import parser
from attnlint.audit.nursery import Limits
from attnlint.audit.tables import Columns
from attnlint.cli import config_file, overrides
from attnlint.config import ConfigError, Resolver
from attnlint.console import print_error, print_warning
from attnlint.interface import Settings


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 the audit is complete, 2 it is not; findings are what it is for, and no reason to fail."""
    options = parser().parse_args(list(arguments))
    if options.scheduler and options.workers:
        raise ConfigError("--workers is for a cluster on this machine; that of --scheduler has the workers that it was started with")
    resolver = Resolver(overrides(options), config_file(options), isolated=True)
    columns = Columns(options.content_column, options.path_column, options.repository_column)
    asked = audit.Asked(
        tuple(_absolute(source) for source in options.sources),
        _absolute(options.to),
        Settings.of(resolver.run),
        columns,
        Limits(options.max_seconds, options.max_memory << 20, resolver.run.max_steps),
        options.scheduler,
        options.workers,
    )
    try:
        done = audit.run(asked, audit.Teller(quiet=options.quiet))
    except OSError as error:
        raise ConfigError(f"attnlint audit: {error}; make sure that the sources can be read and {options.to} can be written") from None
    except BaseException as error:
        if not isinstance(error, Exception):
            print_warning("the audit was stopped; started again, it goes on where it was")
        raise
    for failure in done.failed:
        print_error(failure)
    if not options.quiet:
        print(done.told)
        print(f"Results: {options.to}; to look at: {options.to.rstrip('/')}/summary.html", file=sys.stdout)
    return 2 if done.failed else 0


def _absolute(source: str) -> str:
    """A source as a worker elsewhere can open it."""
    return source if "://" in source or "::" in source else os.path.abspath(source)
