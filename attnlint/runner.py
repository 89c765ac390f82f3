"""Reads, screens and analyses the files of a run: in this process where the job is small, in several where it is large."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnlint import screen
from attnlint.analysis import Engine, Outcome, analyse_file
from attnlint.cache import Cache, digest
from attnlint.discover import SourceFile, reason
from attnlint.text.files import read

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

INTERPRETED = 8  # a byte that is interpreted costs about as much as so many that are only parsed
WORTH_A_PROCESS = 3_000_000  # weight from which on a process of its own pays
FEW = 200  # so many files may be a part of their tree only: what they import is looked at, too
BATCH = 400_000
BATCH_FILES = 24


@dataclass(frozen=True)
class Job:
    """One file to analyse; `interpret` is what the screen said of it."""

    absolute: str
    size: int
    interpret: bool
    digest: str

    @property
    def weight(self) -> int:
        return self.size * (INTERPRETED if self.interpret else 1) + 2_000


@dataclass
class Screened:
    """What a first look at the bytes of all files says."""

    jobs: list[Job] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)
    with_suppressions: list[str] = field(default_factory=list)


def screen_files(files: Sequence[SourceFile], cache: Cache | None = None, everything: bool = False) -> Screened:
    """Reads every file once. A file without attention of its own is interpreted where it imports some of another's.

    `everything` has all files interpreted, whatever they hold.
    """
    screened = Screened()
    looks: list[tuple[str, int, str, screen.Look]] = []
    holders: set[bytes] = set()
    for one in files:
        try:
            data = read(one.absolute)
        except (OSError, ValueError) as error:
            screened.failed.append(Outcome(one.absolute, error=f"cannot be read: {reason(error)}"))
            continue
        content = digest(data)
        look = cache.look(content, data) if cache is not None else screen.look(data)
        if look.holds:
            holders |= look.names
            holders.add(os.fsencode(os.path.splitext(os.path.basename(one.absolute))[0]))
        if look.suppresses:
            screened.with_suppressions.append(one.absolute)
        looks.append((one.absolute, len(data), content, look))
    few = len(looks) <= FEW
    for absolute, size, content, look in looks:
        interpret = (
            everything or look.holds or not holders.isdisjoint(look.names) or (few and bool(look.names) and _leads_outside(absolute))
        )
        screened.jobs.append(Job(absolute, size, interpret, content))
    return screened


def _leads_outside(absolute: str) -> bool:
    """Whether a file imports something that leads to attention in a file that may not be among those of the run."""
    from attnlint.syntax.project import Project

    index = Project([absolute]).index
    own = index.file(absolute)
    if own is None:
        return False
    met: set[str] = set()
    targets = (*own.imports.values(), *own.stars)
    return any(bool(index.leads(absolute, target, met)) for target in targets)


def run(jobs: Sequence[Job], engine: Engine, processes: int, cache: Cache | None, done: Callable[[Outcome], None]) -> None:
    """Analyses all jobs; `done` is called with each outcome, in no particular order. `processes` 0: as many as are worth it."""
    left = []
    for job in jobs:
        if cache is not None:
            cache.know(job.absolute, job.digest)
    by_path = {job.absolute: job for job in jobs}
    for job in jobs:
        known = cache.get(job) if cache is not None else None
        if known is not None:
            done(known)
        else:
            left.append(job)

    def keep(outcome: Outcome) -> None:
        if cache is not None:
            cache.put(by_path[outcome.absolute], outcome)
        done(outcome)

    count = worthwhile(left, processes)
    if count <= 1:
        run_here(left, engine, keep)
    else:
        Pool(engine, count).run(left, keep)


def worthwhile(jobs: Sequence[Job], processes: int) -> int:
    """How many processes to use."""
    if processes:
        return min(processes, len(jobs))
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(available, len(jobs), sum(job.weight for job in jobs) // WORTH_A_PROCESS))


def run_here(jobs: Sequence[Job], engine: Engine, done: Callable[[Outcome], None]) -> None:
    """Analyses one file after the other in this process."""
    for job in jobs:
        done(analyse_file(job.absolute, job.interpret, engine))


class Worker:
    """A process and the jobs that it has been given; it answers them in order."""

    def __init__(self, context: Any, engine: Engine, others: Sequence[Connection]) -> None:
        self.connection, far = context.Pipe()
        self.jobs: deque[Job] = deque()
        inherited = [*others, self.connection] if context.get_start_method() == "fork" else []
        self.process: BaseProcess = context.Process(target=work, args=(far, engine, inherited), daemon=True)
        self.process.start()
        far.close()

    def give(self, jobs: Sequence[Job]) -> None:
        self.jobs.extend(jobs)
        self.connection.send([(job.absolute, job.interpret) for job in jobs])

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


class Pool:
    """Worker processes. One that dies takes only the file along that it was at."""

    def __init__(self, engine: Engine, count: int) -> None:
        import multiprocessing

        self._engine = engine
        self._count = count
        methods = multiprocessing.get_all_start_methods()
        forks = "fork" in methods and sys.platform == "linux"
        self._context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        self._forks = forks
        self._workers: list[Worker] = []

    def run(self, jobs: Sequence[Job], done: Callable[[Outcome], None]) -> None:
        queue = deque(sorted(jobs, key=lambda job: (-job.weight, job.absolute)))
        if self._forks and any(job.interpret for job in jobs):
            self._engine.load()  # once, shared by all workers

        sys.stdout.flush()
        sys.stderr.flush()
        try:
            for _ in range(self._count):
                self._workers.append(self._start())
            self._serve(queue, done)
        finally:
            for worker in self._workers:
                worker.stop()

    def _start(self) -> Worker:
        return Worker(self._context, self._engine, [worker.connection for worker in self._workers])

    def _serve(self, queue: deque[Job], done: Callable[[Outcome], None]) -> None:
        from multiprocessing.connection import wait

        for worker in self._workers:
            self._feed(worker, queue)
        while busy := [worker for worker in self._workers if worker.jobs]:
            by_connection = {worker.connection: worker for worker in busy}
            for ready in wait(list(by_connection)):
                worker = by_connection[ready]
                try:
                    outcome = worker.connection.recv()
                except (EOFError, OSError):
                    self._bury(worker, queue, done)
                    continue
                worker.jobs.popleft()
                done(outcome)
                if len(worker.jobs) <= 1:
                    self._feed(worker, queue)

    def _feed(self, worker: Worker, queue: deque[Job]) -> None:
        batch: list[Job] = []
        while queue and len(batch) < BATCH_FILES and sum(job.weight for job in batch) < BATCH:
            batch.append(queue.popleft())
        if batch:
            with contextlib.suppress(OSError):  # it has died; reading from it will tell
                worker.give(batch)

    def _bury(self, worker: Worker, queue: deque[Job], done: Callable[[Outcome], None]) -> None:
        """Reports the file that a dead worker was at, gives its other files to a new one."""
        worker.process.join()
        code = worker.process.exitcode or 0
        lost = worker.jobs.popleft()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        done(Outcome(lost.absolute, error=f"not analysed: the process that analysed it ended unexpectedly ({how})"))
        queue.extendleft(reversed(worker.jobs))
        worker.jobs.clear()
        worker.connection.close()
        self._workers.remove(worker)
        if queue:
            fresh = self._start()
            self._workers.append(fresh)
            self._feed(fresh, queue)


def work(connection: Connection, engine: Engine, inherited: Sequence[Connection]) -> None:
    """What a worker does until its pipe closes: takes file names, answers with outcomes."""
    import gc
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:  # or a worker would keep the pipes of its fellows open when the parent is gone
        other.close()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        while True:
            for absolute, interpret in connection.recv():
                connection.send(analyse_file(absolute, interpret, engine))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _end_with_parent() -> None:
    """Ends this process when the one that started it is gone, however that came about."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
