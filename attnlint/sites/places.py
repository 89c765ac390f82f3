"""Where a fault stands: the expression that a finding points at, and that its fix rewrites."""

from __future__ import annotations

from fractions import Fraction

from attnlint.domain.ancestry import ancestors, function_of
from attnlint.domain.values import Origin
from attnlint.evaluate.powers import Misread, misread, split
from attnlint.sites.sites import AttentionSite, PlacedFactor
from attnlint.syntax import nodes as cst
from attnlint.syntax.scope import Unit


def is_size(placed: PlacedFactor) -> bool:
    """Whether the number of a factor is a plain dimension (`d_model // heads`), which is no fault where it is made."""
    made = placed.factor.value.power(Fraction(-1)) if placed.factor.division else placed.factor.value
    exponents = [exponent for _, exponent in made.powers]
    if not any(exponent > 0 for exponent in exponents) or any(exponent.denominator != 1 for exponent in exponents):
        return False
    definition = placed.factor.definition
    if definition is None or not isinstance(definition.node, cst.BaseExpression):
        return True
    return split(definition.node)[1] == 1 and misread(definition.node) is None


def wrong_number(placed: PlacedFactor) -> Origin | None:
    """The expression that makes the wrong number: where it is defined, or where it is applied if it is a mere size or a default."""
    factor = placed.factor
    definition = factor.definition
    if (
        definition is None
        or isinstance(definition.node, cst.Param)
        or not isinstance(definition.node, cst.BaseExpression)
        or is_size(placed)
    ):
        return factor.operand or factor.application
    return definition


def is_literal_one(placed: PlacedFactor) -> bool:
    """Whether a factor is a 1 that stands in the code, kept under a name or applied as it is; no default of a parameter."""
    factor = placed.factor
    made = factor.definition or factor.operand
    if made is None or not factor.value.is_one or not isinstance(made.node, (cst.Integer, cst.Float)):
        return False
    return not any(isinstance(node, cst.Param) for node in ancestors(made))


def applied(placed: PlacedFactor) -> Origin | None:
    """Where a factor is applied: what the product is multiplied with or divided by."""
    return placed.factor.operand or placed.factor.application


def inverted(placed: PlacedFactor) -> Origin | None:
    """Where the number is turned: its application where a right scale is divided by, else where the divisor was made as a factor.

    A number that is handed to what divides by it (`Attention(temperature=d ** -0.5)`) is wrong where it is handed over.
    """
    factor = placed.factor
    if not factor.division or is_handed_over(factor.definition):
        return wrong_number(placed)
    return applied(placed)


def is_handed_over(definition: Origin | None) -> bool:
    """Whether a number is made as the argument of a call of the program's own."""
    return (
        definition is not None
        and isinstance(definition.node, cst.BaseExpression)
        and isinstance(next(ancestors(definition), None), cst.Arg)
    )


def misread_part(placed: PlacedFactor) -> tuple[Unit, Misread] | None:
    """The part of a factor that Python reads otherwise than people do."""
    factor = placed.factor
    for origin in (factor.definition, factor.operand, factor.application):
        if origin is not None and (found := misread(origin.node, arguments=origin is not factor.application)) is not None:
            return origin.unit, found
    return None


def pair(site: AttentionSite) -> tuple[PlacedFactor | None, PlacedFactor | None]:
    """For a double scale: the factor that is one too many, and the one beside it. A kernel that scales by itself comes last."""
    own = [placed for placed in site.factors if not placed.factor.value.is_one]
    last = next((placed for placed in own if placed.factor.via == "default"), site.culprit)
    beside = site.other if site.other is not None and site.other is not last else None
    return last, beside or next((placed for placed in reversed(own) if placed is not last), None)


def second_application(site: AttentionSite) -> Origin | None:
    """For a double scale: the factor that is one too many, seen from the function that has both in its hands."""
    culprit, other = pair(site)
    if culprit is None:
        return None
    place = applied(culprit)
    first = other.factor.application if other is not None else None
    if place is None or first is None or culprit.factor.application is None:
        return place
    holder = function_of(first)
    if holder is not None and holder is not function_of(culprit.factor.application):
        for call in reversed(site.record.call_sites):
            if call.unit is first.unit and function_of(call) is holder:
                return call
    return place
