"""Printing keeps the meaning: wherever an expression goes, the text parses to the tree that was meant."""

from __future__ import annotations

import ast
from fractions import Fraction

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlint.domain.values import Origin
from attnlint.evaluate.powers import misread, number_of, split
from attnlint.fixes import printer
from attnlint.fixes.misreading import spelled
from attnlint.fixes.trees import code, node_of
from attnlint.syntax import nodes
from attnlint.syntax.scope import ModuleScope, Unit

pytestmark = pytest.mark.fast

PLACES = [
    "y = X",
    "y = X + b",
    "y = a - X",
    "y = a * X",
    "y = a / X",
    "y = a @ X",
    "y = X ** b",
    "y = a ** X",
    "y = -X",
    "y = not X",
    "y = X.shape",
    "y = X[0]",
    "y = X(a)",
    "y = f(X, b)",
    "y = f(a, *X)",
    "y = g(scale=X)",
    "y = [X, b]",
    "y = b[X]",
    "y = X if a else b",
    "y = a or X",
    "y = X and b",
    "y = a < X",
    "y = (a - X) * b",
    "y = (X)",
    "y = a / (X) ** b",
    "y = lambda a: X",
    "return_value = (\n    X  # the number\n    * b\n)",
    "y *= X",
    "assert X",
]
NEW = [
    "d",
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a // b",
    "a ** b",
    "-a",
    "a if b else c",
    "a or b",
    "f(a)",
    "(a + b)",
    "a @ b",
    "lambda: a",
    "2",
]


def unit_of(text: str) -> Unit:
    scope = ModuleScope.read("model.py", text)
    return scope.unit(scope.statements[0])


def find(unit: Unit, name: str) -> Origin:
    return Origin(unit, next(node for node in nodes.walk(unit.module) if isinstance(node, nodes.Name) and node.value == name))


def value_of(text: str) -> Origin:
    unit = unit_of(f"y = {text}\n")
    return Origin(unit, next(node.value for node in nodes.walk(unit.module) if isinstance(node, nodes.Assign)))


def apply(text: str, made: tuple[object, ...]) -> str:
    starts = [0]
    for row in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    for edit in sorted(made, key=lambda one: one.span, reverse=True):  # type: ignore[attr-defined]
        start, end = (starts[at.row - 1] + at.column - 1 for at in (edit.span.start, edit.span.end))  # type: ignore[attr-defined]
        text = text[:start] + edit.content + text[end:]  # type: ignore[attr-defined]
    return text


def same(left: str, right: str) -> bool:
    return ast.dump(ast.parse(left)) == ast.dump(ast.parse(right))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("new", NEW)
def test_a_replacement_means_what_it_means_in_parentheses(place: str, new: str) -> None:
    unit = unit_of(place + "\n")
    made = printer.edits([printer.replace(find(unit, "X"), cst.parse_expression(new))])
    assert made is not None
    assert same(apply(unit.text, made), place.replace("X", f"({new})") + "\n")


def test_no_parentheses_where_none_are_needed() -> None:
    unit = unit_of("y = f(X) + g[X2]\n")
    made = printer.edits([printer.replace(find(unit, "X"), cst.parse_expression("a * b"))])
    assert made is not None
    assert apply(unit.text, made) == "y = f(a * b) + g[X2]\n"


def test_an_edit_that_would_not_parse_to_what_is_meant_is_not_offered() -> None:
    unit = unit_of("y = a * X\n")
    origin = find(unit, "X")
    wrong = printer.Change(unit, node_of(origin), cst.parse_expression("b + c"))  # printed as it is: a * b + c
    assert printer.edits([wrong]) is None


def test_changes_that_overlap_are_not_offered() -> None:
    unit = unit_of("y = f(X)\n")
    origin = find(unit, "X")
    change = printer.replace(origin, cst.parse_expression("a"))
    assert printer.edits([change, printer.replace(origin, cst.parse_expression("b"))]) is None


def test_the_last_statement_of_a_block_is_not_taken_away() -> None:
    unit = unit_of("if a:\n    y *= X\n")
    line = next(node for node in nodes.walk(unit.module) if isinstance(node, nodes.SimpleStatementLine))
    assert printer.edits([printer.Change(unit, node_of(Origin(unit, line)), None)]) is None


def expressions() -> st.SearchStrategy[str]:
    def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "@", "**"]), inner)
        return (
            pair.map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}")
            | inner.map(lambda one: f"-{one}")
            | inner.map(lambda one: f"({one})")
        )

    return st.recursive(st.sampled_from(["a", "self.d", "f(b)", "2"]), combine, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(expressions(), expressions())
def test_any_product_quotient_and_power_is_grouped_as_built(left: str, right: str) -> None:
    a, b = cst.parse_expression(left), cst.parse_expression(right)
    code = cst.Module([]).code_for_node
    assert same(code(printer.product(a, b)), f"({left}) * ({right})")
    assert same(code(printer.product(a, b, divide=True)), f"({left}) / ({right})")
    assert same(code(printer.quotient(a, b)), f"({left}) // ({right})")
    assert same(code(printer.power(a, Fraction(-1, 2))), f"({left}) ** -0.5")


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([place for place in PLACES if "\n" not in place]), expressions())
def test_any_arithmetic_goes_anywhere(place: str, new: str) -> None:
    unit = unit_of(place + "\n")
    made = printer.edits([printer.replace(find(unit, "X"), cst.parse_expression(new))])
    assert made is not None
    assert same(apply(unit.text, made), place.replace("X", f"({new})") + "\n")


# --- powers


@pytest.mark.parametrize(
    ("text", "base", "power"),
    [
        ("d", "d", "1"),
        ("d ** 0.5", "d", "1/2"),
        ("d ** (1 / 2)", "d", "1/2"),
        ("d ** -0.25", "d", "-1/4"),
        ("1 / math.sqrt(d)", "d", "-1/2"),
        ("1.0 / d ** 0.5", "d", "-1/2"),
        ("math.sqrt(math.sqrt(d))", "d", "1/4"),
        ("torch.rsqrt(torch.tensor(d))", "d", "-1/2"),
        ("torch.sqrt(torch.FloatTensor([d])).to(device)", "d", "1/2"),
        ("np.power(d, -0.5)", "d", "-1/2"),
        ("d.pow(0.5)", "d", "1/2"),
        ("float(q.size(-1)) ** 0.5", "q.size(-1)", "1/2"),
        ("tf.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))", "tf.shape(k)[-1]", "1/2"),
        ("d ** e", "d ** e", "1"),
        ("d ** 1 / 2", "d ** 1 / 2", "1"),
    ],
)
def test_an_expression_is_split_into_base_and_power(text: str, base: str, power: str) -> None:
    origin = value_of(text)
    found, exponent = split(origin.node)
    assert (origin.unit.code(found), exponent) == (base, Fraction(power))


@pytest.mark.parametrize(
    ("text", "value"), [("-1 / 2", "-1/2"), ("1 // 2", "0"), ("-1 // 2", "-1"), ("0x10", "16"), ("1_000", "1000"), ("2.5e-1", "1/4")]
)
def test_literal_numbers_are_computed_as_python_does(text: str, value: str) -> None:
    assert number_of(value_of(text).node) == Fraction(value)


@pytest.mark.parametrize(
    ("text", "computed", "meant"),
    [
        ("d ** 1 / 2", "(d ** 1) / 2", "d ** (1 / 2)"),
        ("d ** -1 / 2", "(d ** -1) / 2", "d ** (-1 / 2)"),
        ("s / d ** 1 / 2", "(d ** 1) / 2", "s / d ** (1 / 2)"),
        ("w // h ** -0.5", "w // (h ** -0.5)", "(w // h) ** -0.5"),
        ("d ** (1 // 2)", "d ** 0", "d ** (1 / 2)"),
        ("d ** (-1 // 2)", "d ** -1", "d ** (-1 / 2)"),
    ],
)
def test_a_power_that_reads_as_another_is_seen(text: str, computed: str, meant: str) -> None:
    origin = value_of(text)
    part = misread(origin.node)
    assert part is not None
    found = spelled(origin.unit, part)
    assert (code(found.computed), code(found.meant)) == (computed, meant)
    assert same(code(found.quoted), code(found.computed)) or "//" in text


@pytest.mark.parametrize(
    "text", ["d ** (1 / 2)", "d ** 0.5", "w // h ** 2", "(w // h) ** -0.5", "s / d ** 0.5", "d ** 2 / 2", "(d ** 1) / 3"]
)
def test_a_power_that_reads_as_it_is_stays_unseen(text: str) -> None:
    assert misread(value_of(text).node) is None
