"""What linting costs, as ratios measured in one run: `python benchmarks/linter.py [FOLDER] [--sample N] [--torchfix]`.

The files of a large public package (or of FOLDER), against `ast.parse` on one core and ruff's pyflakes rules on the same files, and
TorchFix where it is asked for; start-up against a bare interpreter; peak memory; what a doubled tree, a longer function and a deeper
chain of calls cost. Only ratios within one run mean anything.
Needs `ruff` and, for --torchfix, `torchfix` beside this interpreter or on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "transformers==5.17.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "attnlint-benchmarks"
MEMORY_GOAL = 400  # MB
TORCHFIX_LIMIT = 1800  # seconds
REPEATS = 7

PARSE = """
import ast, sys, warnings
warnings.simplefilter("ignore")
for name in sys.stdin.read().split("\\0"):
    with open(name, "rb") as file:
        ast.parse(file.read())
"""
PLAIN = "def double(x):\n    return 2 * x\n"
ATTENTION = """
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
"""
SITE = """\
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim**0.5, dim=-1)
        x = (weights @ v).transpose(1, 2).reshape(b, t, c)
"""


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds by the clock, seconds of processors (its children's too), and the memory of its largest process."""

    wall: float
    cpu: float
    megabytes: float
    status: int


def measure(command: list[str], text: str = "", limit: float | None = None) -> Cost | None:
    """Runs a command; None where it did not end within `limit` seconds."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG if limit else 0)
            wall = time.perf_counter() - start
            if done:
                break
            if limit and wall > limit:
                process.kill()
                process.wait()
                return None
            time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1024 if sys.platform == "linux" else 2**20), process.returncode)


def required(command: list[str], statuses: tuple[int, ...] = (0, 1), text: str = "") -> Cost:
    cost = measure(command, text)
    if cost is None or cost.status not in statuses:
        sys.exit(f"failed: {' '.join(command)}: {cost}")
    return cost


def attnlint(*paths: str | Path, cache: Path | None = None, jobs: int = 0) -> list[str]:
    kept = ["--cache-dir", str(cache)] if cache else ["--no-cache"]
    return [sys.executable, "-m", "attnlint", "check", "--isolated", "--quiet", "--jobs", str(jobs), *kept, *map(str, paths)]


def tool(name: str) -> str:
    beside = shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name)
    return beside or sys.exit(f"{name} is needed: pip install {name}")


def fetched(cache: Path) -> Path:
    """The files of PACKAGE, downloaded and unpacked once."""
    folder = cache / PACKAGE
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", made, PACKAGE], check=True)
            (wheel,) = Path(made).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(Path(made) / "files")
            os.replace(Path(made) / "files", folder)
    return folder


def sampled(source: Path, every: int, target: Path) -> list[Path]:
    """Every `every`th Python file of a tree, in its place below `target`."""
    chosen = sorted(source.rglob("*.py"))[::every]
    copies = []
    for path in chosen:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copies.append(copy)
    return copies


def against(tree: Path, files: list[Path], work: Path, jobs: int, torchfix: int | None) -> dict[str, float | None]:
    """One tree through everything that is compared."""
    parsed = required([sys.executable, "-c", PARSE], (0,), text="\0".join(map(str, files)))
    ruff = statistics.median(
        required([tool("ruff"), "check", "--isolated", "--no-cache", "--select", "F", str(tree)]).wall for _ in range(3)
    )
    cold = required(attnlint(tree, cache=work / "kept", jobs=jobs))
    warm = statistics.median(required(attnlint(tree, cache=work / "kept", jobs=jobs)).wall for _ in range(3))
    found: dict[str, float | None] = {
        "parse_s": parsed.wall,
        "ruff_s": ruff,
        "cold_s": cold.wall,
        "warm_s": warm,
        "cold_over_parse": cold.wall / parsed.wall,
        "warm_over_ruff": warm / ruff,
        "memory_mb": cold.megabytes,
    }
    if torchfix is not None:
        peer = measure([tool("torchfix"), "--select", "ALL", str(tree)], limit=torchfix)
        found["torchfix_s"] = peer.wall if peer else None
        found["torchfix_over_cold"] = peer.wall / cold.wall if peer else None
    return found


def start_up(work: Path) -> dict[str, float]:
    """A run on one file without attention, in starts of a bare interpreter; taken in turns."""
    (work / "plain.py").write_text(PLAIN)
    bare, linted = [], []
    for _ in range(REPEATS):
        bare.append(required([sys.executable, "-c", "pass"]).wall)
        linted.append(required(attnlint(work / "plain.py")).wall)
    return {"bare_ms": statistics.median(bare) * 1e3, "starts": statistics.median(linted) / statistics.median(bare)}


def growth(sizes: tuple[int, ...], make: object, work: Path, whole: bool = False) -> dict[str, float]:
    """Seconds of processor time by size, relative to the smallest size.

    Less what a run on nothing takes, or `whole`, where what is measured may be less than what two such runs differ by.
    """
    (work / "nothing.py").write_text("import torch\n\n\ndef f(q, k):\n    return torch.softmax(q @ k.mT, -1)\n")
    base = 0.0 if whole else min(required(attnlint(work / "nothing.py", jobs=1)).cpu for _ in range(3))
    taken = {}
    for size in sizes:
        target = work / f"size{size}"
        target.mkdir()
        make(size, target)  # type: ignore[operator]
        taken[size] = min(required(attnlint(target, jobs=1)).cpu for _ in range(2)) - base
        shutil.rmtree(target)
    first = max(taken[sizes[0]], 1e-3)
    return {str(size): seconds / first for size, seconds in taken.items()}


def longer(statements: int, target: Path) -> None:
    """One method with as many attentions one after the other."""
    (target / "long.py").write_text("import torch\nfrom torch import nn\n" + ATTENTION + SITE * statements + "        return x\n")


def deeper(depth: int, target: Path) -> None:
    """A chain of helpers, each of which calls the next one twice: an analysis that follows all paths takes 2 ** depth."""
    lines = ["import torch", "", "", "def f0(q, k):", "    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1)"]
    for level in range(1, depth + 1):
        lines += ["", "", f"def f{level}(q, k):", f"    return f{level - 1}(q, k) + f{level - 1}(k, q)"]
    (target / "deep.py").write_text("\n".join(lines) + "\n")


def copies(seed: list[Path], count: int, target: Path) -> None:
    """The same files in as many packages."""
    for number in range(count):
        folder = target / f"copy{number}"
        folder.mkdir()
        for index, path in enumerate(seed):
            shutil.copyfile(path, folder / f"m{index}_{path.name}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", nargs="?", type=Path, help=f"the tree to lint (default: {PACKAGE}, downloaded)")
    arguments.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth file only")
    arguments.add_argument("--cache", type=Path, default=CACHE, help="where the download is kept")
    arguments.add_argument("--jobs", type=int, default=0, help="processes of attnlint (default: what the machine has)")
    arguments.add_argument(
        "--torchfix", type=int, nargs="?", const=TORCHFIX_LIMIT, metavar="SECONDS", help="run TorchFix too, for so long at most"
    )
    arguments.add_argument("--json", action="store_true", help="print one JSON document")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        source = (given.folder or fetched(given.cache)).resolve()
        files = sampled(source, given.sample, work / "tree")
        content = [path.read_bytes() for path in files]
        seed = [path for path, data in zip(files, content, strict=True) if b"softmax(" in data][:12]
        found = {
            "sample": {
                "of": given.folder.name if given.folder else PACKAGE,
                "every": given.sample,
                "files": len(files),
                "lines": sum(data.count(b"\n") for data in content),
                "bytes": sum(map(len, content)),
                "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            },
            "tree": against(work / "tree", files, work, given.jobs, given.torchfix),
            "start": start_up(work),
            "copies": growth((1, 2, 4), lambda count, target: copies(seed, count, target), work),
            "function": growth((25, 50, 100, 200), longer, work),
            "chain": growth((4, 8, 16, 32), deeper, work, whole=True),
        }
    print(json.dumps(found) if given.json else report(found))


def report(found: dict[str, dict]) -> str:
    sample, tree, start = found["sample"], found["tree"], found["start"]
    every = "all files" if sample["every"] == 1 else f"every {sample['every']}th file"
    lines = [
        f"{sample['of']}, {every}: {sample['files']} files, {sample['lines']} lines, {sample['bytes'] / 1e6:.1f} MB; "
        f"{sample['cores']} core(s)",
        f"ast.parse on one core     {tree['parse_s']:8.2f} s",
        f"ruff --select F           {tree['ruff_s']:8.2f} s",
        f"attnlint, cold            {tree['cold_s']:8.2f} s   x{tree['cold_over_parse']:.2f} of ast.parse (goal: at most x1.5)",
        f"attnlint, warm            {tree['warm_s']:8.2f} s   x{tree['warm_over_ruff']:.2f} of ruff (goal: at most x1.5)",
    ]
    if "torchfix_s" in tree:
        taken, ratio = tree["torchfix_s"], tree["torchfix_over_cold"]
        said = "did not end within its limit" if taken is None else f"{taken:8.2f} s   x{ratio:.1f} of attnlint, cold (goal: at least x60)"
        lines.append(f"TorchFix                  {said}")
    lines += [
        f"largest process           {tree['memory_mb']:8.0f} MB  (goal: at most {MEMORY_GOAL})",
        f"start-up                  {start['starts']:8.1f} starts of a bare interpreter, of {start['bare_ms']:.0f} ms (goal: at most 10)",
    ]
    for name, what in (
        ("copies", "the same files so many times (linear: equal to the number)"),
        ("function", "attentions in one function (n log n: 1, 2.4, 5.7, 13.2)"),
        ("chain", "depth of calls, each made twice (bounded)"),
    ):
        lines.append(f"{what}: " + ", ".join(f"{size}: x{ratio:.2f}" for size, ratio in found[name].items()))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
