"""What watching costs, as ratios measured in one run: `python benchmarks/probe.py [--json]`.

A small and a mid-size transformer, plain, watched, and under PyTorch's FlopCounterMode for comparison; a large attention by its first
checked call; what a decorated call costs after its last check, and a forward between two samples of a monitor, each beside the plainest
wrapper there is. Processor time, in one thread: only ratios within one run mean anything.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnlint import probe


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head_dim = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        return self.out(((q @ k.mT * self.head_dim**-0.5).softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.feed(self.second(x))


def rounds(plain: Callable[[], object], others: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median ratio of each to `plain`, measured in turns so that a slow moment hits all of them."""
    for run in (plain, *others.values()):
        run()
    ratios: dict[str, list[float]] = {name: [] for name in others}
    base = []
    for _ in range(repeats):
        start = time.process_time()
        plain()
        own = time.process_time() - start
        base.append(own)
        for name, run in others.items():
            start = time.process_time()
            run()
            ratios[name].append((time.process_time() - start) / own)
    return {"plain_ms": statistics.median(base) * 1e3, **{name: statistics.median(values) for name, values in ratios.items()}}


def watching(width: int, heads: int, layers: int, batch: int, tokens: int, repeats: int) -> dict[str, float]:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(width, heads) for _ in range(layers))).eval()
    x = torch.randn(batch, tokens, width)

    def plain() -> object:
        with torch.no_grad():
            return model(x)

    def watched() -> object:
        with torch.no_grad(), probe.watch(model) as report:
            model(x)
        return report

    def flops() -> object:
        with torch.no_grad(), FlopCounterMode(display=False):
            return model(x)

    return rounds(plain, {"watch": watched, "flop_counter": flops}, repeats)


def decorated(calls: int = 200_000) -> dict[str, float]:
    """Nanoseconds that a decorator adds to a call after its last check, and the ratio to a call of a small attention."""

    def empty(x: object) -> None:
        return None

    def attend(x: torch.Tensor) -> torch.Tensor:
        return (x @ x.mT * x.shape[-1] ** -0.5).softmax(-1) @ x

    def bare(*args: object, **kwargs: object) -> None:
        return empty(*args, **kwargs)

    checked_empty, checked_attend = probe.checked(calls=1, on_fault="report")(empty), probe.checked(calls=1)(attend)
    x = torch.randn(8, 128, 64)
    checked_empty(x)
    checked_attend(x)

    def per_call(f: Callable[[object], object], n: int) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            for _ in range(n):
                f(x)
            best = min(best, (time.process_time() - start) / n)
        return best

    added = per_call(checked_empty, calls) - per_call(empty, calls)
    cost = per_call(attend, 200)  # type: ignore[arg-type]
    return {"added_ns": added * 1e9, "bare_ns": (per_call(bare, calls) - per_call(empty, calls)) * 1e9, "ratio": (cost + added) / cost}


def large(repeats: int = 3) -> dict[str, float]:
    """A checked call of one attention of (4, 1024, 512) with eight heads."""
    torch.manual_seed(0)
    model, x = Attention(512, 8).eval(), torch.randn(4, 1024, 512)

    def plain() -> object:
        with torch.no_grad():
            return model(x)

    def first_call() -> object:
        with torch.no_grad():
            return probe.checked(calls=1)(lambda: model(x))()

    return rounds(plain, {"checked": first_call}, repeats)


def between_samples(repeats: int = 50) -> dict[str, float]:
    """A forward that a monitor does not measure."""
    model, x = Attention(256, 4).eval(), torch.randn(2, 64, 256)
    other = Attention(256, 4).eval()
    monitor = probe.Monitor(other, every=None)
    found = rounds(lambda: model(x), {"monitored": lambda: other(x)}, repeats)
    monitor.close()
    return found


def installed() -> dict[str, bool]:
    """After its last call an installed probe has left nothing behind."""
    model = Attention(64, 4)
    before = dict(model.__dict__)
    probe.install(model, calls=1)
    model(torch.randn(2, 10, 64))
    return {"module_as_it_was": model.__dict__.keys() == before.keys() and all(model.__dict__[k] is before[k] for k in before)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true", help="print one JSON document")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    found = {
        "small": watching(width=256, heads=4, layers=2, batch=2, tokens=128, repeats=30),
        "mid": watching(width=768, heads=12, layers=6, batch=4, tokens=256, repeats=5),
        "decorator": decorated(),
        "large": large(),
        "between": between_samples(),
        "installed": installed(),
    }
    if given.json:
        print(json.dumps(found))
        return
    for name, goal in (("small", found["small"]["flop_counter"]), ("mid", 1.05)):
        row = found[name]
        print(
            f"{name:>6} model, {row['plain_ms']:.1f} ms plain: watched ×{row['watch']:.2f} (goal: at most ×{goal:.2f}), "
            f"FlopCounterMode ×{row['flop_counter']:.2f}"
        )
    cost = found["decorator"]
    print(
        f"a decorated call after its checks: +{cost['added_ns']:.0f} ns (goal: 100), "
        f"the plainest wrapper +{cost['bare_ns']:.0f} ns, ×{cost['ratio']:.4f}"
    )
    print(f"a checked call of a (4, 1024, 512) attention with eight heads: ×{found['large']['checked']:.2f} (goal: at most ×2)")
    print(f"a forward between two samples of a monitor: ×{found['between']['monitored']:.3f}")
    print(f"a finished installed probe: the module is as it was: {found['installed']['module_as_it_was']}")


if __name__ == "__main__":
    main()
