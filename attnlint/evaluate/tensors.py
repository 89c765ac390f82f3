"""Operations on abstract tensors: products, sums, softmax and what surrounds them.

These are the few meanings that the many spellings of all frameworks come down to; `operations.py` maps spellings to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attnlint.domain.algebra import AXIS, ONE, Monomial
from attnlint.domain.ancestry import ancestors, function_of
from attnlint.domain.record import SiteRecord
from attnlint.domain.shapes import Atom, Axis, Contraction, Shape, better, broadcast, materialise, matmul, reduce, unknown, with_rank
from attnlint.domain.values import (
    Concat,
    Content,
    Elementwise,
    Exponential,
    Factor,
    Leaf,
    Mask,
    Maximum,
    Origin,
    Output,
    Product,
    Sum,
    Tensor,
    Total,
    Value,
    Weights,
    scale_of,
)
from attnlint.evidence import signs
from attnlint.syntax import nodes as cst

if TYPE_CHECKING:
    from attnlint.evaluate.state import Engine

# leaves that stand for data computed from inputs (as opposed to weights)
DATA_KINDS = frozenset({"argument", "projection", "embedding", "recurrent", "array", "opaque"})


def one(origin: Origin | None) -> tuple[Origin, ...]:
    return (origin,) if origin is not None else ()


def net_factor(tensor: Tensor) -> Monomial:
    return scale_of(tensor.factors)


def identity_of(tensor: Tensor) -> str:
    """What a tensor is a view or multiple of: the key of its leaf, or the identity of its content."""
    content = tensor.content
    return content.key if isinstance(content, Leaf) else f"content {id(content)}"


def then(engine: Engine, tensor: Tensor, node: cst.CSTNode | None, **changes: object) -> Tensor:
    """The tensor after an operation that changes nothing but what is named."""
    return tensor.but(history=(*tensor.history, *one(engine.origin(node))), **changes)


# --- products


WEIGHTS_PRODUCT = "a product of attention weights"


def is_weight(tensor: Tensor) -> bool:
    """A trained matrix, so that a product with it is a projection and no attention."""
    content = tensor.content
    return isinstance(content, Leaf) and (content.kind == "parameter" or "weight" in tensor.notes)


def is_fixed(tensor: Tensor) -> bool:
    """What is the same whatever the data: a constant, a parameter or a buffer."""
    return isinstance(tensor.content, Leaf) and tensor.content.kind in ("constant", "parameter", "buffer")


def multiply(engine: Engine, a: Tensor, b: Tensor, node: cst.CSTNode | None) -> Tensor:
    """`a @ b`."""
    a, b = _matrix(engine, a), _matrix(engine, b)
    if "T" in b.notes and b.shape.rank == 2 and a.shape.lead is not None and len(a.shape.axes) <= 2:
        a = a.but(shape=with_rank(a.shape, 2))
    contraction = matmul(a.shape, b.shape)
    if contraction is None:
        return engine.opaque_tensor("a matrix product of unknown shapes", node=node)
    return contract(engine, a, b, contraction, node)


def _matrix(engine: Engine, tensor: Tensor) -> Tensor:
    """An argument that is called a weight has two axes."""
    content = tensor.content
    if not isinstance(content, Leaf) or content.kind not in ("argument", "array") or not signs.WEIGHT.search(tensor.name or ""):
        return tensor
    if tensor.shape.lead is None and len(tensor.shape.axes) != 2:
        return tensor
    from attnlint.evaluate.operations import ranked

    notes = tensor.notes if signs.WEIGHTS_OF_ATTENTION.search(tensor.name or "") else tensor.notes | {"weight"}
    return tensor.but(shape=ranked(engine, tensor.shape, 2), notes=notes)


def contract(engine: Engine, a: Tensor, b: Tensor, contraction: Contraction, node: cst.CSTNode | None, pairwise: bool = False) -> Tensor:
    """The tensor that a contraction of two tensors gives."""
    origin = engine.origin(node)
    history = one(origin)
    _learn_contracted(engine, contraction)
    for weights, value, axes in ((a, b, contraction.left), (b, a, contraction.right)):
        site = site_of_weights(engine, weights)
        if site is not None:
            if site_of_weights(engine, value) is not None:
                return engine.opaque_tensor(WEIGHTS_PRODUCT, node=node, shape=contraction.shape)
            if is_weight(value) and site.axis is not None and all(axis.key != site.axis.key for axis in axes):  # heads that talk
                return then(engine, weights, node, shape=contraction.shape)
            site.meet_value(value, axes, weights, origin)
            factors = weights.factors if any(f for f in weights.factors) else ()
            return Tensor(contraction.shape, Output(site), factors=(*factors, *value.factors), history=history, scrambled=value.scrambled)
    if contraction.size.is_one and not contraction.left and not contraction.right:
        for data, gain in ((a, b), (b, a)):
            if is_weight(gain) and not is_weight(data):  # a learned gain for each head or feature
                return _learned(engine, data, identity_of(gain), gain.name or "a gain", node).but(shape=contraction.shape)
        return Tensor(contraction.shape, Elementwise(a, b, origin), history=history)
    if is_weight(a) != is_weight(b):
        weight, data = (a, b) if is_weight(a) else (b, a)
        if _are_logits(data):  # heads mixed by a learned matrix between the product and softmax
            return _learned(engine, data, identity_of(weight), weight.name or "a mixing matrix", node).but(shape=contraction.shape)
        if isinstance(data.content, (Leaf, Sum, Concat, Output, Elementwise, Product)) and not _is_bare_weight(data):
            leaf = Leaf("projection", engine.fresh(f"{identity_of(weight)}·{identity_of(data)}"), source=data)
            product = Product(a, b, contraction.size, contraction.left, contraction.right, origin, pairwise)
            engine.projections[leaf.key] = product
            return Tensor(contraction.shape, leaf, factors=(*_applied_to_weight(weight), *_plain(data)), history=(*data.history, *history))
    a, b = as_operand(engine, a), as_operand(engine, b)
    product = Product(a, b, contraction.size, contraction.left, contraction.right, origin, pairwise)
    engine.note_product(product)
    return Tensor(told_apart(contraction.shape), product, history=history)


def mixed_heads(engine: Engine, tensor: Tensor, key: str, name: str | None, node: cst.CSTNode | None) -> Tensor | None:
    """Logits or weights after a convolution over their heads ("talking heads"); None for any other tensor."""
    if isinstance(tensor.content, Weights):
        return then(engine, tensor, node)
    if not isinstance(tensor.content, (Product, Sum)) or not products_of(tensor):
        return None
    return _learned(engine, tensor, key, name or "a mixing of heads", node)


def _learned(engine: Engine, tensor: Tensor, key: str, name: str, node: cst.CSTNode | None) -> Tensor:
    """A tensor times a trained factor."""
    from attnlint.domain.algebra import LEARNED, Symbol
    from attnlint.domain.values import Scalar
    from attnlint.evaluate.arithmetic import scaled

    return scaled(engine, tensor, Scalar(Monomial.of(Symbol(f"learned:{key}", name, LEARNED))), node, None, False)


ASSUMED = frozenset({"guessed rank", "least rank", "handed back"})  # notes of tensors whose layout is not seen
SECOND = "′"  # marks an axis that has the key of another axis of the same tensor


def told_apart(shape: Shape) -> Shape:
    """The shape of logits with an identity for every axis: self-attention has the positions of one input twice."""
    seen: set[str] = set()
    axes: list[Axis] = []
    for axis in shape.axes:
        other = axis
        while other.atoms and other.key in seen:
            other = Axis(tuple(Atom(atom.size, atom.key + SECOND) for atom in other.atoms))
        seen.add(other.key)
        axes.append(other)
    return Shape(tuple(axes), shape.lead)


def _are_logits(tensor: Tensor) -> bool:
    """A product of two tensors that are projections themselves, or a sum with one."""
    return any(
        all(isinstance(side.content, Leaf) and side.content.kind == "projection" for side in (product.left, product.right))
        and not product.size.is_one
        for _, product in products_of(tensor)
    )


def _learn_contracted(engine: Engine, contraction: Contraction) -> None:
    """The two axes that a product sums over have one size."""
    if len(contraction.left) == 1 and len(contraction.right) == 1:
        a, b = contraction.left[0].size, contraction.right[0].size
        if not a.equals(b) and any(side.symbols and all(symbol.kind == AXIS for symbol in side.symbols) for side in (a, b)):
            engine.facts.learn(a, b)
            return
        ratio = engine.facts.normalise(a / b)  # both over the number of heads
        if ratio.coefficient == 1 and ratio.powers and all(symbol.kind == AXIS for symbol in ratio.symbols):
            above = below = Monomial()
            for symbol, exponent in ratio.powers:
                if exponent > 0:
                    above = above * Monomial.of(symbol).power(exponent)
                else:
                    below = below * Monomial.of(symbol).power(-exponent)
            engine.facts.learn(above, below)


def _is_bare_weight(tensor: Tensor) -> bool:
    return isinstance(tensor.content, Leaf) and tensor.content.kind == "parameter"


def _applied_to_weight(weight: Tensor) -> tuple[Factor, ...]:
    """The factors that a weight gets where it is used; `randn(d, d) / sqrt(d)`, and what a constructor does, is how it starts."""
    if not weight.factors or not weight.history:
        return weight.factors
    made = weight.history[0]

    def starts(factor: Factor) -> bool:
        application = factor.application
        if application is None or application.unit is not made.unit:
            return False
        around = (application.node, *ancestors(application)) if application.node is made.node else tuple(ancestors(made))
        holder = function_of(application)
        return any(node is application.node for node in around) or (isinstance(holder, cst.FunctionDef) and holder.name.value == "__init__")

    return tuple(factor for factor in weight.factors if not starts(factor))


def _plain(data: Tensor) -> tuple:
    """The factors of a projected input are part of what the projection learns to undo: they are no factors of q·k."""
    return ()


def as_operand(engine: Engine, tensor: Tensor) -> Tensor:
    """A product of plain tensors, multiplied again, is the projection of a query or key; with a bias added, too."""
    product = _biased(tensor.content) if isinstance(tensor.content, Sum) else tensor.content
    if isinstance(product, Product) and not tensor.masks:
        key = engine.fresh("projection")
        engine.projections[key] = product
        source = product.left if isinstance(product.right.content, Leaf) else product.right
        return tensor.but(content=Leaf("projection", key, source=source))
    return tensor


def _biased(content: Sum) -> Product | None:
    """The one product of a sum whose other terms are plain tensors: `x @ w + b`."""
    found = [(term, term.content) for term in content.terms if isinstance(term.content, Product)]
    if len(found) != 1:
        return None
    ((product, formed),) = found
    bare = not (product.factors or product.masks or product.nonlinear)
    rest = all(term is product or (isinstance(term.content, Leaf) and not term.masks) for term in content.terms)
    return formed if bare and rest else None


def site_of_weights(engine: Engine, tensor: Tensor) -> SiteRecord | None:
    """The site whose weights a tensor holds: a softmax, or an exponential that is normalised later (online softmax)."""
    content = tensor.content
    if isinstance(content, Weights):
        return content.site
    if isinstance(content, Sum):
        sites = [site for term in content.terms if (site := site_of_weights(engine, term)) is not None]
        return sites[0] if sites else None
    if isinstance(content, Elementwise):
        return site_of_weights(engine, content.left) or site_of_weights(engine, content.right)
    if isinstance(content, Exponential) and products_of(content.of):
        site = engine.site_of_exponential(content, tensor)
        return site
    return None


# --- sums


def sum_of(engine: Engine, a: Tensor, b: Tensor, minus: bool, node: cst.CSTNode | None) -> Tensor:
    """`a + b` or `a - b`."""
    shape = _sum_shape(a, b)
    origin = engine.origin(node)
    rotated = _rotation(a, b)
    if rotated is not None:
        # a table of angles by position and feature has fewer axes than what it turns; others may add some
        return then(engine, rotated, node, shape=rotated.shape if rotated.shape.lead is not None and len(shape.axes) <= 2 else shape)
    if identity_of(a) == identity_of(b) and isinstance(a.content, Leaf) and net_factor(a).equals(net_factor(b)):
        return then(engine, a, node)
    if minus:
        from attnlint.domain.values import Scalar
        from attnlint.evaluate.arithmetic import scaled

        b = scaled(engine, b, Scalar(Monomial.number(-1)), node, None, False)
    dtype = "bool" if a.dtype == "bool" and b.dtype == "bool" else None
    if isinstance(a.content, Leaf) and a.content.kind == "constant" and isinstance(b.content, Leaf) and b.content.kind == "constant":
        return then(engine, a, node, shape=shape, dtype=dtype)
    terms: list[Tensor] = []
    for tensor in (a, b):
        if isinstance(tensor.content, Sum) and not tensor.factors and not tensor.masks and not tensor.nonlinear:
            terms.extend(tensor.content.terms)
        else:
            terms.append(tensor)
    notes = frozenset(note for note in (*a.notes, *b.notes) if note.startswith(("square:", "norm:", "inverse norm:")))
    main = main_term(Sum(tuple(terms)))
    return Tensor(
        shape,
        Sum(tuple(terms)),
        name=a.name,
        history=(*(main.history if main is not None else a.history), *one(origin)),
        notes=notes,
        dtype=dtype,
        normalised=a.normalised if a.normalised and b.normalised else None,
        scrambled=(*a.scrambled, *b.scrambled),
    )


def _sum_shape(a: Tensor, b: Tensor) -> Shape:
    """A learned bias or a constant never has more axes than what it is added to."""
    for data, bias in ((a, b), (b, a)):
        if (
            data.shape.lead is not None
            and isinstance(bias.content, Leaf)
            and bias.content.kind in ("parameter", "buffer", "constant")
            and bias.shape.lead is None
        ):
            full = materialise(data.shape, len(bias.shape.axes))
            count = len(full.axes) - len(bias.shape.axes)
            axes = tuple(better(mine, other) for mine, other in zip(full.axes[count:], bias.shape.axes, strict=True))
            return Shape((*full.axes[:count], *axes), full.lead)
    return broadcast(a.shape, b.shape)


def _rotation(a: Tensor, b: Tensor) -> Tensor | None:
    """`x * cos + rotate(x) * sin`: a rotation of x, which changes no scale."""
    if not (isinstance(a.content, Elementwise) and isinstance(b.content, Elementwise)):
        return None
    for mine, cosine in ((a.content.left, a.content.right), (a.content.right, a.content.left)):
        for other, sine in ((b.content.left, b.content.right), (b.content.right, b.content.left)):
            if (
                identity_of(mine) == identity_of(other)
                and _is_data(mine.content)
                and _unsigned(net_factor(mine)).equals(_unsigned(net_factor(other)))
                and not _looks_rotary(mine.name)
            ):
                stretched = (*a.factors, *cosine.factors)  # YaRN's factor stands on cosine and sine
                if not _unsigned(scale_of(stretched)).equals(_unsigned(scale_of((*b.factors, *sine.factors)))):
                    return mine.but(uncertain=mine.uncertain or "cosine and sine have different factors")
                factors = tuple(f for f in (*mine.factors, *stretched) if not _is_sign(f.value))
                return mine.but(notes=mine.notes | {"rotated"}, factors=factors)
    return None


def _is_data(content: Content) -> bool:
    """Whether a tensor holds data, or a sum that does: projections with an adapter's share added."""
    if isinstance(content, Sum):
        main = main_term(content)
        return main is not None and _is_data(main.content)
    return isinstance(content, Leaf) and content.kind in DATA_KINDS


def _looks_rotary(name: str | None) -> bool:
    return name is not None and any(part in name.lower() for part in ("cos", "sin", "freq"))


def _is_sign(value: Monomial) -> bool:
    return value.equals(Monomial.number(-1))


def _unsigned(value: Monomial) -> Monomial:
    return Monomial(abs(value.coefficient), value.powers)


def main_term(content: Content) -> Tensor | None:
    """The term of a sum that carries the data: a product first, then a projection, then anything that is no constant."""
    if not isinstance(content, Sum):
        return None

    def rank(term: Tensor) -> int:
        inner = term.content
        if isinstance(inner, Product):
            return 5
        if isinstance(inner, (Exponential, Weights, Output)):
            return 4
        if isinstance(inner, Sum):
            nested = main_term(inner)
            return rank(nested) if nested is not None else 0
        if isinstance(inner, Leaf):
            return {"projection": 3, "recurrent": 3, "argument": 2, "opaque": 2, "array": 2, "embedding": 2}.get(inner.kind, 0)
        return 2

    return max(content.terms, key=rank) if content.terms else None


def join(engine: Engine, parts: list[Tensor], shape: Shape, features: bool, node: cst.CSTNode | None) -> Tensor:
    """Tensors concatenated: along features the parts stay, along any other axis the traced part speaks for all."""
    history = one(engine.origin(node))
    traced = [part for part in parts if not is_fixed(part)] or parts
    known = [part for part in traced if not (isinstance(part.content, Leaf) and part.content.kind in ("opaque", "argument"))] or traced
    first = known[0]
    if not features:
        factors_agree = all(_unsigned(net_factor(part)).equals(_unsigned(net_factor(first))) for part in known)
        if not factors_agree and all(isinstance(part.content, (Product, Sum, Leaf)) for part in known):
            products = [part for part in known if products_of(part)]
            if len(products) > 1:  # logits of several key sets side by side
                return Tensor(shape, Sum(tuple(products)), history=(*first.history, *history), masks=first.masks)
            return then(engine, first, node, shape=shape, uncertain="parts with different scales are joined")
        if len(known) > 1 and all(products_of(part) for part in known):
            return Tensor(shape, Sum(tuple(known)), history=(*first.history, *history))
        normalised = first.normalised if all(part.normalised or part not in known for part in parts) else None
        return then(engine, first, node, shape=shape, normalised=normalised)
    keys = {identity_of(part) for part in traced}
    agree = all(_unsigned(net_factor(part)).equals(_unsigned(net_factor(first))) for part in traced)
    normalised = first.normalised if all(part.normalised for part in traced) else None
    factors = tuple(factor for factor in first.factors if not _is_sign(factor.value))
    if len(keys) == 1 and agree:
        return then(engine, first, node, shape=shape, factors=factors, normalised=normalised)
    if any(isinstance(part.content, (Weights, Output)) for part in traced):
        return then(engine, first, node, shape=shape)
    kind = "projection" if all(isinstance(p.content, Leaf) and p.content.kind in ("projection", "constant") for p in traced) else "opaque"
    if agree:
        leaf = Leaf("projection" if kind == "projection" else _joined_kind(traced), engine.fresh("joined"), source=first)
        return Tensor(shape, leaf, factors=factors, name=first.name, history=(*first.history, *history), normalised=normalised)
    uncertain = None if len(parts) == 1 else "parts with different scales are joined along the features"
    return Tensor(shape, Concat(tuple(parts)), name=first.name, history=(*first.history, *history), uncertain=uncertain)


def _joined_kind(parts: Iterable[Tensor]) -> str:
    kinds = [part.content.kind for part in parts if isinstance(part.content, Leaf)]
    for kind in ("projection", "recurrent", "array", "argument", "embedding"):
        if kind in kinds:
            return kind
    return "opaque"


def sum_note(engine: Engine, size: Monomial) -> str:
    """What a sum over so many items leaves on its tensor: divided by their number it is a mean, which scales nothing."""
    return f"sum over {engine.facts.normalise(size)}"


# --- non-linear functions, norms and roots

SQUASHED = "squashed"  # the note of features that went through tanh


def nonlinear(engine: Engine, tensor: Tensor, name: str, node: cst.CSTNode | None) -> Tensor:
    """An element-wise function. On logits it is remembered; on a query or key it makes new features."""
    content = tensor.content
    if isinstance(content, (Product, Sum)) and products_of(tensor):
        return then(engine, tensor, node, nonlinear=(*tensor.nonlinear, name))
    if isinstance(content, (Weights, Output, Exponential)):
        return then(engine, tensor, node)
    notes = frozenset(note for note in tensor.notes if note.startswith(("square:", "norm:", "inverse norm:")))
    if isinstance(content, Leaf) and content.kind in ("parameter", "buffer"):
        return then(engine, tensor, node)
    if isinstance(content, Leaf) and content.kind == "constant":
        return then(engine, tensor, node)
    if name == "tanh":
        notes |= {SQUASHED}
    kind = content.kind if isinstance(content, Leaf) else "opaque"
    leaf = Leaf(kind, engine.fresh(name), f"{name} of a tensor" if kind == "opaque" else None, source=tensor)
    return Tensor(
        tensor.shape, leaf, name=tensor.name, history=(*tensor.history, *one(engine.origin(node))), notes=notes, dtype=tensor.dtype
    )


def square(engine: Engine, tensor: Tensor, node: cst.CSTNode | None) -> Tensor:
    leaf = Leaf("opaque", engine.fresh("square"), "a square")
    return Tensor(tensor.shape, leaf, notes=frozenset({f"square:{identity_of(tensor)}"}), history=tensor.history)


def root(engine: Engine, tensor: Tensor, node: cst.CSTNode | None, inverse: bool = False) -> Tensor:
    kind = "inverse norm:" if inverse else "norm:"
    notes = frozenset(kind + note.removeprefix("square:") for note in tensor.notes if note.startswith("square:"))
    if notes:
        return Tensor(tensor.shape, Leaf("opaque", engine.fresh("norm"), "a norm"), notes=notes)
    return nonlinear(engine, tensor, "a root", node)


def norm_of(engine: Engine, tensor: Tensor, shape: Shape) -> Tensor:
    return Tensor(shape, Leaf("opaque", engine.fresh("norm"), "a norm"), notes=frozenset({f"norm:{identity_of(tensor)}"}))


def normalise(engine: Engine, tensor: Tensor, how: str, node: cst.CSTNode | None) -> Tensor:
    """A tensor brought to unit norm (or unit variance): its scale so far no longer counts."""
    if isinstance(tensor.content, (Weights, Output)):
        tensor.content.site.renormalised = True
        return then(engine, tensor, node)
    if products_of(tensor):
        return then(engine, tensor, node, nonlinear=(*tensor.nonlinear, how))
    return then(engine, tensor, node, normalised=how, factors=())


def quotient(engine: Engine, a: Tensor, b: Tensor, node: cst.CSTNode | None) -> Value | None:
    """`a / b` where b is a norm of a, or the sum of the exponentials in a."""
    if is_over_norm(a, b, "norm:"):
        return normalise(engine, a, how_normed(b), node)
    if isinstance(b.content, Total) and isinstance(a.content, Exponential):
        return hand_softmax(engine, a, b, node)
    if (
        isinstance(b.content, Total)
        and isinstance(b.content.of.content, (Weights, Exponential))
        and isinstance(a.content, (Weights, Output))
    ):
        site = a.content.site
        site.renormalised = True
        return then(engine, a, node)
    if isinstance(b.content, Total) and isinstance(b.content.of.content, Elementwise) and isinstance(a.content, Elementwise):
        site_value = site_of_weights(engine, a)
        if site_value is not None:
            site_value.renormalised = True
            return then(engine, a, node)
    if isinstance(a.content, Output) and isinstance(b.content, (Total, Leaf, Exponential, Sum)):
        site = a.content.site
        site.renormalised = True
        return then(engine, a, node)
    if isinstance(a.content, Weights):
        if isinstance(b.content, (Total, Leaf, Weights, Sum)):
            a.content.site.renormalised = True
            return then(engine, a, node)
        return None
    for note in b.notes:
        if note.startswith("norm:") and products_of(a):
            # a product over the norms of its operands: cosine similarity
            return then(engine, a, node, nonlinear=(*a.nonlinear, "cosine"))
    return None


def is_over_norm(a: Tensor, b: Tensor, kind: str) -> bool:
    """Whether b is a norm of a (`norm:`) or the inverse of one (`inverse norm:`), with or without its mean taken off."""
    main = main_term(a.content) or a
    return f"{kind}{identity_of(a)}" in b.notes or f"{kind}{identity_of(main)}" in b.notes


def how_normed(norm: Tensor) -> str:
    """What dividing by a norm does: the mean of the squares leaves features of unit variance, their sum a vector of unit length."""
    return "divided by its root mean square" if any(note.endswith("norm:mean") for note in norm.notes) else "divided by its norm"


# --- masks


def masked(engine: Engine, tensor: Tensor, mask: Mask, node: cst.CSTNode | None) -> Tensor:
    site = site_of_weights(engine, tensor) if isinstance(tensor.content, (Weights, Elementwise, Sum)) else None
    if site is not None:
        site.masked_after(mask)
        return then(engine, tensor, node)
    if isinstance(tensor.content, Exponential):
        return then(engine, tensor, node, masks=(*tensor.masks, mask))
    return then(engine, tensor, node, masks=(*tensor.masks, mask))


# --- softmax


def products_of(tensor: Tensor) -> list[tuple[Tensor, Product]]:
    """Every product among the terms of a tensor, each with a tensor that carries all factors that apply to it."""
    content = tensor.content
    if isinstance(content, Product):
        return [(tensor, content)]
    if isinstance(content, Sum):
        found = []
        for term in content.terms:
            for carrier, product in products_of(term):
                found.append(
                    (
                        carrier.but(
                            factors=(*carrier.factors, *tensor.factors),
                            masks=(*carrier.masks, *tensor.masks),
                            nonlinear=(*carrier.nonlinear, *tensor.nonlinear),
                            uncertain=carrier.uncertain or tensor.uncertain,
                        ),
                        product,
                    )
                )
        return found
    return []


def others_of(tensor: Tensor) -> list[Tensor]:
    """Every term of the logits that is no product, with all factors that apply to it."""
    if not isinstance(tensor.content, Sum):
        return []
    found: list[Tensor] = []
    for term in tensor.content.terms:
        if isinstance(term.content, Sum):
            found += [inner.but(factors=(*inner.factors, *tensor.factors)) for inner in others_of(term)]
        elif not products_of(term):
            found.append(term.but(factors=(*term.factors, *tensor.factors)))
    return found


def softmax(engine: Engine, tensor: Tensor, axis: Axis | None, node: cst.CSTNode | None, **details: object) -> Tensor:
    """The weights that softmax gives; a new site where the logits hold a product."""
    if isinstance(tensor.content, (Weights, Output)):
        if isinstance(tensor.content, Weights):  # once more over another axis: which one the values are summed over is left open
            tensor.content.site.axis, tensor.content.site.implicit_axis = None, False
        return then(engine, tensor, node)
    site = engine.record_softmax(tensor, axis, node, **details)
    return Tensor(tensor.shape, Weights(site), history=(*tensor.history, *one(engine.origin(node))))


def hand_softmax(engine: Engine, numerator: Tensor, denominator: Tensor, node: cst.CSTNode | None) -> Tensor:
    """`exp(x) / exp(x).sum(axis)`."""
    content = numerator.content
    assert isinstance(content, Exponential)
    axis = denominator.content.axis if isinstance(denominator.content, Total) else None
    site = engine.site_of_exponential(content, numerator)
    site.axis = axis
    site.normalised_at = engine.origin(node)
    site.summed_at = denominator.content.origin if isinstance(denominator.content, Total) else None
    site.hand_written = True
    site.online = False
    for mask in numerator.masks:
        site.exponential_masks += (mask,)
    return Tensor(numerator.shape, Weights(site), history=(*numerator.history, *one(engine.origin(node))))


def exponential(engine: Engine, tensor: Tensor, node: cst.CSTNode | None) -> Tensor:
    shifted = "shifted" in tensor.notes
    if isinstance(tensor.content, Weights) and "log" in tensor.content.site.notes:  # exp(log_softmax(x))
        tensor.content.site.notes.discard("log")
        return then(engine, tensor, node)
    if "log shifted" in tensor.notes:  # exp(x - logsumexp(x))
        return softmax(engine, tensor, None, node, stable=True)
    return Tensor(tensor.shape, Exponential(tensor, shifted, engine.origin(node)), history=(*tensor.history, *one(engine.origin(node))))


def summed(engine: Engine, tensor: Tensor, axes: list[int] | None, keepdims: bool, node: cst.CSTNode | None, mean: bool = False) -> Tensor:
    """A sum over axes: of an exponential the denominator of softmax, of a pairwise product a contraction."""
    shape = unknown(engine.fresh("sum")) if axes is None else (reduce(tensor.shape, axes, keepdims) or unknown(engine.fresh("sum")))
    content = tensor.content
    site = site_of_weights(engine, tensor) if isinstance(content, Elementwise) else None
    if isinstance(content, Elementwise) and site is None and any(products_of(side) for side in (content.left, content.right)):
        return engine.opaque_tensor("a sum of products of products", node=node, shape=shape)
    if isinstance(content, Elementwise) and axes is not None and len(axes) == 1 and not mean:
        from attnlint.domain.shapes import axis_of

        found = axis_of(tensor.shape, axes[0])
        if found is None:
            return engine.opaque_tensor("a sum over an unknown axis", node=node)
        if site is not None:
            weights, value = (
                (content.left, content.right) if site_of_weights(engine, content.left) is not None else (content.right, content.left)
            )
            place = axis_of(weights.shape, axes[0])
            site.meet_value(value, (place[1],) if place is not None else (), weights, engine.origin(node))
            return Tensor(shape, Output(site), history=tensor.history)
        left, right = axis_of(content.left.shape, axes[0]), axis_of(content.right.shape, axes[0])
        size = found[1].size
        for side in (left, right):
            if (
                side is not None
                and not any(symbol.kind in ("axis", "opaque") for symbol in side[1].size.symbols)
                and not side[1].size.is_one
            ):
                size = side[1].size
        contraction = Contraction(shape, size, (left[1],) if left else (), (right[1],) if right else ())
        return contract(
            engine, content.left.but(factors=(*content.left.factors, *tensor.factors)), content.right, contraction, node, pairwise=True
        )
    if isinstance(content, (Exponential, Weights, Elementwise)) or (
        isinstance(content, Sum) and site_of_weights(engine, tensor) is not None
    ):
        axis: Axis | None = None
        if axes is not None and len(axes) == 1:
            from attnlint.domain.shapes import axis_of

            summed = axis_of(tensor.shape, axes[0])
            axis = summed[1] if summed is not None else None
        return Tensor(shape, Total(tensor, axis, engine.origin(node)), history=tensor.history)
    notes = frozenset(note for note in tensor.notes if note.startswith("square:"))
    if mean and notes:
        notes |= {"square:mean"}
    if isinstance(content, Product) or products_of(tensor):
        return then(engine, tensor, node, shape=shape)
    kind = content.kind if isinstance(content, Leaf) else "opaque"
    leaf = Leaf(kind, engine.fresh("sum"), "a sum over an axis" if kind == "opaque" else None, source=tensor)
    history = (*tensor.history, *one(engine.origin(node)))
    return Tensor(shape, leaf, name=tensor.name, factors=tensor.factors, history=history, notes=notes)  # a sum is linear


def maximum(engine: Engine, tensor: Tensor, shape: Shape, log: bool = False) -> Tensor:
    return Tensor(shape, Maximum(tensor, log), history=tensor.history)


__all__ = ["ONE", "broadcast"]
