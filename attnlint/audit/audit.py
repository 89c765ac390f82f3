"""One audit: units, survey, ledger, orders, results, summary; each step keeps what it did, so that the next start goes on from there."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.compute as pc

from attnlint._version import __version__
from attnlint.audit import cluster, listing, page, rows, sources, summary, survey
from attnlint.audit.judge import DONE, Order, judge
from attnlint.audit.ledger import Ledger
from attnlint.audit.nursery import Limits
from attnlint.audit.store import Store
from attnlint.audit.tables import Columns
from attnlint.audit.units import Unit, digest, partitions
from attnlint.config import ConfigError
from attnlint.interface import Settings, resolver_of

ABOUT = "audit.json"
CHOSEN_BY = ("unit", "ordinal", "interpret")


@dataclass(frozen=True)
class Asked:
    """What an audit is asked to do. Addresses are absolute."""

    sources: tuple[str, ...]
    to: str
    settings: Settings = field(default_factory=Settings)
    columns: Columns = field(default_factory=Columns)
    limits: Limits = field(default_factory=Limits)
    scheduler: str | None = None
    workers: int | None = None


@dataclass
class Counts:
    """What is known once the survey is done, and what the second round adds."""

    units: int = 0
    texts: int = 0
    bytes: int = 0
    distinct: int = 0
    candidates: int = 0  # texts that an attention site may be in
    linted: int = 0  # of those, the distinct ones
    suppressed: int = 0


@dataclass
class Done:
    """What an audit came to. `failed` are partitions that could not be done; `told` is the end in a few words."""

    counts: Counts
    failed: list[str] = field(default_factory=list)
    told: str = ""
    listings: list[str] = field(default_factory=list)  # names of the lists of texts
    worked: int = 0  # partitions that this run had to do
    worker_memory: int = 0  # the most that a worker used at the end of a partition, in bytes
    process_memory: int = 0  # the most that a process used that lints, in bytes


class Teller:
    """Says on a terminal how far the audit is."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._draws = not quiet and sys.stderr.isatty()
        self._drawn = 0.0

    def say(self, text: str) -> None:
        if not self._quiet:
            self._wipe()
            print(f"attnlint: {text}", file=sys.stderr)

    def step(self, what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if self._draws and now - self._drawn > 0.2:
            self._drawn = now
            of = f" of {total}" if total is not None else ""
            sys.stderr.write(f"\r\x1b[K{what}: {done}{of} partitions")
            sys.stderr.flush()

    def _wipe(self) -> None:
        if self._draws and self._drawn:
            sys.stderr.write("\r\x1b[K")


def run(asked: Asked, teller: Teller) -> Done:
    """Does an audit, or what is left of it. Raises ConfigError for what the user can mend."""
    resolver_of(asked.settings, "/")  # says at once where a rule is not known
    store = Store(asked.to)
    _claim(asked, store)
    done = Done(Counts())
    with cluster.connected(asked.scheduler, asked.workers) as client, Ledger() as ledger:
        count = len(client.nthreads())
        shown = f", dashboard {client.dashboard_link}" if client.dashboard_link else ""
        teller.say(f"{count} worker{'' if count == 1 else 's'}{shown}")
        keys = _survey(asked, store, client, done, teller)
        orders = _orders(asked, store, keys, ledger, done)
        current = _judge(store, client, orders, done, teller)
        done.counts.distinct = len(ledger)
    if not done.failed:
        _sweep(store, [*keys, *current, *done.listings])
        _add_up(store, current, done.counts)
    found = summary.summarise(store, [*current, *done.listings])
    store.write("summary.md", page.markdown(asked.sources, done.counts, found).encode())
    store.write("summary.html", page.html(asked.sources, done.counts, found).encode())
    store.write(ABOUT, json.dumps({**_about(asked), "complete": not done.failed, "counts": asdict(done.counts)}, indent=1).encode())
    done.told = _told(done, found)
    return done


def _about(asked: Asked) -> dict[str, Any]:
    return {
        "sources": list(asked.sources),
        "version": __version__,
        "settings": asdict(asked.settings),
        "settings_digest": digest(asdict(asked.settings)),
    }


def _claim(asked: Asked, store: Store) -> None:
    """Raises ConfigError where the folder holds something else than this audit."""
    try:
        known = json.loads(store.read(ABOUT))["sources"]
    except FileNotFoundError:
        if store.names(""):
            raise ConfigError(f"--to {asked.to}: the folder holds something else; give a new or an empty one") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"--to {asked.to}: its {ABOUT} cannot be read; give a new or an empty folder") from None
    else:
        if known != list(asked.sources):
            raise ConfigError(
                f"--to {asked.to}: holds the audit of {', '.join(known)}; give another folder, or the same sources in the same order"
            )
        return
    store.write(ABOUT, json.dumps({**_about(asked), "complete": False}, indent=1).encode())


def _survey(asked: Asked, store: Store, client: Any, done: Done, teller: Teller) -> list[str]:
    """Surveys every partition that is not yet known. Returns the names of all, in the order of the sources."""
    known = {name.rpartition("/")[2] for name in store.names(survey.FOLDER)}
    keys: list[str] = []
    finished = 0

    def missing() -> Iterator[tuple[list[Unit], Store]]:
        for source in asked.sources:
            for piece in partitions(sources.units(source, asked.columns)):
                keys.append(survey.key_of(piece))
                done.counts.units += len(piece)
                if f"{keys[-1]}.parquet" not in known:
                    yield piece, store

    def step(_order: tuple[Any, ...], _key: str) -> None:
        nonlocal finished
        finished += 1
        done.worked += 1
        teller.step("survey", finished, None)

    def failed(order: tuple[Any, ...], error: BaseException) -> None:
        keys.remove(survey.key_of(order[0]))
        done.failed.append(f"survey of {order[0][0].name}, …: {_reason(error)}")

    cluster.run(client, survey.survey, missing(), step, failed)
    if not done.counts.units:
        raise ConfigError(f"{', '.join(asked.sources)}: holds no Python, archive or table")
    return keys


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _orders(asked: Asked, store: Store, keys: Iterable[str], ledger: Ledger, done: Done) -> Iterator[Order]:
    """For each partition what is met there first; the lists of texts are written on the way."""
    counts = done.counts
    known = {name.rpartition("/")[2] for folder in ("texts", "not_analysed") for name in store.names(folder)}
    for key in keys:
        units, table = survey.read(store, key)
        read = table.filter(pc.is_valid(table["digest"]))
        firsts = ledger.first(one.as_py() for one in read["digest"])
        counts.texts += len(read)
        counts.bytes += pc.sum(read["size"]).as_py() or 0
        counts.candidates += pc.sum(read["interpret"]).as_py() or 0
        chosen: dict[int, list[int]] = {}
        for number, ordinal, interpret, first in zip(*(read[name].to_pylist() for name in CHOSEN_BY), firsts, strict=True):
            if interpret and first:
                chosen.setdefault(number, []).append(ordinal)
        done.listings.append(digest(key, firsts, asdict(asked.settings)))
        if f"{done.listings[-1]}.parquet" not in known:
            listing.keep(store, done.listings[-1], units, table, firsts, asked.settings)
        if chosen:
            texts = tuple((number, tuple(found)) for number, found in chosen.items())
            yield Order(key, units[0].source, texts, asked.settings, asked.limits)


def _judge(store: Store, client: Any, orders: Iterable[Order], done: Done, teller: Teller) -> list[str]:
    """Does what is left to do. Returns the names of all results that are there now."""
    known = {name.rpartition("/")[2].removesuffix(".json") for name in store.names(DONE)}
    current: list[str] = []
    finished = 0

    def missing() -> Iterator[tuple[Order, Store]]:
        for order in orders:
            current.append(order.key)
            if order.key not in known:
                yield order, store

    def step(_order: tuple[Any, ...], told: dict[str, int]) -> None:
        nonlocal finished
        finished += 1
        done.worked += 1
        done.worker_memory = max(done.worker_memory, told["worker_memory"])
        done.process_memory = max(done.process_memory, told["process_memory"])
        teller.step("lint", finished, None)

    def failed(order: tuple[Any, ...], error: BaseException) -> None:
        current.remove(order[0].key)
        done.failed.append(f"{order[0].source}, partition {order[0].partition}: {_reason(error)}")

    cluster.run(client, judge, missing(), step, failed)
    return current


def _sweep(store: Store, current: Iterable[str]) -> None:
    """Takes away what an earlier state of the source, other settings or another version left."""
    kept = set(current)
    for folder in (survey.FOLDER, DONE, "texts", *rows.SCHEMAS):
        for name in store.names(folder):
            if name.rpartition("/")[2].partition(".")[0] not in kept:
                store.remove(name)


def _add_up(store: Store, current: Iterable[str], counts: Counts) -> None:
    for key in current:
        told = json.loads(store.read(f"{DONE}/{key}.json"))
        counts.linted += told["linted"]
        counts.suppressed += told["suppressed"]


def _told(done: Done, shown: summary.Summary) -> str:
    counts = done.counts
    if done.failed:
        return f"The audit is not complete: {len(done.failed)} partitions failed; started again, it tries them anew."
    if not done.worked:
        return "Nothing has changed since the last audit: nothing to do."
    sites, findings = sum(shown.verdicts.values()), sum(shown.rules.values())
    copies = f"{100 * (1 - counts.distinct / counts.texts):.1f} % copies" if counts.texts else "none"
    return (
        f"{counts.texts} texts of {counts.units} units ({copies}), {counts.candidates} that attention may be in: "
        f"{sites} sites, {findings} findings, {shown.not_analysed} texts not analysed.\n"
        f"Most memory: {done.worker_memory >> 20} MiB a worker, {done.process_memory >> 20} MiB a process that lints."
    )
