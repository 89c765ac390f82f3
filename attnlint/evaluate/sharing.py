"""Memory that values share: giving what is held an identity, showing what was done in place, and doing it.

Every value that a name, an attribute or a container holds is `held`; reading it gives its `current` state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from attnlint.domain.algebra import Monomial
from attnlint.domain.heap import Cell, Effect, Held, Part, Region, Storage, perhaps_copied, shown, some_piece
from attnlint.domain.values import (
    UNTOUCHED,
    Argument,
    Choice,
    Effects,
    Items,
    Leaf,
    Mapping,
    Sequence,
    Tensor,
    Value,
    options_of,
)
from attnlint.frameworks.effects import IMMUTABLE, IN_PLACE, SHARES, Shares

if TYPE_CHECKING:
    from attnlint.evaluate.state import Engine

MAYBE_TOUCHED = "it is handed to a call that may change it in place"


def held(value: Value) -> Value:
    """A value as a name, an attribute or a container holds it: tensors have a place in memory, lists and dictionaries an identity."""
    if isinstance(value, Tensor):
        return value if value.held is not None else value.but(held=Held(Storage(UNTOUCHED)))
    if isinstance(value, Items):
        items = tuple(map(held, value.items))
        changed = any(a is not b for a, b in zip(items, value.items, strict=True))
        if value.mutable and value.cell is None:
            return _with_cell(replace(value, items=items))
        return replace(value, items=items) if changed else value
    if isinstance(value, Mapping) and value.cell is None:
        return _with_cell(replace(value, items={key: held(item) for key, item in value.items.items()}))
    if isinstance(value, Sequence) and value.cell is None:
        return _with_cell(replace(value, item=held(value.item)))
    if isinstance(value, Choice):
        options = tuple((path, held(option)) for path, option in value.options)
        return Choice(options) if any(a is not b for (_, a), (_, b) in zip(options, value.options, strict=True)) else value
    return value


def _with_cell(value: Items | Mapping | Sequence) -> Value:
    cell = Cell(value)
    cell.initial = replace(value, cell=cell)
    return cell.initial


def new(value: Value) -> Value:
    """The result of an operation that makes a new tensor: it lies nowhere yet."""
    if isinstance(value, Tensor):
        return value if value.held is None else value.but(held=None)
    if isinstance(value, Items) and not value.mutable:
        return replace(value, items=tuple(map(new, value.items)))
    if isinstance(value, Choice):
        return Choice(tuple((path, new(option)) for path, option in value.options))
    return value


# --- views


def sharing(name: str, source: Value | None, result: Value, cut: str) -> Value:
    """The result of the operation `name` on a source, in the memory that it lies in; `cut` says how pieces are cut."""
    shares = SHARES.get(name)
    if shares is Shares.SAME:
        return result
    if shares is None or not isinstance(source, Tensor) or source.held is None:
        return new(result)
    return _placed(shares, source.held, result, cut)


def _placed(shares: Shares, source: Held, result: Value, cut: str) -> Value:
    if isinstance(result, Choice):
        return Choice(tuple((path, _placed(shares, source, option, cut)) for path, option in result.options))
    if isinstance(result, Tensor):
        if shares is Shares.VIEW:
            return result.but(held=source)
        return result.but(held=piece(source, perhaps_copied() if shares is Shares.PERHAPS else some_piece()))
    if shares is not Shares.PARTS:
        return new(result)
    if isinstance(result, Items):
        count = len(result.items)
        parts = (Part(f"{cut} of {count}", Monomial.number(i), Monomial.number(i + 1)) for i in range(count))
        items = (
            item.but(held=piece(source, part)) if isinstance(item, Tensor) else item for item, part in zip(result.items, parts, strict=True)
        )
        return replace(result, items=tuple(items))
    if isinstance(result, Sequence) and isinstance(result.item, Tensor):
        return replace(result, item=result.item.but(held=piece(source, some_piece())))
    return result


def piece(source: Held, *parts: Part) -> Held:
    """A piece of what is held."""
    return Held(source.storage, (*source.region, *parts), source.seen)


def copied(a: Value, b: Value) -> bool:
    """Whether one value is held somewhere and the other one is a copy of it: alike, and yet what is done to one is not done to both."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)) or (a.held is None) == (b.held is None):
        return False
    return a.content is b.content or (isinstance(a.content, Leaf) and isinstance(b.content, Leaf) and a.content.key == b.content.key)


def either(a: Value, b: Value, merged: Value) -> Value:
    """One value for two that are alike on two paths: it lies where either of them lies."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(merged, Tensor)):
        return merged
    if a.held is b.held or _same_place(a.held, b.held):
        return merged
    places = tuple(place for place in (a.held, b.held) if place is not None)
    return merged.but(held=Held(Storage(UNTOUCHED, places)) if places else None)


def _same_place(a: Held | None, b: Held | None) -> bool:
    return a is not None and b is not None and a.storage is b.storage and a.region == b.region and a.seen == b.seen


# --- what was done in place


def current(engine: Engine, value: Value) -> Value:
    """A value with all that was done in place to it since it was put where it is read."""
    if not engine.heap:
        return value
    if isinstance(value, Tensor):
        return _current_tensor(engine, value) if value.held is not None else value
    if isinstance(value, Choice):
        return _current_choice(engine, value)
    if isinstance(value, (Items, Mapping, Sequence)):
        return _current_container(engine, value)
    if isinstance(value, Argument):
        storage = engine.storages.get(value.key)
        if storage is None or storage not in engine.heap:
            return value
        tensor = engine.as_tensor(value)
        return _current_tensor(engine, tensor) if tensor is not None else value
    return value


def _current_tensor(engine: Engine, tensor: Tensor) -> Value:
    held = tensor.held
    assert held is not None
    for place in held.storage.either:
        effects = engine.heap.get(place.storage)
        if effects is not None and any(
            effect not in place.seen and effect not in held.seen
            for _, option in options_of(effects)
            if isinstance(option, Effects)
            for effect in option.items
        ):
            return tensor.but(uncertain=tensor.uncertain or "it is changed in place on some paths")
    effects = engine.heap.get(held.storage)
    if effects is None:
        return tensor

    def replay(done: Value) -> Value:
        result = tensor
        for effect in done.items if isinstance(done, Effects) else ():
            if result.held is not None and effect not in result.held.seen:
                result = shown(result, effect)
        return result

    return engine.distribute((effects,), replay)


def _current_choice(engine: Engine, value: Choice) -> Value:
    options = []
    changed = False
    for path, option in value.options:
        with engine.under(path):
            now = current(engine, option)
        changed = changed or now is not option
        options.append((path, now))
    return engine.choose(options) if changed else value


def _current_container(engine: Engine, value: Items | Mapping | Sequence) -> Value:
    if value.cell is not None and (latest := engine.heap.get(value.cell)) is not None and latest is not value:
        latest = engine.narrow(latest)
        if isinstance(latest, Choice):
            return engine.choose(
                [(path, _fresh_items(engine, option)) for path, option in latest.options if not isinstance(option, Effects)]
            )
        return _fresh_items(engine, latest)
    return _fresh_items(engine, value)


def _fresh_items(engine: Engine, value: Value) -> Value:
    """A container whose items show what was done to them."""
    if isinstance(value, Items):
        items = tuple(current(engine, item) for item in value.items)
        return replace(value, items=items) if any(a is not b for a, b in zip(items, value.items, strict=True)) else value
    if isinstance(value, Mapping):
        found = {key: current(engine, item) for key, item in value.items.items()}
        return replace(value, items=found) if any(found[key] is not item for key, item in value.items.items()) else value
    if isinstance(value, Sequence):
        item = current(engine, value.item)
        return replace(value, item=item) if item is not value.item else value
    return value


def in_place(engine: Engine) -> bool | None:
    """Whether `x *= c` changes an array of this module in place; None where both kinds of arrays are at hand."""
    known = frozenset(engine.frameworks())
    if known & IMMUTABLE:
        return None if known & IN_PLACE else False
    return True


def changed(engine: Engine, target: Tensor, result: Value) -> Value:
    """What a tensor is after an operation in place gave `result`; whoever shares its memory learns of it."""
    if isinstance(result, Choice):
        return engine.alternatives([(path, _thunk(engine, target, option)) for path, option in result.options])
    if not isinstance(result, Tensor):
        return result
    if target.held is None:
        return new(result)
    effect = _effect(target, result)
    _record(engine, target.held, effect)
    place = target.held
    return result.but(held=Held(place.storage, place.region, place.seen | {effect}))


def _thunk(engine: Engine, target: Tensor, option: Value) -> Callable[[], Value]:
    return lambda: changed(engine, target, option)


def lose(engine: Engine, value: Value, reason: str) -> None:
    """Whatever shares memory with a value is no longer known."""
    for _, option in options_of(value):
        tensor = engine.as_tensor(option) if isinstance(option, Argument) else option
        if isinstance(tensor, Tensor) and tensor.held is not None:
            _record(engine, tensor.held, Effect(tensor.held.region, lost=reason))
        elif isinstance(option, Items):
            for item in option.items:
                lose(engine, item, reason)


def store(engine: Engine, container: Items | Mapping | Sequence, after: Value) -> Value:
    """A list or dictionary after a change in place, seen under each of its names."""
    if container.cell is None or not isinstance(after, (Items, Mapping, Sequence)):
        return after
    latest = replace(after, cell=container.cell)
    engine.heap[container.cell] = latest
    return latest


def _effect(target: Tensor, result: Tensor) -> Effect:
    assert target.held is not None
    region: Region = target.held.region
    factors, masks = len(target.factors), len(target.masks)
    alike = (
        result.content is target.content
        and result.shape == target.shape
        and result.factors[:factors] == target.factors
        and result.masks[:masks] == target.masks
        and result.nonlinear == target.nonlinear
        and result.normalised == target.normalised
        and result.uncertain == target.uncertain
        and result.scrambled == target.scrambled
        and result.dtype == target.dtype
    )
    if alike:
        return Effect(region, result.factors[factors:], result.masks[masks:])
    return Effect(region, written=result.but(held=None), shape=target.shape)


def _record(engine: Engine, place: Held, effect: Effect) -> None:
    storage = place.storage
    before = engine.heap.held(storage)
    options = [
        (path, Effects((*option.items, effect)) if isinstance(option, Effects) else option)
        for path, option in options_of(engine.narrow(before))
    ]
    engine.heap[storage] = Choice(tuple(options)) if len(options) > 1 else options[0][1]
    for other in storage.either:
        _record(engine, other, Effect(other.region, lost="it is changed in place on some paths"))
