"""The child process in which linted code runs: limits on time, memory and output, an environment without secrets, a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OUTPUT_LIMIT = 4 << 20
RESULT_LIMIT = 16 << 20
_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COVERAGE_PROCESS_START",
)


_NO_MEMORY = ("MemoryError", "allocate memory", "bad_alloc", "out of memory")


@dataclass(frozen=True)
class Limits:
    """Seconds of wall-clock time, MiB of memory beyond what the frameworks take, bytes of output."""

    seconds: float = 120.0
    memory: int = 2048
    output: int = OUTPUT_LIMIT


class ChildFailed(Exception):
    """The child gave no result; the message says why."""


def run_child(job: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Hands a job to a fresh child and returns its result. Raises ChildFailed for a crash, a hang, an exit or a flood."""
    with tempfile.TemporaryDirectory(prefix="attnlint-confirm-") as folder:
        request, answer = os.path.join(folder, "job.json"), os.path.join(folder, "result.json")
        work = os.path.join(folder, "work")
        os.mkdir(work)
        with open(request, "w", encoding="utf-8") as stream:
            json.dump(
                {**job, "started": time.time(), "limits": {"seconds": limits.seconds, "memory": limits.memory, "output": limits.output}},
                stream,
            )
        output = os.path.join(folder, "output")
        with open(output, "wb") as sink, _lifeline() as end:
            process = subprocess.Popen(
                [sys.executable, "-X", "utf8", "-m", "attnlint.confirm.child", request, answer, *map(str, end)],
                cwd=work,
                env=_environment(work),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=end,
            )
            try:
                status = process.wait(limits.seconds)
            except subprocess.TimeoutExpired:
                raise ChildFailed(f"it did not end within {limits.seconds:g} seconds") from None
            finally:
                _kill(process)
        return _result(answer, output, status, limits)


@contextlib.contextmanager
def _lifeline() -> Iterator[tuple[int, ...]]:
    """The end of a pipe for the child; the other closes with this process, however that ends. None where there is no fork."""
    if not hasattr(os, "fork"):
        yield ()
        return
    theirs, own = os.pipe()
    try:
        yield (theirs,)
    finally:
        os.close(own)
        os.close(theirs)


def _result(answer: str, output: str, status: int, limits: Limits) -> dict[str, Any]:
    try:
        if os.path.getsize(answer) > RESULT_LIMIT:
            raise ChildFailed("its result is too large to be read")
        with open(answer, encoding="utf-8") as stream:
            result = json.load(stream)
    except (OSError, ValueError):
        raise ChildFailed(_cause(status, _tail(output), limits)) from None
    if not isinstance(result, dict):
        raise ChildFailed("its result cannot be read")
    return result


def _cause(status: int, tail: str, limits: Limits) -> str:
    if any(words in tail for words in _NO_MEMORY):
        return f"it needs more memory than {limits.memory} MiB (--memory grants more)"
    if status == -getattr(signal, "SIGKILL", 0):
        return "its process was killed by the system, as happens where it needs more memory than the machine has"
    if status < 0:
        names = {
            signal.SIGXCPU if hasattr(signal, "SIGXCPU") else None: "it used up its time",
            getattr(signal, "SIGXFSZ", None): "it wrote too much output",
        }
        try:
            number = signal.Signals(-status)
        except ValueError:
            return f"its process was ended by signal {-status}"
        return names.get(number, f"its process crashed ({number.name})")
    return f"its process exited with status {status} before anything was measured" + (
        f": {tail.strip().splitlines()[-1][:200]}" if tail.strip() and status else ""
    )


def _tail(output: str) -> str:
    try:
        with open(output, "rb") as stream:
            stream.seek(max(0, os.path.getsize(output) - 2000))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the child and whatever it started in its session."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _environment(home: str) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not any(os.path.abspath(path or ".") == here for path in sys.path if "site-packages" in path):
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([known, here] if known else [here])
    environment.update(
        HOME=home,
        TMPDIR=home,
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        CUDA_VISIBLE_DEVICES="",
        PYTORCH_JIT="0",
        TORCHDYNAMO_DISABLE="1",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONHASHSEED="0",
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        MPLBACKEND="Agg",
    )
    if site.ENABLE_USER_SITE:
        environment["PYTHONUSERBASE"] = site.getuserbase()
    return environment
