"""`python -m tests.oracle`: runs and lints a series of programs, and counts by mechanism how the promise is held."""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

from .grammar import names
from .promise import Judged, judge, program_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many programs (with --each and --only: of each mechanism)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--backend", choices=["numpy", "torch"], default="numpy")
    parser.add_argument("--only", metavar="WORDS", help="programs of one mechanism, of those whose name has these words")
    parser.add_argument("--each", action="store_true", help="programs of one mechanism, of every one")
    parser.add_argument("--show", action="store_true", help="print each program that breaks a promise")
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="where programs go that break a promise, or about which too little is said"
    )
    parser.add_argument("--gaps", action="store_true", help="write the lines of a backend in KNOWN_GAPS.txt anew")
    options = parser.parse_args()
    if options.gaps:
        from . import gaps

        gaps.write(options.backend)
        return 0
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    total: collections.Counter[str] = collections.Counter()
    singles = [name for name in names(options.backend) if options.each or (options.only and options.only in name)]
    for only in singles or [None]:
        for number in range(options.start, options.start + options.count):
            program = program_of(options.seed, number, options.backend, only)
            try:
                judged = judge(program)
            except Exception as error:
                print(f"--- program {number} cannot be judged: {type(error).__name__}: {error}\n{program.text}", file=sys.stderr)
                total["not judged"] += 1
                continue
            counts = tally(judged)
            total.update(counts)
            for name in [only] if only else program.mechanisms:
                rows[name].update(counts)
            if options.show and judged.broken:
                print(described(number, judged))
            if options.write:
                _write(options.write, number, judged)
    print(table(rows, total))
    return 1 if total["broken"] or total["not judged"] else 0


COLUMNS = ["right", "proved", "reported wrongly", "wrong", "reported", "called correct", "fix wrong"]


def tally(judged: Judged) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    if judged.right:
        counts["right"] += 1
        counts["proved"] += judged.proved
        counts["reported wrongly"] += judged.reported
    elif judged.uniform:
        counts["wrong"] += 1
        counts["reported"] += judged.reported
        counts["called correct"] += judged.proved
    else:
        counts["no one factor"] += 1
        counts["called correct"] += judged.proved
    counts["fix wrong"] += any("fix" in one for one in judged.broken)
    counts["broken"] += bool(judged.broken)
    return counts


def table(rows: dict[str, collections.Counter[str]], total: collections.Counter[str]) -> str:
    width = max(map(len, [*rows, "all"]))
    lines = [" " * width + "  " + "  ".join(COLUMNS)]
    for name, counts in [*sorted(rows.items()), ("all", total)]:
        lines.append(name.ljust(width) + "  " + "  ".join(str(counts[column] or "").rjust(len(column)) for column in COLUMNS))
    right, wrong = total["right"] or 1, total["wrong"] or 1
    lines.append(f"right ones proved {total['proved'] / right:.1%}, wrong ones reported {total['reported'] / wrong:.1%}")
    lines.append(f"no one factor {total['no one factor']}, promises broken {total['broken']}, not judged {total['not judged']}")
    return "\n".join(lines)


def described(number: int, judged: Judged) -> str:
    ratios = [[ratio and round(ratio, 4) for _, ratio in run.ratios] for run in judged.runs]
    head = [f"--- {number} [{judged.program.plan}] {'; '.join(judged.program.mechanisms)}"]
    head += [f"    {'; '.join(judged.broken) or 'no promise broken'}; ratios {ratios}", *(f"    {one}" for one in judged.reasons)]
    return "\n".join(head) + "\n" + "\n".join(judged.program.files.values())


def _write(folder: Path, number: int, judged: Judged) -> None:
    kind = judged.broken[0].replace(" ", "-").replace(":", "") if judged.broken else None
    if kind is None and judged.right and not judged.proved:
        kind = "right-not-proved"
    if kind is None and not judged.right and judged.uniform and not judged.reported:
        kind = "wrong-not-reported"
    if kind is None:
        return
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    text = "".join(f"# {row}\n" for row in described(number, judged).split("\n")[: 2 + len(judged.reasons)])
    (place / f"{number}.py").write_text(
        text + "\n# file: ".join(["", *(f"{n}\n{t}" for n, t in judged.program.files.items())]), encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main())
