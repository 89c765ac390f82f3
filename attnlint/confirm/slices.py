"""The statements that an attention needs, cut out of a script or a function and run on their own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlint.confirm.inputs import Array, Dimension, make
from attnlint.confirm.measure import Reading, Target, chosen, tracked, use_weights
from attnlint.confirm.namespace import Space, bound_names, position
from attnlint.confirm.sizes import Sizes

_WRAP = "__attnlint_tracked__"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def run_script(space: Space, target: Target, library: str, seed: Callable[[], None]) -> list[Reading]:
    """Runs what the target's top-level statements need and what uses their result; nothing that only prints, plots or writes."""
    from attnlint import probe

    statements = script_slice(space.statements, target)
    if not statements:
        return []
    space[_WRAP] = tracked if library == "numpy" else _itself
    wrapped = [ast.fix_missing_locations(_Tracking().visit(statement)) for statement in statements] if library == "numpy" else statements
    seed()
    if library == "torch":
        import torch

        with torch.no_grad(), probe.watch(keep_samples=True) as report:
            space.execute(wrapped)
            use_weights(_results(space, statements, target))
    else:
        with probe.watch(keep_samples=True) as report:
            space.execute(wrapped)
            use_weights(_results(space, statements, target))
    return chosen(report, target)


def _results(space: Space, statements: Sequence[ast.stmt], target: Target) -> list[Any]:
    """What the statements at the target's rows bound."""
    held = [s for s in statements if any(position(s)[0] <= last and first <= position(s)[1] for first, last in target.rows)]
    return [dict.get(space, name) for statement in held for name in bound_names(statement)]


def _itself(value: Any) -> Any:
    return value


def script_slice(statements: Sequence[ast.stmt], target: Target) -> list[ast.stmt]:
    """The top-level statements at the target's rows, those that they need, and those that use their result, in order."""
    rows = [position(statement) for statement in statements]
    held = [
        index
        for index, (first, last) in enumerate(rows)
        if any(first <= b and a <= last for a, b in target.rows) and not isinstance(statements[index], _DEFINITIONS)
    ]
    if not held:
        return []
    chosen_rows = set(held)
    derived = {name for index in held for name in bound_names(statements[index])}
    for index in range(max(held) + 1, len(statements)):
        statement = statements[index]
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _reads(statement) & derived:
            chosen_rows.add(index)
            derived |= set(bound_names(statement))
    needed: set[str] = set()
    for index in chosen_rows:
        needed |= _reads(statements[index])
    for index in range(max(chosen_rows), -1, -1):
        statement = statements[index]
        if isinstance(statement, _DEFINITIONS) or index in chosen_rows:
            needed |= _reads(statement) if index in chosen_rows else set()
            continue
        binds = set(bound_names(statement))
        if binds & needed or (isinstance(statement, ast.Expr) and _changes(statement) & needed):
            chosen_rows.add(index)
            needed |= _reads(statement)
    return [statements[index] for index in sorted(chosen_rows)]


def _reads(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Store)}


def _changes(statement: ast.Expr) -> set[str]:
    """The name that a call changes in place: `mask.fill_diagonal_(0)`, `parts.append(x)`, `np.fill_diagonal(mask, 0)`."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return set()
    if isinstance(call.func.value, ast.Name) and (
        call.func.attr.endswith("_") or call.func.attr in ("append", "extend", "update", "fill", "sort")
    ):
        return {call.func.value.id}
    if call.func.attr in ("fill_diagonal", "put", "copyto") and call.args and isinstance(call.args[0], ast.Name):
        return {call.args[0].id}
    return set()


class _Tracking(ast.NodeTransformer):
    """Hands every assigned value and every operand of a product to the probe."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Assign(node.targets, _wrapped(node.value)), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return ast.copy_location(ast.BinOp(_wrapped(node.left), node.op, _wrapped(node.right)), node)
        return node


def _wrapped(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(_WRAP, ast.Load()), value), [value], []), value)


# --- functions


class NoSlice(Exception):
    """The statements cannot be cut out; the message says why."""


@dataclass(frozen=True)
class Slice:
    """Statements as a function of their free names: `arrays` are to be made, `fixed` are known."""

    function: Callable[..., Any]
    arrays: Mapping[str, Array]
    fixed: Mapping[str, Any]

    def values(self, sizes: Sizes, table: Mapping[str, int], library: str, seed: int) -> dict[str, Any]:
        """Random arrays for the free names."""
        import numpy as np

        random = np.random.default_rng(seed)
        return {name: make(value, table, random, library, sizes) for name, value in self.arrays.items()}

    def call(self, values: Mapping[str, Any]) -> Any:
        return self.function(**values, **self.fixed)


def function_slice(space: Space, dotted: str, target: Target, owner: Any) -> Slice:
    """The statements of a function between q, k and softmax, with `owner` for self. Raises NoSlice."""
    function = _find(space.module, dotted.split("."))
    if function is None:
        raise NoSlice(f"{dotted} has no statements of its own")
    product_rows = target.rows[0]
    block = _block(function.body, product_rows)
    if block is None:
        raise NoSlice("the product stands in no statement of this function")
    first = next(i for i, one in enumerate(block) if _holds(one, product_rows))
    operands = _operands(block[first])
    if operands is None:
        raise NoSlice("its product is not written as @, matmul, bmm or einsum of two names")
    last = max(i for i, one in enumerate(block) if any(_holds(one, rows) for rows in target.rows))
    kept = [one for one in block[first : last + 1] if not isinstance(one, ast.If) or any(_holds(one, rows) for rows in target.rows)]
    if operands.scaled:
        raise NoSlice("q or k are made within the product")
    known = {"self": owner} if owner is not None else {}
    before = [one for one in _linear(function.body) if position(one)[1] < product_rows[0]]
    kept = [*_scaling(before, operands.shapes), *kept]
    free = _free(kept, space)
    made: list[ast.stmt] = []
    for statement in reversed(before):
        names = set(bound_names(statement))
        if names & (free - set(operands.shapes) - set(known)) and not _calls_arrays(statement):
            made.insert(0, statement)
            free |= _free([statement], space)
    kept = [*[one for one in made if one not in kept], *kept]
    free = _free(kept, space) - set(operands.shapes) - set(known)
    arguments = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    arrays = dict(operands.shapes)
    for name in sorted(free):
        if not _only_shape(kept, name) or name not in arguments:
            raise NoSlice(f"`{name}` is needed, and cannot be made")
        arrays[name] = Array(("B", "T", "C"))
    result = next(iter(bound_names(block[last])), None)
    body = [*kept, ast.Return(ast.Name(result, ast.Load()))] if result else kept
    parameters = [*arrays, *known]
    made_function = ast.FunctionDef(
        "__attnlint_slice__",
        ast.arguments([], [ast.arg(n) for n in parameters], None, [], [], None, []),
        body,
        [],
        None,
        None,
        **_TYPE_PARAMETERS,
    )
    space.execute([ast.fix_missing_locations(ast.copy_location(made_function, function))])
    return Slice(space["__attnlint_slice__"], arrays, known)


_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


@dataclass(frozen=True)
class Operands:
    """The names of a product's operands with shapes that fit it; `scaled` where an operand is no plain name."""

    shapes: Mapping[str, Array]
    scaled: bool = False


def _find(tree: ast.AST, path: Sequence[str]) -> ast.FunctionDef | None:
    for name in path:
        found = next((n for n in ast.iter_child_nodes(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == name), None)
        if found is None:
            return None
        tree = found
    return tree if isinstance(tree, ast.FunctionDef) else None


def _holds(statement: ast.stmt, rows: tuple[int, int]) -> bool:
    first, last = position(statement)
    return first <= rows[0] and rows[1] <= last


def _block(body: Sequence[ast.stmt], rows: tuple[int, int]) -> list[ast.stmt] | None:
    """The innermost block that holds a statement."""
    for statement in body:
        if _holds(statement, rows):
            for name in ("body", "orelse", "finalbody"):
                inner = _block(getattr(statement, name, []), rows)
                if inner is not None:
                    return inner
            return list(body)
    return None


def _linear(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Simple statements in order, of straight code only: what stands under a condition may not have run."""
    return [one for one in body if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign))]


def _operands(statement: ast.stmt) -> Operands | None:
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return _matrices(node.left, node.right)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("matmul", "bmm") and len(node.args) >= 2:
                return _matrices(node.args[0], node.args[1], 3 if name == "bmm" else 4)
            if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
                return _by_letters(str(node.args[0].value), node.args[1:])
    return None


def _matrices(left: ast.expr, right: ast.expr, rank: int = 4) -> Operands:
    turned = any(isinstance(n, ast.Attribute) and n.attr in ("transpose", "T", "mT", "permute", "swapaxes") for n in ast.walk(right))
    numbers = [n.value for n in ast.walk(right) if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    if turned and numbers[:2] in ([1, 2], [2, 1], [0, 2, 1]):
        rank = 3
    lead: tuple[Dimension, ...] = ("B", "H")[: rank - 2]
    first, second = _base(left), _base(right)
    if first is None or second is None or first == second:
        return Operands({}, True)
    keys = (*lead, "S", "D") if turned else (*lead, "D", "S")
    return Operands({first: Array((*lead, "T", "D")), second: Array(keys)})


def _by_letters(pattern: str, arguments: Sequence[ast.expr]) -> Operands | None:
    if len(arguments) == 1 and isinstance(arguments[0], (ast.List, ast.Tuple)):
        arguments = arguments[0].elts
    inputs, _, output = pattern.partition("->")
    parts = [text.split() if " " in text.strip() else list(text.strip()) for text in inputs.split(",")]
    if len(parts) != 2 or len(arguments) != 2 or "." in pattern or not output:
        return None
    names = [_base(one) for one in arguments]
    if None in names or names[0] == names[1]:
        return Operands({}, True)
    shared = [letter for letter in parts[0] if letter in parts[1]]
    contracted = [letter for letter in shared if letter not in output]
    lead = iter(("B", "H", "M", 2))
    table: dict[str, Dimension] = {letter: "D" if letter in contracted else next(lead) for letter in shared}
    shapes = {}
    for name, letters_, length in zip(names, parts, ("T", "S"), strict=True):
        shapes[str(name)] = Array(tuple(table.get(letter, length) for letter in letters_))
    return Operands(shapes)


def _base(node: ast.expr) -> str | None:
    """The name that an operand is, transposed or cast at most."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Attribute):
            if node.func.attr not in ("transpose", "permute", "swapaxes", "contiguous", "float", "to", "t"):
                return None
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            node = node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            node = node.left
        else:
            return None


def _scaling(before: Sequence[ast.stmt], operands: Mapping[str, Array]) -> list[ast.stmt]:
    """Statements such as `q = q * scale` and `q *= scale` that scale an operand."""
    found: list[ast.stmt] = []
    for one in before:
        if (
            isinstance(one, ast.AugAssign)
            and isinstance(one.target, ast.Name)
            and one.target.id in operands
            and isinstance(one.op, (ast.Mult, ast.Div))
        ):
            found.append(one)
        elif isinstance(one, ast.Assign) and isinstance(one.value, ast.BinOp) and isinstance(one.value.op, (ast.Mult, ast.Div)):
            target = one.targets[0]
            if isinstance(target, ast.Name) and target.id in operands:
                if not (isinstance(one.value.left, ast.Name) and one.value.left.id == target.id):
                    raise NoSlice(f"`{target.id}` is made and scaled in one statement")
                found.append(one)
    return found


def _free(statements: Sequence[ast.stmt], space: Space) -> set[str]:
    """Names that statements read before they bind them, and that the module does not have."""
    bound: set[str] = set()
    free: set[str] = set()
    for statement in statements:
        free |= _reads(statement) - bound
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id not in bound:
            free.add(statement.target.id)
        bound |= set(bound_names(statement))
    return {name for name in free if not hasattr(builtins, name) and name not in space.bindings}


def _calls_arrays(statement: ast.stmt) -> bool:
    """Whether a statement calls more than sizes and roots."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name not in ("size", "sqrt", "float", "int", "len", "tuple", "list", "max", "pow", "rsqrt", "tensor"):
                return True
    return False


def _only_shape(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether an argument is read for its sizes alone."""
    asked = 0
    for statement in statements:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in ("shape", "size")
                and isinstance(node.value, ast.Name)
                and node.value.id == name
            ):
                asked += 1
    return asked == sum(isinstance(n, ast.Name) and n.id == name for s in statements for n in ast.walk(s))
