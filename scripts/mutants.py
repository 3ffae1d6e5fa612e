"""Small, realistic bugs in a module's text: each `Mutant` is the text with one expression or statement changed.

Seven kinds: a comparison turned round, a boundary (`<` for `<=`), an `and` for an `or`, a dropped `not`, two swapped
arguments, a removed statement, and another constant (numbers by one, booleans by their opposite). Nothing is changed
in annotations, decorators, docstrings, `__init__`, assertions, errors that are raised and log calls.
"""

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
UNORDERED = frozenset(["min", "max", "np.maximum", "np.minimum", "isinstance", "hmac.compare_digest", "math.gcd"])
"""Functions whose two arguments may change places, or that a type checker guards."""
LOGS = ("_log", "log", "logger")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One change: where, what stood there, what stands there now, and the text of the whole module with it."""

    path: str
    line: int
    before: str
    after: str
    planted: str

    def __str__(self) -> str:
        """Return `path:line: before => after`, shortened."""
        return f"{self.path}:{self.line}: {_short(self.before)} => {_short(self.after)}"


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a module in the order of its text; each is valid Python."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    whole = text.encode()
    changes = [(node, change) for node in _reached(ast.parse(text)) for change in _changes(node)]
    changes.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset))
    for node, after in changes:
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        planted = (whole[:first] + after.encode() + whole[last:]).decode()
        before = whole[first:last].decode()
        yield Mutant(path=path, line=node.lineno, before=before, after=after, planted=planted)


def _short(code: str) -> str:
    words = " ".join(code.split())
    return words if len(words) <= 70 else f"{words[:67]}..."  # noqa: PLR2004 - columns of a report


def _reached(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the expressions and statements that run, without annotations, decorators and words."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for child in _children(node):
        yield from _reached(child)


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            found = [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
            if node.name != "__init__":  # an object without its fields falls at the first use of it
                found += node.body
        case ast.ClassDef():
            found = list(node.body)
        case ast.AnnAssign():
            found = [node.value] if node.value else []
        case ast.Call() if _is_log(node):
            pass
        case ast.keyword(arg="strict"):  # `zip` compares lengths with it, as an assertion
            pass
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            pass
        case _:
            found = list(ast.iter_child_nodes(node))
    return found


def _is_log(call: ast.Call) -> bool:
    return ast.unparse(call.func).split(".")[0] in LOGS or "_log." in ast.unparse(call.func)


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in COMPARISONS[type(operator)]:
                changed = copy(node)
                changed.ops = [other()]
                yield f"({ast.unparse(changed)})"
        case ast.BoolOp():
            changed_op = copy(node)
            changed_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield f"({ast.unparse(changed_op)})"
        case ast.UnaryOp(op=ast.Not()):
            yield f"bool({ast.unparse(node.operand)})"
        case ast.BinOp() if type(node.op) in OPERATIONS and not _is_text(node):
            turned = copy(node)
            turned.op = OPERATIONS[type(node.op)]()
            yield f"({ast.unparse(turned)})"
        case ast.Constant():
            yield from _constants(node)
        case ast.Call(args=[first, second], keywords=[]) if not isinstance(second, ast.Starred):
            if not isinstance(first, ast.Starred) and ast.unparse(node.func) not in UNORDERED:
                yield f"{ast.unparse(node.func)}({ast.unparse(second)}, {ast.unparse(first)})"
        case _:
            yield from _removals(node)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Tuple | ast.List | ast.Constant)
        and not isinstance(getattr(side, "value", None), int | float)
        for side in (node.left, node.right)
    )


def _constants(node: ast.Constant) -> Iterator[str]:
    if isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node.value, int | float):
        yield repr(node.value + 1)


def _removals(node: ast.expr | ast.stmt) -> Iterator[str]:
    """Yield `pass` for a statement that can go: a call, a change of something that lives on, an early way out."""
    match node:
        case ast.Expr(value=ast.Call() as call) if not _is_log(call):
            yield "pass"
        case ast.Expr(value=ast.Await()) | ast.AugAssign():
            yield "pass"
        case ast.Delete(targets=[ast.Attribute() | ast.Subscript(), *_]):  # of a parameter that is not used: no change
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
        case ast.If(orelse=[], body=[*_, ast.Return() | ast.Continue() | ast.Raise() | ast.Break()]):
            yield "pass"
