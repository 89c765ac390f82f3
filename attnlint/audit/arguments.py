"""The arguments of `attnlint audit`, here so that they can be asked for without Dask."""

from __future__ import annotations

import argparse


def parser() -> argparse.ArgumentParser:
    """The parser of `attnlint audit`."""
    made = argparse.ArgumentParser(
        prog="attnlint audit",
        description="Finds every attention site of repositories, archives and tables of code, and writes the results as Parquet.",
        epilog="Exit status: 0 the audit is complete, whatever it found; 2 it is not. Started again, it goes on where it was.",
        allow_abbrev=False,
    )
    made.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a folder, bare git mirror, wheel, sdist, Parquet or JSON-lines file, or an fsspec address of one",
    )
    made.add_argument("--to", required=True, metavar="FOLDER", help="where the results go, here or at an fsspec address")
    work = made.add_argument_group("work")
    work.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://10.0.0.1:8786 (default: a cluster on this machine)"
    )
    work.add_argument("--workers", type=_positive, metavar="N", help="worker processes on this machine (default: a core each)")
    work.add_argument(
        "--max-seconds", type=_positive, default=60, metavar="N", help="seconds of computing that a text is granted (default: 60)"
    )
    work.add_argument("--max-memory", type=_positive, default=4096, metavar="MIB", help="memory that a text is granted (default: 4096)")
    work.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    rules = made.add_argument_group("rules")
    for name, text in (
        ("select", "rules to report: codes, prefixes or names, with commas between"),
        ("extend-select", "rules to report besides"),
        ("ignore", "rules not to report"),
    ):
        rules.add_argument(f"--{name}", action="append", metavar="RULES", help=text)
    rules.add_argument("--preview", action="store_true", default=None, help="report preview rules and findings too")
    rules.add_argument(
        "--config", action="append", metavar="FILE", help="configuration file, or a setting; those of the sources are not read"
    )
    tables = made.add_argument_group("tables")
    for name, text in (("content", "program"), ("path", "path of the program"), ("repository", "repository of the program")):
        tables.add_argument(f"--{name}-column", metavar="NAME", help=f"the column that holds the {text}")
    return made


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)
