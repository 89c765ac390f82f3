"""What a program may write to while it runs, and what was written since some moment.

Names, attributes and the heap are `Places`. While a branch, a loop or a call is evaluated, a `Mark` is open, and every write to
places that are older than it is noted: so the branch can be taken back, and joined with what the other branches wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlint.domain.values import Value


class _Missing:
    """Nothing is held there."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Any = _Missing()


class Places(dict[Any, Any]):
    """A mapping whose writes are noted in a journal. A key may say what is held there as long as nobody wrote: its `initial`."""

    __slots__ = ("born", "journal", "owner")

    def __init__(self, journal: Journal, owner: Any = None) -> None:
        super().__init__()
        self.journal = journal
        self.born = journal.now()
        self.owner = owner  # the object whose attributes these are

    def __setitem__(self, key: Any, value: Value) -> None:
        journal = self.journal
        if self.born < journal.latest:
            journal.entries.append((self, key, dict.get(self, key, MISSING)))
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: Any) -> None:
        journal = self.journal
        if self.born < journal.latest:
            journal.entries.append((self, key, dict.get(self, key, MISSING)))
        dict.__delitem__(self, key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **more: Any) -> None:
        for key, value in dict(*others, **more).items():
            self[key] = value

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        if key not in self and default is not MISSING:
            return default
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def put(self, key: Any, value: Any) -> None:
        """Write, or remove where the value is `MISSING`."""
        if value is not MISSING:
            self[key] = value
        elif key in self:
            del self[key]

    def reset(self) -> None:
        """Empty, as if it were new."""
        dict.clear(self)
        self.born = self.journal.now()

    def held(self, key: Any) -> Any:
        """What is held there, or was there from the start; `MISSING` where that is nothing."""
        found = dict.get(self, key, MISSING)
        return getattr(key, "initial", MISSING) if found is MISSING else found


Changes = dict[tuple[int, Any], tuple[Places, Any]]  # places by identity and key, with what they hold at the end; see `Journal.changes`


@dataclass(frozen=True, eq=False)
class Mark:
    """A moment that the program can be taken back to."""

    serial: int
    index: int


class Journal:
    """The writes since the marks that are open, oldest first."""

    def __init__(self) -> None:
        self.entries: list[tuple[Places, Any, Any]] = []
        self.marks: list[Mark] = []
        self.latest = 0  # the serial of the innermost mark; places that are younger need no note
        self._serial = 0

    def now(self) -> int:
        self._serial += 1
        return self._serial

    def reset(self) -> None:
        """Forget every mark."""
        self.entries.clear()
        self.marks.clear()
        self.latest = 0

    def open(self) -> Mark:
        mark = Mark(self.now(), len(self.entries))
        self.marks.append(mark)
        self.latest = mark.serial
        return mark

    def close(self, mark: Mark) -> None:
        """Forget a mark, and those that were opened after it; what was written stays."""
        while self.marks and self.marks[-1].serial >= mark.serial:
            self.marks.pop()
        self.latest = self.marks[-1].serial if self.marks else 0
        if not self.marks:
            self.entries.clear()

    def changes(self, mark: Mark) -> Changes:
        """The places that were written since a mark, with what they hold now."""
        found = {(id(places), key): places for places, key, _ in self.entries[mark.index :]}
        return {place: (places, dict.get(places, place[1], MISSING)) for place, places in found.items()}

    def undo(self, mark: Mark) -> None:
        """Take everything back that was written since a mark; it stays open."""
        entries = self.entries
        for index in range(len(entries) - 1, mark.index - 1, -1):
            places, key, before = entries[index]
            if before is MISSING:
                dict.pop(places, key, None)
            else:
                dict.__setitem__(places, key, before)
        del entries[mark.index :]

    def taken_back(self, mark: Mark) -> Changes:
        """The changes since a mark, which are undone."""
        if len(self.entries) == mark.index:
            return {}
        found = self.changes(mark)
        self.undo(mark)
        return found


def apply(changes: Changes) -> None:
    """Write again what was taken back."""
    for (_, key), (places, value) in changes.items():
        places.put(key, value)
