"""ATT401: the wrong axes of the key are swapped, or it is viewed where it had to be transposed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlint.domain.algebra import AXIS, LEARNED, OPAQUE, Monomial
from attnlint.domain.axes import Atom, Axis, Block
from attnlint.domain.values import Leaf, Origin, Tensor
from attnlint.fixes import edits
from attnlint.model import Fix
from attnlint.rule import Report, Rule
from attnlint.sites.roles import code, is_sure, positions, size_name
from attnlint.sites.sites import AttentionSite
from attnlint.syntax import nodes as cst

_PIECE = re.compile(r"^(?P<parent>.*)\|(?P<sizes>[^|]*)\|(?P<index>\d+)$", re.DOTALL)
_HEADS = re.compile(r"heads|n_?head|^n?_?h$|^self\.h$", re.I)
_TURN = ("transpose", "swapaxes", "swapdims")


class WrongTranspose(Rule):
    """
    ## What it does
    Checks that the product of query and key sums features with features, and leaves a logit for every pair of a query and a key.

    ## Why is this bad
    `k.T` of more than two axes turns them all around, `k.transpose(1, 2)` of `(batch, heads, keys, features)` swaps heads and keys, and
    `k.view(batch, heads, features, keys)` transposes nothing: it reads the rows on as columns. The sizes often fit by chance, the code
    runs, and the logits compare features with something that are none.

    ## Example
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.head_dim = heads, width // heads
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (f(x).view(b, t, self.heads, self.head_dim).transpose(1, 2) for f in (self.q, self.k, self.v))
            logits = q @ k.transpose(1, 2) / self.head_dim**0.5
            return (logits.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.head_dim = heads, width // heads
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (f(x).view(b, t, self.heads, self.head_dim).transpose(1, 2) for f in (self.q, self.k, self.v))
            logits = q @ k.transpose(-2, -1) / self.head_dim**0.5
            return (logits.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
    ```

    ## Fix safety
    Unsafe: the model computes something else afterwards, and a checkpoint was trained with the other logits.

    ## References
    Vaswani et al., Attention Is All You Need, 2017, equation 1. NumPy, `ndarray.T`: the axes are reversed.
    """

    code = "ATT401"
    name = "wrong-transpose"

    def check(self, site: AttentionSite) -> Iterable[Report]:
        product, query, key = site.product, site.query, site.key
        if product is None or query is None or key is None or site.record.kernel is not None or not is_sure(site):
            return
        for tensor in (key, query):
            for text, origin in tensor.scrambled:
                if text.startswith("transpose: ") and origin is not None:
                    layouts = text.removeprefix("transpose: ")
                    yield Report(origin, f"`{code(origin)}` reads the rows of {layouts}: a view transposes nothing", _fix_view(origin))
                    return
        if product.origin is None:
            return
        for mine, other, my_axes, other_axes in (
            (product.left, product.right, product.left_axes, product.right_axes),
            (product.right, product.left, product.right_axes, product.left_axes),
        ):
            features, found = _last_feature(mine), _atoms(my_axes)
            if len(features) != 1 or found != features:
                continue
            counterpart, summed = _last_feature(other), _atoms(other_axes)
            if (
                len(counterpart) != 1
                or len(summed) != 1
                or counterpart == summed
                or not positions(other.shape, _axes_of(other, counterpart))
            ):
                continue
            if not _other_kind(counterpart[0], summed[0], other) or not _differ(features[0].size, summed[0].size):
                continue
            mine_named, theirs_named, left_named = (size_name(site, atom.size) for atom in (features[0], summed[0], counterpart[0]))
            yield Report(
                product.origin,
                f"`{code(product.origin)}` sums the features `{mine_named}` with `{theirs_named}` of"
                f" {other.name or 'the other operand'}, whose features `{left_named}` are left over",
                _fix_swap(other),
            )
            return
        yield from self._heads_behind(site)

    def _heads_behind(self, site: AttentionSite) -> Iterable[Report]:
        """Logits between the heads of one position: heads and positions were not swapped before the product."""
        product, values = site.product, site.record.value_axes
        logits = site.record.logits
        if product is None or logits is None or len(values) != 1 or len(values[0].atoms) != 1 or product.origin is None:
            return
        mine = values[0].atoms[0]
        holder = next((t for t in (product.right, product.left) if any(mine in axis.atoms for axis in t.shape.axes)), None)
        if holder is None:
            return
        other, axes, other_axes = product.left, product.right_axes, product.left_axes
        if holder is product.left:
            other, axes, other_axes = product.right, product.left_axes, product.right_axes
        features, theirs = _last_feature(holder), _last_feature(other)
        if len(features) != 1 or len(theirs) != 1 or _atoms(axes) != features or _atoms(other_axes) != theirs:
            return
        piece, whole = _PIECE.match(mine.key), _PIECE.match(features[0].key)
        twin = _PIECE.match(theirs[0].key)
        if piece is None or whole is None or twin is None or mine == features[0] or piece["parent"] != whole["parent"]:
            return
        left_over = {match["parent"] for axis in logits.shape.axes for atom in axis.atoms if (match := _PIECE.match(atom.key))}
        name = size_name(site, mine.size)
        if twin["parent"] not in left_over or not _HEADS.search(name) or not _positions_shared(product.left, product.right):
            return
        yield Report(
            product.origin,
            f"`{code(product.origin)}` compares the heads `{name}` of each position with one another: swap heads and positions first",
        )


def _atoms(axes: Iterable[Axis]) -> list[Atom]:
    return [atom for axis in axes for atom in axis.atoms]


def _axes_of(tensor: Tensor, atoms: list[Atom]) -> list[Axis]:
    return [axis for axis in tensor.shape.axes if any(atom in axis.atoms for atom in atoms)]


def _last_feature(tensor: Tensor) -> list[Atom]:
    """The features of a projection as one head has them: the innermost piece of what its layer puts out."""
    if not isinstance(tensor.content, Leaf) or tensor.content.kind != "projection" or tensor.notes & {"guessed rank", "handed back"}:
        return []
    made = [atom for axis in tensor.shape.axes for atom in axis.atoms if not _of_input(atom)]
    pieces = [(match["parent"], int(match["index"]), atom) for atom in made if (match := _PIECE.match(atom.key))]
    if not pieces:
        return made if len(made) == 1 else []
    if len(pieces) != len(made) or len({parent for parent, _, _ in pieces}) != 1:
        return []
    return [max(pieces, key=lambda piece: piece[1])[2]]


def _of_input(atom: Atom) -> bool:
    """Whether an axis was handed through from an input, so that it counts positions or examples."""
    return (
        re.search(r"\[-?\d+\]′?$", atom.key) is not None
        and bool(atom.size.symbols)
        and all(symbol.kind == AXIS for symbol in atom.size.symbols)
    )


def _other_kind(feature: Atom, summed: Atom, tensor: Tensor) -> bool:
    """A position of what the projection was made of, or another piece of its features."""
    if _of_input(summed):
        source = tensor.content.source if isinstance(tensor.content, Leaf) else None
        return source is not None and _is_position(summed, source)
    a, b = _PIECE.match(feature.key), _PIECE.match(summed.key)
    return a is not None and b is not None and a["parent"] == b["parent"]


def _is_position(atom: Atom, source: Tensor) -> bool:
    """Whether an axis is one of the source, and not its last."""
    if source.shape.axes and atom in source.shape.axes[-1].atoms:
        return False
    if any(atom in axis.atoms for axis in source.shape.axes):
        return True
    block = Block.parse(source.shape.lead) if source.shape.lead is not None else None
    return block is not None and atom.key.startswith(f"{block.base}[") and not atom.key.endswith("[-1]")


def _differ(a: Monomial, b: Monomial) -> bool:
    return not a.equals(b) and not any(symbol.kind in (OPAQUE, LEARNED) for symbol in (*a.symbols, *b.symbols))


def _positions_shared(left: Tensor, right: Tensor) -> bool:
    """Whether both operands still have their positions among the axes that they share."""
    mine = {atom.key for axis in left.shape.axes for atom in axis.atoms if _of_input(atom)}
    theirs = {atom.key for axis in right.shape.axes for atom in axis.atoms if _of_input(atom)}
    return len(mine & theirs) >= 2 or any(not key.endswith("[0]") for key in mine & theirs)


def _fix_view(origin: Origin) -> Fix | None:
    """Transpose the last two axes, where the view exchanges just these."""
    node = origin.node
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and edits.is_torch(origin)):
        return None
    receiver = origin.unit.code(node.func.value)
    if len(node.args) < 3 or not isinstance(node.func.value, (cst.Name, cst.Attribute)):
        return None
    return Fix("unsafe", "Transpose the last two axes", (edits.replace(origin, f"{receiver}.transpose(-2, -1)"),))


def _fix_swap(tensor: Tensor) -> Fix | None:
    """Swap the last two axes instead of the ones that are swapped."""
    if not tensor.history:
        return None
    origin = tensor.history[-1]
    node = origin.node
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _TURN and len(node.args) == 2:
        first, second = (Origin(origin.unit, argument.value) for argument in node.args)
        if all(isinstance(one.node, (cst.Integer, cst.UnaryOperation)) for one in (first, second)):
            return Fix("unsafe", "Swap the last two axes", (edits.replace(first, "-2"), edits.replace(second, "-1")))
    if isinstance(node, cst.Attribute) and node.attr.value == "T" and not origin.unit.is_grouped(node):
        name = "transpose" if edits.is_torch(origin) else "swapaxes"
        return Fix("unsafe", "Swap the last two axes", (edits.replace(Origin(origin.unit, node.attr), f"{name}(-2, -1)"),))
    return None
