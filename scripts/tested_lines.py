"""Lines of tests for each line of code, where the subtle rules are.

`python -m scripts.tested_lines` prints a row for each room of `ROOMS`. A line counts if there is code on it:
docstrings, comments and empty lines do not, neither in the code nor in its tests. The number says where tests are thin,
not whether they see a bug: that is what `scripts.mutants` tells.
"""

import ast
import io
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NO_CODE = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True)
class Room:
    """A folder of code, its unit tests, and files of properties and oracles that are about it."""

    code: str
    tests: str
    properties: tuple[str, ...]


ROOMS: Mapping[str, Room] = {
    "ledger": Room(
        code="shim/multicluster/core",
        tests="tests/unit/multicluster/core",
        properties=(
            "test_constrained_asks",
            "test_container_order",
            "test_gangs",
            "test_grants",
            "test_planned_asks",
            "test_relay_ledger",
            "test_unkept_allocations",
        ),
    ),
    "admission and preemption": Room(
        code="shim/queues/core",
        tests="tests/unit/queues/core",
        properties=("test_preemption", "test_share_rounds", "test_waiting_machine"),
    ),
    "global masters": Room(
        code="shim/scheduling/global_master",
        tests="tests/unit/scheduling/global_master",
        properties=(
            "test_global_view",
            "test_job_book",
            "test_late_binding",
            "test_look_ahead",
            "test_masters",
            "test_masters_on_cycles",
        ),
    ),
    "local masters, tentative allocations": Room(
        code="shim/scheduling/local_master",
        tests="tests/unit/scheduling/local_master",
        properties=(
            "test_tentative_allocations",
            "test_tentative_allocations_twice",
            "reference_tentative",
        ),
    ),
    "submissions": Room(code="shim/submission", tests="tests/unit/submission", properties=("test_submission_machine",)),
}


def lines_of_code(source: str) -> int:
    """Count the lines on which there is code."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or node.body[0].lineno) + 1))
    coded: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            coded.update(range(token.start[0], token.end[0] + 1))
    return len(coded - documented)


def _lines_below(*paths: Path) -> int:
    files: Iterable[Path] = (file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path]))
    return sum(lines_of_code(file.read_text("utf-8")) for file in files)


def main() -> None:
    """Print the table."""
    print(f"{'room':40}{'code':>8}{'tests':>8}{'tests / code':>15}")
    for name, room in ROOMS.items():
        code = _lines_below(ROOT / room.code)
        properties = (ROOT / "tests" / "property" / f"{each}.py" for each in room.properties)
        tests = _lines_below(ROOT / room.tests, *properties)
        print(f"{name:40}{code:8}{tests:8}{tests / code:15.2f}")


if __name__ == "__main__":
    main()
