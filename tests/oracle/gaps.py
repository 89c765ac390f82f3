"""The known gaps: mechanisms of which some program breaks a promise today. The list can only get shorter: each line is a strict xfail."""

from __future__ import annotations

from pathlib import Path

from .grammar import names
from .promise import judge, program_of

FILE = Path(__file__).parent / "KNOWN_GAPS.txt"
HEAD = """\
# Mechanisms of which a program breaks the promise: "backend | mechanism | what happens". Each is a strict xfail, so that an improvement
# has to take its line out; `python -m tests.oracle --gaps --backend NAME` writes them anew, and a line that it adds is a step back.
"""
PROGRAMS = 2  # of each mechanism: one that is meant to be right, one that is not


def broken(backend: str, mechanism: str) -> list[str]:
    """What the programs of a mechanism break, each once."""
    found: list[str] = []
    for number in range(PROGRAMS):
        found += judge(program_of(0, number, backend, mechanism)).broken
    return sorted(set(found))


def read() -> dict[tuple[str, str], str]:
    gaps = {}
    for row in FILE.read_text(encoding="utf-8").splitlines():
        if row.strip() and not row.startswith("#"):
            backend, mechanism, reason = (part.strip() for part in row.split("|"))
            gaps[backend, mechanism] = reason
    return gaps


def write(backend: str) -> None:
    """Writes the lines of a backend anew; those of the other stay."""
    known = {key: reason for key, reason in read().items() if key[0] != backend}
    for mechanism in names(backend):
        if found := broken(backend, mechanism):
            known[backend, mechanism] = "; ".join(found)
    rows = [f"{name} | {mechanism} | {reason}\n" for (name, mechanism), reason in sorted(known.items(), key=lambda row: row[0][0])]
    FILE.write_text(HEAD + "".join(rows), encoding="utf-8")
