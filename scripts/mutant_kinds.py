"""Small, realistic bugs in a module's text: each `Mutant` is the text with one expression or statement changed.

`KINDS` names them: a dropped condition, a boundary or number off by one, a missing statement, a wrong variable, a
swapped order, a wrong unit, a swapped sign. Only what runs within functions is changed, and nothing in annotations,
decorators, docstrings, `__init__`, assertions, errors that are raised, log calls and marks of crash points, nor by how
much a version grows. Numbers that stand in a class or a module are settings: another number there is no bug.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

CONDITION, OFF_BY_ONE, MISSING, VARIABLE, ORDER, UNIT, SIGN = KINDS = (
    "dropped condition",
    "off by one",
    "missing statement",
    "wrong variable",
    "swapped order",
    "wrong unit",
    "swapped sign",
)
BOUNDARIES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPPOSITES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATIONS: Mapping[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
SCALES: Mapping[type[ast.operator], type[ast.operator]] = {ast.Mult: ast.Div, ast.Div: ast.Mult}
EXTREMES = {"min": "max", "max": "min", "np.minimum": "np.maximum", "np.maximum": "np.minimum"}
UNORDERED = frozenset(
    [*EXTREMES, "are_amounts", "hmac.compare_digest", "isinstance", "math.gcd", "np.broadcast_shapes"]
)
"""Functions whose two arguments may change places, or that a type checker guards."""
LOGS = ("_log", "_LOG", "log", "logger")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One change: its kind, where, what stood there, what stands there now, and the text of the module with it."""

    kind: str
    path: str
    within: str
    line: int
    before: str
    after: str
    planted: str

    def __str__(self) -> str:
        """Return `path:line within (kind): before => after`, shortened."""
        place = f"{self.path}:{self.line} {self.within} ({self.kind})"
        return f"{place}: {_short(self.before)} => {_short(self.after) or 'nothing'}"


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a module in the order of its text; each is valid Python."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    whole = text.encode()

    def part_of(node: ast.AST) -> tuple[int, int]:
        first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]  # an expression or statement
        last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return first, last

    found: list[tuple[int, Mutant]] = []

    def add(kind: str, within: str, node: ast.AST, first: int, last: int, after: str) -> None:
        planted, before = (whole[:first] + after.encode() + whole[last:]).decode(), whole[first:last].decode()
        line: int = node.lineno  # type: ignore[attr-defined]
        mutant = Mutant(
            kind=kind, path=path, within=within, line=line, before=before, after=after.strip(), planted=planted
        )
        found.append((first, mutant))

    for within, function in _functions(ast.parse(text), ()):
        names = _alike(function)
        for node in _reached(function.body):
            for kind, after in _changes(node, names):
                add(kind, within, node, *part_of(node), after)
        for first, second in _turnable(function):
            (begin, middle), (begin_second, end) = part_of(first), part_of(second)
            between = whole[middle:begin_second].decode()
            turned = whole[begin_second:end].decode() + between + whole[begin:middle].decode()
            add(ORDER, within, first, begin, end, turned)
    yield from (mutant for _, mutant in sorted(found, key=lambda pair: pair[0]))


def _short(code: str) -> str:
    words = " ".join(code.split())
    return words if len(words) <= 70 else f"{words[:67]}..."  # noqa: PLR2004 - columns of a report


# ---------------------------------------------------------------------- what runs


def _functions(node: ast.AST, outer: tuple[str, ...]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the outermost functions with their names; an object without its fields falls at the first use of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            if child.name not in {"__init__", "__post_init__", "__repr__"}:
                yield ".".join((*outer, child.name)), child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, (*outer, child.name))
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, outer)


def _reached(nodes: Sequence[ast.AST]) -> Iterator[ast.expr | ast.stmt]:
    """Yield the expressions and statements that run, without annotations, decorators and words."""
    for node in nodes:
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        yield from _reached(_children(node))


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            found = list(node.body)
        case ast.AnnAssign():
            found = [node.value] if node.value else []
        case ast.Call() if _is_log(node):
            pass
        case ast.AugAssign(op=ast.Add(), value=ast.Constant()) if "version" in ast.unparse(node.target):
            pass  # any other version is as good
        case ast.keyword(arg="strict"):  # `zip` compares lengths with it, as an assertion
            pass
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            pass
        case _:
            found = list(ast.iter_child_nodes(node))
    return found


def _is_log(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name.split(".")[0] in LOGS or "_log." in name or name.endswith("_reached")


def _alike(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Mapping[str, str]:
    """Return for each parameter the next one of the same type: who takes one may take the other by mistake."""
    by_type: dict[str, list[str]] = {}
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            by_type.setdefault(ast.unparse(each.annotation), []).append(each.arg)
    return {
        name: names[(at + 1) % len(names)]
        for names in by_type.values()
        if len(names) > 1
        for at, name in enumerate(names)
    }


# ---------------------------------------------------------------------- what is changed


def _changes(  # noqa: C901, PLR0912 - a table, in the order of its rows
    node: ast.expr | ast.stmt, alike: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the new text of each change of one expression or statement."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in BOUNDARIES:
            yield OFF_BY_ONE, _with(node, ops=[BOUNDARIES[type(operator)]()])
        case ast.Compare(ops=[operator]) if type(operator) in OPPOSITES:
            yield CONDITION, _with(node, ops=[OPPOSITES[type(operator)]()])
        case ast.BoolOp(values=values):
            for left_out in values:
                kept = [each for each in values if each is not left_out]
                yield CONDITION, _with(node, values=kept) if len(kept) > 1 else f"({ast.unparse(kept[0])})"
        case ast.UnaryOp(op=ast.Not()):
            yield CONDITION, f"bool({ast.unparse(node.operand)})"
        case ast.UnaryOp(op=ast.USub()):
            yield SIGN, f"({ast.unparse(node.operand)})"
        case ast.BinOp() if type(node.op) in OPERATIONS and not _is_text(node):
            yield SIGN, _with(node, op=OPERATIONS[type(node.op)]())
        case ast.BinOp() if type(node.op) in SCALES and _is_number(node.right):
            yield UNIT, f"({ast.unparse(node.left)})"
        case ast.BinOp(op=ast.Mult()) if _is_number(node.left):
            yield UNIT, f"({ast.unparse(node.right)})"
        case ast.BinOp() if type(node.op) in SCALES and not _is_text(node):
            yield UNIT, _with(node, op=SCALES[type(node.op)]())
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ORDER, f"({_with(node, test=test, body=orelse, orelse=body)})"
        case ast.Constant(value=bool(value)):
            yield CONDITION, str(not value)
        case ast.Constant(value=int(value)):
            yield OFF_BY_ONE, repr(value + 1)
        case ast.Name(ctx=ast.Load()) if node.id in alike:
            yield VARIABLE, alike[node.id]
        case ast.Call():
            yield from () if _is_log(node) else _calls(node)
        case _:
            yield from _removals(node)


def _with(node: ast.expr, **changes: object) -> str:
    changed = copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Tuple | ast.List | ast.Constant) and not _is_number(side)
        for side in (node.left, node.right)
    )


def _calls(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = ast.unparse(call.func)
    if name in EXTREMES:
        yield VARIABLE, f"{EXTREMES[name]}{ast.unparse(call)[len(name) :]}"
    match call:
        case ast.Call(args=[first, second], keywords=[]) if name not in UNORDERED:
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield ORDER, f"{name}({ast.unparse(second)}, {ast.unparse(first)})"


def _removals(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield `pass` for a statement that can go: a call, a change of something that lives on, an early way out."""
    match node:
        case ast.Expr(value=ast.Call() as call) if not _is_log(call):
            yield MISSING, "pass"
        case ast.Expr(value=ast.Await()) | ast.AugAssign():
            yield MISSING, "pass"
        case ast.Delete(targets=[ast.Attribute() | ast.Subscript(), *_]):  # of a parameter that is not used: no change
            yield MISSING, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield MISSING, "pass"
        case ast.If(orelse=[], body=[*_, ast.Return() | ast.Continue() | ast.Raise() | ast.Break()]):
            yield CONDITION, "pass"


def _turnable(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Yield neighbours whose order matters: two that are waited for, or one that reads what the other changes."""
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for first, second in pairwise(block):
                is_turned = _lasting(first) in ast.unparse(second) or _lasting(second) in ast.unparse(first)
                if (_is_awaited(first) and _is_awaited(second)) or (_is_set(first) and _is_set(second) and is_turned):
                    yield first, second


def _is_awaited(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Await)


def _is_set(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AugAssign)


def _lasting(node: ast.stmt) -> str:
    """Return what an assignment changes that was there before it; words that are in no code for all else."""
    match node:
        case ast.AugAssign(target=target) | ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target]):
            return ast.unparse(target)
    return "nothing that lasts"
