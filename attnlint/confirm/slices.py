"""The statements of a script that an attention needs, run on their own with arrays that the probe follows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from attnlint.confirm.measure import Reading, Target, chosen, tracked, use_weights
from attnlint.confirm.namespace import Space, bound_names, position

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
