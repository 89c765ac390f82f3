"""The axes of a site by role: over which axis softmax normalises, over which the values are summed, and what the code calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnlint.domain.algebra import Monomial
from attnlint.domain.axes import Axis, Block, Shape
from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Origin, Scalar, Sum, Tensor, Weights
from attnlint.evaluate.tensors import ASSUMED, SECOND, WEIGHTS_PRODUCT, products_of
from attnlint.evidence import signs
from attnlint.sites.recognise import names_say_attention
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_CUT = re.compile(r"^(?P<parent>.*)\|[^|]*\|\d+(?P<mark>′*)$", re.DOTALL)
_READABLE = re.compile(r"[\w.\-/^·() ]+(\.shape\[-?\d+\])?[\w.\-/^· ]*")
_LEADING = 8  # axes counted from the front of an unknown rank


def is_sure(site: AttentionSite) -> bool:
    """Whether a site is attention beyond doubt: its scale is judged, or the code speaks of attention and not of experts."""
    if site.product is None:
        return False
    return site.verdict != "unknown" or (names_say_attention(site.record, site.product) and not signs.ROUTER.search(site.record.qualname))


def guessed(site: AttentionSite) -> bool:
    """Whether the rank of an operand had to be guessed, so that its axes prove nothing."""
    return any(tensor.notes & {"guessed rank", "handed back"} for tensor in (site.query, site.key, site.record.value) if tensor is not None)


def least(site: AttentionSite) -> bool:
    """Whether an operand was taken to have the least rank that the code allows."""
    return any(tensor.notes & ASSUMED for tensor in (site.query, site.key, site.record.value) if tensor is not None)


def two_way(site: AttentionSite, siblings: Sequence[AttentionSite]) -> bool:
    """Whether the same logits are normalised over another axis as well, for the other direction."""
    axis, product = site.record.axis, site.product
    if axis is None or product is None or product.origin is None:
        return False
    return any(
        other.product is not None
        and other.product.origin is not None
        and other.product.origin.node is product.origin.node
        and other.record.softmax is not None
        and site.record.softmax is not None
        and other.record.softmax.node is not site.record.softmax.node
        and other.record.axis is not None
        and other.record.axis.key != axis.key
        for other in siblings
    )


def is_data(tensor: Tensor) -> bool:
    """Whether a tensor stands for values, not for something made of the weights themselves or of constants."""
    content = tensor.content
    if isinstance(content, Sum):
        return all(is_data(term) for term in content.terms)
    return not (isinstance(content, Leaf) and (content.kind == "constant" or content.reason == WEIGHTS_PRODUCT))


def ways(site: AttentionSite) -> Iterator[AttentionSite]:
    """A place as judged, and as met on other paths and from callers that know more of its arguments."""
    yield site
    yield from site.others


# --- positions


@dataclass(frozen=True)
class Placement:
    """Positions in the logits, from the end (-1 is the last): of softmax's axis and of the axes summed with the values.

    `front` is softmax's axis counted from the front where the rank is unknown, but at least `least`.
    """

    shape: Shape
    softmax: frozenset[int]
    values: frozenset[int]
    front: int | None = None
    least: int = 0

    @property
    def apart(self) -> bool:
        """Whether softmax is proved to normalise over none of the axes that are summed over."""
        if self.front is not None:
            return all(self.front < self.least + place for place in self.values)
        return bool(self.softmax) and self.softmax.isdisjoint(self.values)


def placement(record: SiteRecord) -> Placement | None:
    """Where softmax and the values stand in the logits; None where either is not followed."""
    weights = record.weights_at_value
    if record.axis is None or record.logits is None or weights is None or not isinstance(weights.content, Weights):
        return None
    shape = record.logits.shape
    values = value_positions(record)
    if not values:
        return None
    softmax = positions(shape, [record.axis])
    if softmax:
        return Placement(shape, softmax, values)
    if shape.lead is not None:
        block = Block.parse(shape.lead)
        for index in range(_LEADING):
            if block.axis(index).key == record.axis.key:
                return Placement(shape, frozenset(), values, index, max(len(shape.axes), 3 if _is_keras(record) else 0))
    return None


def _is_keras(record: SiteRecord) -> bool:
    """A Keras layer: its inputs have a batch axis, so logits between positions have three axes or more."""
    return record.owner is not None and record.qualname.endswith(".call")


def value_positions(record: SiteRecord) -> frozenset[int]:
    """Where in the logits the axes stand that are summed with the values; empty where that is not known of all of them."""
    return positions(record.logits.shape, record.value_axes) if record.logits is not None else frozenset()


def positions(shape: Shape, axes: tuple[Axis, ...] | list[Axis]) -> frozenset[int]:
    """The places (from the end) of axes in a shape, found by the identity of their pieces; empty unless every piece is found."""
    count = len(shape.axes)
    places = {atom.key: index - count for index, axis in enumerate(shape.axes) for atom in axis.atoms}
    found: set[int] = set()
    for axis in axes:
        for atom in axis.atoms:
            key: str | None = atom.key
            while key is not None and key not in places:
                cut = _CUT.match(key)
                key = cut["parent"] + cut["mark"] if cut else None
            if key is None:
                return frozenset()
            found.add(places[key])
    return frozenset(found)


# --- names


def size_name(site: AttentionSite, size: Monomial) -> str:
    """What the code calls a size: a local name, an attribute, else the size itself."""
    known = [
        name
        for name, value in site.record.names_in_scope.items()
        if isinstance(value, Scalar) and value.value.equals(size) and not size.is_number and re.fullmatch(r"[\w.]+", name)
    ]
    if known:
        return min(known, key=lambda name: (name.count("."), len(name)))
    text = str(size)
    return text if _READABLE.fullmatch(text) else "of another size"


def role(site: AttentionSite, place: int) -> str:
    """`the queries t`: what an axis of the logits counts."""
    record = site.record
    assert record.logits is not None
    axis = record.logits.shape.axes[place]
    named = size_name(site, axis.size)
    values = value_positions(record)
    if place in values:
        return f"the keys `{named}`"
    plain = axis.key.replace(SECOND, "")
    if any(record.logits.shape.axes[other].key.replace(SECOND, "") == plain for other in values):
        return f"the queries `{named}`"
    if site.product is not None:
        owners = [side for side in (site.product.left, site.product.right) if positions(side.shape, [axis])]
        holders = [
            side
            for side in (site.product.left, site.product.right)
            if any(positions(side.shape, [record.logits.shape.axes[v]]) for v in values)
        ]
        if len(owners) == 1 and holders and owners[0] not in holders:
            return f"the queries `{named}`"
    if signs.HEADS_IN_WORDS.search(named):
        return f"the heads `{named}`"
    if record.logits.shape.lead is None and place == -len(record.logits.shape.axes):
        return f"the batch `{named}`"
    return f"the axis `{named}`"


def roles(site: AttentionSite, places: frozenset[int]) -> str:
    return " and ".join(role(site, place) for place in sorted(places))


# --- logits


def carrier_of(site: AttentionSite) -> Tensor | None:
    """The term of the logits that holds the site's product, with all masks and factors that apply to it."""
    if site.record.logits is None:
        return None
    for tensor, product in products_of(site.record.logits):
        if product is site.product:
            return tensor
    return None


# --- source


def code(origin: Origin | None) -> str:
    """The text of an expression on one line, shortened."""
    if origin is None:
        return ""
    text = " ".join(origin.unit.code(origin.node).split())
    return text if len(text) <= 80 else text[:79] + "…"


def argument(call: cst.CSTNode, *names: str) -> cst.Arg | None:
    """The keyword argument of a call that has one of these names."""
    if not isinstance(call, cst.Call):
        return None
    return next((one for one in call.args if one.keyword is not None and one.keyword.value in names), None)


def inside(outer: Origin, inner: Origin) -> bool:
    """Whether an expression is written inside another."""
    if outer.unit is not inner.unit:
        return False
    a, b = outer.unit.span(outer.node), inner.unit.span(inner.node)
    return a.start <= b.start and b.end <= a.end
