"""The child process: takes a job, fences itself in, runs the case before and after the fix, writes what was measured."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from typing import Any

from attnlint.confirm import fence

SEARCH = 15.0  # seconds of processor time for finding a case


def main(request: str, answer: str, lifeline: int | None = None) -> None:
    """Reads the job file, writes the result file. `lifeline` is the end of a pipe whose other end the parent holds while it lives."""
    scratch = os.path.dirname(os.path.abspath(request))
    if lifeline is not None and hasattr(os, "fork"):
        _guard(lifeline, scratch)
    with open(request, encoding="utf-8") as stream:
        job = json.load(stream)
    stream = open(answer, "w", encoding="utf-8")  # noqa: SIM115 - opened before files are fenced off
    means = fence.put_up(scratch, os.getcwd())
    if missing := [name for name in job["libraries"] if not _is_here(name)]:
        reason = f"{' and '.join(missing)} not installed here; install what it runs with: pip install {' '.join(missing)}"
        _answer(stream, {"before": None, "after": None, "reasons": [reason]})
        return
    _warm_up("torch" in job["libraries"])
    _limit(job["limits"])
    _refuse(os.getcwd())
    sys.setrecursionlimit(2000)
    _answer(stream, {**work(job), "fence": means})


def _guard(lifeline: int, scratch: str) -> None:
    """Splits this process in two: one goes on and runs the code, the other ends it and removes the folder once the parent is gone.

    The code can stop neither: what it is fenced in by keeps it from signalling others, and the kernel ends it with its guard.
    """
    guard = os.getpid()
    worker = os.fork()
    if not worker:
        os.close(lifeline)
        fence.end_with_parent(guard)
        return
    orphaned = threading.Event()

    def watch() -> None:
        os.read(lifeline, 1)  # returns when the parent's end is closed, however that came about
        orphaned.set()
        with contextlib.suppress(OSError):
            os.kill(worker, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    status = os.waitpid(worker, 0)[1]
    if orphaned.is_set():
        threading.Event().wait()
    if os.WIFSIGNALED(status):  # what ended the code ends the guard, so that the parent hears of it
        _limit_cores()
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(guard, os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def _limit_cores() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _is_here(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _warm_up(with_torch: bool) -> None:
    """Loads all that a measurement needs, before files are fenced off: frameworks make folders and read their sources when first used."""
    from attnlint import probe
    from attnlint.confirm import cases, verdict  # noqa: F401

    if with_torch:
        import torch

        torch.set_num_threads(1)
        importlib.import_module("torch.nn.functional")
        with torch.no_grad(), probe.watch(keep_samples=True):
            query = torch.randn(1, 2, 4, 8)
            torch.softmax(query @ query.transpose(-1, -2) * 8**-0.5, -1) @ query
            torch.nn.functional.scaled_dot_product_attention(query, query, query)
        with contextlib.suppress(ImportError):
            importlib.import_module("einops").rearrange(query, "b h t d -> b t (h d)")
    else:
        import numpy as np

        with probe.watch(keep_samples=True):
            rows = probe.array(np.eye(4))
            np.exp(rows @ rows.T)


def _answer(stream: Any, result: dict[str, Any]) -> None:
    json.dump(result, stream)
    stream.flush()
    stream.close()
    os._exit(0)  # threads and exit handlers of the code have no say any more


def work(job: dict[str, Any]) -> dict[str, Any]:
    """The readings before and after, and the reasons where there are none."""
    from attnlint.confirm.cases import Bench, Entry, Recipe, run, search
    from attnlint.confirm.construct import describe
    from attnlint.confirm.measure import Reading, Target
    from attnlint.confirm.namespace import Tree

    def bench(version: str, until: float, processor: float) -> Bench:
        data = job[version]
        target = Target(job["path"], tuple(map(tuple, data["rows"])), job["kind"])
        tree = Tree(job["roots"], {job["path"]: data["text"]})
        return Bench(tree, target, job["library"], job["started"] + until, time.process_time() + processor)

    budget = job["limits"]["seconds"]
    before = bench("before", budget * 0.6, SEARCH)
    found: list[tuple[Recipe, list[Reading]]] = []
    for kind, name, leaves_open in job["entries"]:
        if kind == "slice":
            before.deadline, before.processor = job["started"] + budget * 0.75, float("inf")  # its tries are few
        cases = search(before, Entry(kind, job["path"], name), job["flags"])
        for count, (recipe, readings) in enumerate(cases, 1):
            if kind == "slice" and not _repaired(bench("after", budget, SEARCH) if job.get("after") else None, recipe, job["kind"]):
                before.note(recipe.entry, "what was cut out was measured, but nothing bears out that its sizes are those meant")
            elif shows(readings, job["kind"]) or not leaves_open:  # a scale that this module chose itself refutes nothing
                found.append((recipe, readings))
            else:
                before.note(recipe.entry, "leaves the scale to its caller, and is right with the right one")
            if shows(readings, job["kind"]) or count >= 2:
                break
        if found and shows(found[-1][1], job["kind"]):
            break
    result: dict[str, Any] = {
        "reasons": list(before.reasons),
        "missing": before.tree.missing,
        "stubs": [name for name in before.tree.used_stubs if not name.endswith(")")],
        "before": None,
        "after": None,
    }
    if not found:
        return result
    found.sort(key=lambda one: not shows(one[1], job["kind"]))
    recipe, readings = found[0]
    result["case"] = {
        "entry": recipe.title,
        "inputs": {name: repr(value) for name, value in recipe.state.items()},
        "assignments": len(found),
    }
    result["before"] = [_reading(one) for one in readings]
    if job.get("after") is not None:
        after = bench("after", budget, SEARCH)
        try:
            fixed = run(after, recipe)
            result["after"] = [_reading(one) for one in fixed]
            if not fixed:
                result["after_reason"] = f"the fixed code {after.target.unseen()}"
        except (Exception, SystemExit) as error:
            result["after_reason"] = f"the fixed code raises {describe(error)}"
    return result


def _repaired(after: Any, recipe: Any, kind: str) -> bool:
    """Whether the fixed code, cut out in the same way, has the right scale: the sizes of a cut are guessed, and this bears them out."""
    from attnlint.confirm.cases import run
    from attnlint.confirm.verdict import clears

    if after is None:
        return False
    try:
        readings = run(after, recipe)
    except (Exception, SystemExit):
        return False
    return bool(readings) and all(clears(reading.figures, kind) for reading in readings)


def shows(readings: Any, kind: str) -> bool:
    """Whether readings bear out a fault of this kind."""
    from attnlint.confirm.verdict import bears_out

    return any(bears_out(reading.figures, kind) for reading in readings)


def _reading(reading: Any) -> dict[str, Any]:
    return {"figures": dict(reading.figures), "logits": [_finite(row) for row in reading.logits], "weights": reading.weights}


def _finite(row: Any) -> list[float | None]:
    return [value if value > float("-inf") else None for value in row]


def _limit(limits: dict[str, Any]) -> None:
    """Limits on memory, time and output of this process, where the system has them."""
    try:
        import resource
    except ImportError:
        return
    wanted = _used_memory() + limits["memory"] * (1 << 20)
    for kind, soft in (
        (resource.RLIMIT_AS, wanted),
        (resource.RLIMIT_CPU, int(limits["seconds"]) + 5),
        (resource.RLIMIT_FSIZE, max(limits["output"], 32 << 20)),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            hard = resource.getrlimit(kind)[1]
            bound = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
            resource.setrlimit(kind, (bound, bound))
        except (ValueError, OSError):
            continue


def _refuse(folder: str) -> None:
    """A hook that refuses files outside the folder, connections and further processes where Python itself is asked for them.

    It says what is refused, and is all there is where the system has no fence of its own.
    """
    inside = os.path.realpath(folder) + os.sep

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            if writes and isinstance(path, (str, bytes)) and not _inside(path, inside):
                raise PermissionError(f"writing to {os.fsdecode(path)} is refused while a finding is confirmed")
        elif event == "sqlite3.connect":
            if arguments[0] not in (":memory:", "") and not _inside(arguments[0], inside):
                raise PermissionError(f"writing to {os.fsdecode(arguments[0])} is refused while a finding is confirmed")
        elif event in _REFUSED:
            raise PermissionError(f"`{event}` is refused while a finding is confirmed")

    def make(path: Any, *_arguments: Any, **_keywords: Any) -> None:
        raise PermissionError(f"making {os.fsdecode(path)} is refused while a finding is confirmed")

    for name in ("mkfifo", "mknod"):  # of these no hook is told
        if hasattr(os, name):
            setattr(os, name, make)
    sys.addaudithook(refuse)


_REFUSED = frozenset(
    [
        *("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "ftplib.connect", "smtplib.connect", "webbrowser.open"),
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile"),
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate"),
        *("os.utime", "os.setxattr", "os.removexattr", "os.chflags"),
        *("os.kill", "os.killpg", "shutil.rmtree", "shutil.move", "shutil.copyfile"),
    ]
)


def _inside(path: str | bytes, folder: str) -> bool:
    real = os.path.realpath(os.fsdecode(path))
    return real.startswith(folder) or real in ("/dev/null", os.devnull)


def _used_memory() -> int:
    """Bytes of address space in use."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 6 << 30


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))
