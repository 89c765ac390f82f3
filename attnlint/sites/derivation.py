"""The derivation of a site in words: what q and k are, which axis is summed over, every factor with its line."""

from __future__ import annotations

from fractions import Fraction

from attnlint.domain.algebra import Monomial, power_of
from attnlint.domain.values import Origin, Scalar, Tensor
from attnlint.evaluate.powers import HALF, split
from attnlint.evidence import signs
from attnlint.model import Step
from attnlint.sites.naming import contraction_words, renamed, root, rooted, text
from attnlint.sites.operands import operand_of
from attnlint.sites.places import pair, wrong_number
from attnlint.sites.sites import AttentionSite, PlacedFactor
from attnlint.syntax import nodes as cst

MAX_TEXT = 96


def name_of(tensor: Tensor | None) -> str | None:
    """What the code calls a tensor, else the expression that made it."""
    if tensor is None:
        return None
    if tensor.name:
        return tensor.name
    return short(chain(tensor)) or None


def row_of(origin: Origin | None) -> int | None:
    return origin.unit.span(origin.node).start.row if origin is not None else None


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def code(origin: Origin | None) -> str:
    return short(origin.unit.code(origin.node)) if origin is not None else ""


def chain(tensor: Tensor) -> str:
    """The operations that made a tensor: `to_queries(queries) → reshape(N, q_len, heads, head_dim)`."""
    parts: list[str] = []
    for origin in operand_of(tensor).main.history[-4:]:
        node = origin.node
        text = origin.unit.code(node)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and parts:
            arguments = ", ".join(origin.unit.code(argument).rstrip(", ") for argument in node.args)
            text = f"{node.func.attr.value}({arguments})"
        elif isinstance(node, cst.Param):
            text = node.name.value
        parts.append(short(text.replace("self.", "")))
    return short(" → ".join(dict.fromkeys(parts)))


def steps(site: AttentionSite) -> tuple[Step, ...]:
    """Query, key, product, factors and the net scale, each with its line."""
    if site.product is None or site.query is None or site.key is None:
        return ()
    found = [
        _step("query", chain(site.query) or name_of(site.query) or "?", _first(site.query)),
        _step("key", chain(site.key) or name_of(site.key) or "?", _first(site.key)),
        _step("product", f"{_product_text(site)} sums over {_summed(site)}{contraction_words(site)}", site.product.origin),
    ]
    for placed in site.factors:
        if not placed.factor.value.is_one:
            found.append(_step("factor", factor_text(site, placed), placed.factor.application))
    found += _beside(site)
    found += [Step("by name", told) for told in site.evidence]
    found.append(Step("net scale", f"{text(site, site.scale)}, expected {text(site, site.expected)}{consequence(site)}"))
    return tuple(found)


def _product_text(site: AttentionSite) -> str:
    assert site.product is not None
    return site.record.kernel or code(site.product.origin)


def _summed(site: AttentionSite) -> str:
    """The letter of an einsum's equation that is summed over: `d = `."""
    node = site.product.origin.node if site.product is not None and site.product.origin is not None else None
    match node:
        case cst.Call(args=[cst.Arg(value=cst.SimpleString() as equation), *_]) if (
            "->" in equation.raw_value and "..." not in equation.raw_value
        ):
            inputs, _, output = equation.raw_value.replace(" ", "").partition("->")
            first, _, second = inputs.partition(",")
            letters = [letter for letter in first if letter in second and letter not in output]
            return f"{letters[0]} = " if len(letters) == 1 else ""
    return ""


def _beside(site: AttentionSite) -> list[Step]:
    """What got the scale that should not have."""
    if site.kind == "scale-after-softmax" and site.culprit is not None:
        return [_step("factor", factor_text(site, site.culprit), site.culprit.factor.application)]
    if site.term is not None:
        scale = next((scale for term, scale in site.terms if term is site.term), None)
        made = site.term.history[-1] if site.term.history else None
        return [_step("bias", f"{bias_name(site)} gets the scale too: {text(site, scale)}", made)]
    return []


def bias_name(site: AttentionSite) -> str:
    """What the code calls the bias that is scaled along."""
    term = site.term
    if term is None:
        return "the bias"
    return term.name or short(code(term.history[-1]) if term.history else "the bias")


def _step(label: str, words: str, origin: Origin | None) -> Step:
    return Step(label, words, row_of(origin), origin.unit.scope.path if origin is not None else None)


def _first(tensor: Tensor) -> Origin | None:
    history = operand_of(tensor).main.history
    return history[-1] if history else None


def factor_text(site: AttentionSite, placed: PlacedFactor) -> str:
    """`÷ math.sqrt(d) on the logits: d^-1/2`, with where the number is made when that is elsewhere."""
    factor = placed.factor
    value = text(site, factor.value)
    if factor.via == "default":
        return f"the kernel's default: {value}"
    verb = "÷" if factor.division else "×"
    where = {"kernel": "as the kernel's scale", "weights": "after the softmax"}.get(placed.target, f"on the {placed.target}")
    made = factor.definition
    same = made is None or factor.operand is None or made.node is factor.operand.node or isinstance(made.node, cst.Param)
    source = "" if same or made is None else f" = {code(made)} (line {row_of(made)})"
    return f"{verb} {code(factor.operand)}{source} {where}: {value}"


def consequence(site: AttentionSite) -> str:
    """`: the logits are too small by √heads`."""
    ratio = site.ratio
    if ratio is None or site.verdict != "faulty" or ratio.is_one:
        return ""
    shown = renamed(site, ratio)
    grows = _grows(site, shown)
    if grows is None:
        return f": the logits are off by {rooted(shown)}"
    return f": the logits are too {'large' if grows else 'small'} by {rooted(shown if grows else shown.power(Fraction(-1)))}"


def _grows(site: AttentionSite, ratio: Monomial) -> bool | None:
    """Whether logits get too large: sizes are at least 1, and so is the contraction dimension, a quotient of sizes or not."""
    if ratio.is_number:
        return ratio.coefficient > 1
    power = power_of(ratio, site.facts.normalise(site.contraction)) if site.contraction is not None else None
    if power is not None:
        return power > 0
    signs = {exponent > 0 for _, exponent in ratio.powers}
    return signs.pop() if len(signs) == 1 and ratio.coefficient == 1 else None


# --- the first line of a message


_TARGETS = {
    "logits": "the logits are",
    "query": "the query is",
    "key": "the key is",
    "weights": "the weights are",
    "kernel": "the logits are",
}


def quantity(site: AttentionSite, placed: PlacedFactor) -> str:
    """What a factor does, in the user's own names: `divided by √embed_size`, `multiplied by d_k`."""
    factor = placed.factor
    place = wrong_number(placed) if factor.via != "default" else None
    if place is not None and isinstance(place.node, cst.BaseExpression):
        base, power = split(place.node)
        power = -power if factor.division else power
        name = short(place.unit.code(base)).removeprefix("self.")
        simple = isinstance(base, (cst.Name, cst.Attribute, cst.Subscript)) or (isinstance(base, cst.Call) and len(name) < 24)
        if simple and signs.SCALE_NAME.search(name) is None and abs(power) in (1, HALF):
            shown = f"√{name}" if abs(power) == HALF else name
            return f"divided by {shown}" if power < 0 else f"multiplied by {shown}"
    value = renamed(site, factor.value)
    exponent = (
        power_of(site.facts.normalise(factor.value), site.facts.normalise(site.contraction)) if site.contraction is not None else None
    )
    degree = exponent if exponent is not None else sum(one for _, one in value.powers)
    shrinks = value.coefficient < 1 if value.is_number else degree < 0
    return f"divided by {rooted(value.power(Fraction(-1)))}" if shrinks else f"multiplied by {rooted(value)}"


def headline(site: AttentionSite, placed: PlacedFactor) -> str:
    """`the logits are divided by √embed_size`."""
    return f"{_TARGETS.get(placed.target, 'the logits are')} {quantity(site, placed)}"


def twice(site: AttentionSite) -> str:
    """`the logits are scaled twice: …`, naming both factors."""
    culprit, other = pair(site)
    first = (
        f"`{code(other.factor.operand)}` on the {other.target} (line {row_of(other.factor.application)})"
        if other is not None
        else "an earlier factor"
    )
    if culprit is not None and culprit.factor.via == "default":
        return f"{site.record.kernel} divides by {root(contraction_words(site))} itself, after {first}"
    second = f"`{code(culprit.factor.operand)}` on the {culprit.target}" if culprit is not None else "a second one"
    return f"q·k is scaled twice: by {first} and again by {second}"


def fitting_size(site: AttentionSite) -> str:
    """For a constant scale: the head size that it is right for."""
    value = site.culprit.factor.value if site.culprit is not None else None
    if value is not None and not value.is_number:
        for symbol, exponent in value.powers:
            default = site.record.defaults.get(symbol.key)
            if isinstance(default, Scalar):
                value = value * Monomial(1.0, ((symbol, -exponent),)) * default.value.power(exponent)
    return str(value.power(Fraction(-2))) if value is not None and value.is_number else "one number of"
