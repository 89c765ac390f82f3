"""The work on Dask: a bounded number of partitions under way at a time, so that neither client nor scheduler grows with the source."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from distributed import Client, LocalCluster, as_completed

from attnlint._version import __version__
from attnlint.config import ConfigError

AHEAD = 4  # partitions under way for each thread of the cluster


@contextlib.contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """A client of the scheduler at this address, or of a cluster of processes on this machine.

    Raises ConfigError where the scheduler does not answer.
    """
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout="20s")
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"--scheduler {scheduler}: no scheduler answers there ({error}); start one with `dask scheduler`") from None
        with client:
            _same_version(client, scheduler)
            yield client
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # whatever is lost is done again, or told here
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=_dashboard(), silence_logs=logging.CRITICAL) as cluster,
        Client(cluster) as client,
    ):
        yield client


def version() -> str:
    """The version of attnlint where this is called."""
    return __version__


def _same_version(client: Client, scheduler: str) -> None:
    try:
        found = set(client.run(version).values())
    except Exception as error:  # whatever a worker without attnlint raises
        raise ConfigError(f"--scheduler {scheduler}: its workers cannot run attnlint ({error}); install attnlint[audit] on them") from None
    if found - {__version__}:
        raise ConfigError(f"--scheduler {scheduler}: its workers have attnlint {', '.join(sorted(found))}, this is {__version__}")


def _dashboard() -> str | None:
    """Any free port, where the dashboard's library is there."""
    from importlib.util import find_spec

    return "127.0.0.1:0" if find_spec("bokeh") is not None else None


def run(
    client: Client,
    function: Callable[..., Any],
    orders: Iterable[tuple[Any, ...]],
    done: Callable[[tuple[Any, ...], Any], None],
    failed: Callable[[tuple[Any, ...], BaseException], None],
) -> None:
    """Calls the function with each order on the cluster, and `done` or `failed` here as the answers come.

    A worker that dies has its partitions done again by others; `failed` is told of one that took several workers along.
    """
    pending = as_completed()
    told: dict[str, tuple[Any, ...]] = {}
    queue = iter(orders)

    def feed() -> None:
        ahead = max(2, AHEAD * sum(client.nthreads().values()))
        while len(told) < ahead and (order := next(queue, None)) is not None:
            future = client.submit(function, *order, pure=False)
            told[str(future.key)] = order
            pending.add(future)

    feed()
    while told:
        future = next(pending)
        order = told.pop(str(future.key))
        error = future.exception()
        if error is not None:
            failed(order, error)
        else:
            done(order, future.result())
        future.release()
        feed()
