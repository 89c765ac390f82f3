"""The derivation of a site in words: what q and k are, which axis is summed over, every factor with its line."""

from __future__ import annotations

import libcst as cst

from attnlint.engine.algebra import Monomial
from attnlint.engine.judge import operand_of
from attnlint.engine.sites import AttentionSite, PlacedFactor
from attnlint.engine.values import Origin, Tensor
from attnlint.model import Step

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
        Step("query", chain(site.query) or name_of(site.query) or "?", _first_row(site.query)),
        Step("key", chain(site.key) or name_of(site.key) or "?", _first_row(site.key)),
        Step("product", f"{code(site.product.origin)} sums over {site.contraction}", row_of(site.product.origin)),
    ]
    for placed in site.factors:
        if not placed.factor.value.is_one:
            found.append(Step("factor", factor_text(placed), row_of(placed.factor.application)))
    found.append(Step("net scale", f"{site.scale}, expected {site.expected}{consequence(site)}"))
    return tuple(found)


def _first_row(tensor: Tensor) -> int | None:
    history = operand_of(tensor).main.history
    return row_of(history[-1]) if history else None


def factor_text(placed: PlacedFactor) -> str:
    """`÷ math.sqrt(d) on the logits: d^-1/2`."""
    factor = placed.factor
    if factor.via == "default":
        return f"the kernel's default: {factor.value}"
    verb = "÷" if factor.division else "×"
    where = "of the kernel" if placed.target == "kernel" else f"on the {placed.target}"
    return f"{verb} {code(factor.operand)} {where}: {factor.value}"


def consequence(site: AttentionSite) -> str:
    """`: the logits are too small by √heads`."""
    ratio = site.ratio
    if ratio is None or site.verdict != "faulty" or ratio.is_one:
        return ""
    grows = _grows(ratio)
    if grows is None:
        return f": the logits are off by {rooted(ratio)}"
    return f": the logits are too {'large' if grows else 'small'} by {rooted(ratio if grows else ratio.power(-1))}"  # type: ignore[arg-type]


def _grows(ratio: Monomial) -> bool | None:
    if ratio.is_number:
        return ratio.coefficient > 1
    signs = {exponent > 0 for _, exponent in ratio.powers}
    return signs.pop() if len(signs) == 1 else None


def rooted(value: Monomial) -> str:
    """A monomial with square roots as a reader writes them: `√heads`."""
    halves = [(symbol, exponent) for symbol, exponent in value.powers if exponent.denominator == 2]
    if halves and len(halves) == len(value.powers) and value.coefficient == 1:
        squared = value.power(2)  # type: ignore[arg-type]
        text = str(squared)
        return f"√{text}" if " " not in text and "^" not in text else f"√({text})"
    return str(value)
