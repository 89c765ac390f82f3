"""Python's own functions: builtins, math, functools, itertools, contextlib."""

from __future__ import annotations

from fractions import Fraction

from attnlint.evaluate import builtin as b
from attnlint.evaluate import operations as o
from attnlint.evaluate.operations import Op, op
from attnlint.frameworks.table import Table

BUILTINS: dict[str, Op] = {
    "int": op(o.rounded),
    "float": op(o.rounded),
    "round": op(o.rounded),
    "abs": op(o.elementwise),
    "pow": op(o.power_of, "input other"),
    "len": op(b.length),
    "range": op(b.numbers, "*input"),
    "zip": op(b.zipped, "*input"),
    "enumerate": op(b.enumerated),
    "map": op(b.mapped, "function first *more"),
    "filter": op(b.filtered, "function input"),
    "list": op(b.sequence),
    "tuple": op(b.sequence),
    "iter": op(b.sequence),
    "next": op(b.first),
    "sorted": op(b.sequence),
    "reversed": op(b.reversed_sequence),
    "set": op(b.sequence),
    "dict": op(b.dictionary, "input"),
    "sum": op(b.summed),
    "max": op(b.extreme, "*input"),
    "min": op(b.extreme, "*input"),
    "getattr": op(b.get_attribute, "input name default"),
    "setattr": op(b.set_attribute, "input name other"),
    "hasattr": op(b.has_attribute, "input name"),
    "isinstance": op(b.is_instance, "input classes"),
    "callable": op(b.condition),
    "any": op(b.condition),
    "all": op(b.condition),
    "bool": op(b.condition),
    "print": op(o.nothing),
    "str": op(b.text),
    "divmod": op(b.quotient_and_rest, "input other"),
    "type": op(b.type_of),
    "object": op(o.nothing),
    "slice": op(b.condition),
    "property": op(o.passthrough_argument),
    "staticmethod": op(o.passthrough_argument),
}

MATH: dict[str, Op] = {
    "sqrt": op(o.power_of, exponent=Fraction(1, 2)),
    "isqrt": op(o.whole_root),
    "pow": op(o.power_of, "input other"),
    "prod": op(b.product),
    "exp": op(o.elementwise),
    "log": op(o.elementwise),
    "log2": op(o.elementwise),
    "ceil": op(o.rounded),
    "floor": op(o.rounded),
    "tanh": op(o.elementwise),
    "fabs": op(o.rounded),
}

TABLE = Table(
    name="python",
    roots={
        "builtins": BUILTINS,
        "math": MATH,
        "cmath": MATH,
        "functools": {
            "partial": op(b.partial, "function *input"),
            "reduce": op(b.reduced, "function input initial"),
            "lru_cache": op(o.passthrough_argument),
            "wraps": op(o.passthrough_argument),
        },
        "operator": {
            "mul": op(o.binary, "input other", operator="*"),
            "truediv": op(o.binary, "input other", operator="/"),
            "floordiv": op(o.binary, "input other", operator="//"),
            "matmul": op(o.matmul, "input other"),
            "add": op(o.binary, "input other", operator="+"),
            "sub": op(o.binary, "input other", operator="-"),
            "imul": op(o.binary, "input other", operator="*"),
            "itruediv": op(o.binary, "input other", operator="/"),
            "iadd": op(o.binary, "input other", operator="+"),
            "isub": op(o.binary, "input other", operator="-"),
        },
        "types": {"SimpleNamespace": op(b.dictionary, "input")},
        "argparse": {"Namespace": op(b.dictionary, "input")},
        "typing": {"cast": op(b.second, "type input")},
        "copy": {"copy": op(o.passthrough_argument), "deepcopy": op(o.passthrough_argument)},
        "dataclasses": {"field": op(b.dataclass_field)},
    },
)
