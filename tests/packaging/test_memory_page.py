"""Every module that keeps a collection has a row in memory.md, and each row a test that exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operators" / "security" / "memory.md"
ROWS = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "| what |" not in line]
LEFT_OUT = tuple(f"shim/{name}/" for name in ("simulation", "lab", "cli"))
COLLECTIONS = frozenset({"dict", "set", "list", "OrderedDict", "defaultdict", "deque", "Counter", "SingleFlight"})


def named(call: ast.expr) -> str:
    return call.id if isinstance(call, ast.Name) else call.attr if isinstance(call, ast.Attribute) else ""


def begins_empty(value: ast.expr | None) -> bool:
    """Whether a value is a collection that something is put into later."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]):
            return True
        case ast.Call(func=func, keywords=keywords) if named(func) == "field":
            return any(each.arg == "default_factory" and named(each.value) in COLLECTIONS for each in keywords)
        case ast.Call(func=ast.Subscript(value=func)) | ast.Call(func=func):
            return named(func) in COLLECTIONS and (named(func) == "deque" or not value.args)
    return False


def kept(tree: ast.Module) -> Iterator[ast.expr]:
    """What objects of the module's classes keep."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
        for part in ast.walk(node):
            target: ast.expr | None = part.target if isinstance(part, ast.AnnAssign) else None
            if isinstance(part, ast.Assign) and len(part.targets) == 1:
                target = part.targets[0]
            is_own = isinstance(target, ast.Attribute) and named(target.value) == "self"
            if target is not None and (is_own or part in node.body) and begins_empty(getattr(part, "value", None)):
                yield target


def modules() -> list[str]:
    """Modules that keep a collection."""
    found = []
    for folder in ("shim", "adapters"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if not name.startswith(LEFT_OUT) and any(kept(ast.parse(file.read_text("utf-8")))):
                found.append(name)
    return found


def places() -> set[str]:
    return {place for row in ROWS for place in re.findall(r"`((?:shim|adapters)/[\w/]+(?:\.py)?)`", row)}


def test_every_module_that_keeps_a_collection_has_a_row() -> None:
    known = places()
    missing = [name for name in modules() if not any(name == each or name.startswith(each) for each in known)]
    assert not missing, f"say in {PAGE.name} what grows there, by whom, and its bound"


def test_the_search_finds_what_it_is_for() -> None:
    assert {"shim/server/connection_registry.py", "shim/app/groups.py", "shim/federation/routing.py"} <= set(modules())
    assert not any(each.startswith("shim/simulation") for each in modules())


@pytest.mark.parametrize("place", sorted(places()))
def test_each_place_exists(place: str) -> None:
    assert (ROOT / place).exists()
    assert place.endswith((".py", "/"))


@pytest.mark.parametrize("row", ROWS)
def test_each_row_names_a_bound_and_a_test_that_exists(row: str) -> None:
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert len(cells) == 4
    assert all(cells)
    found = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", cells[3])
    assert found
    for file, name in found:
        assert not name or f"def {name}(" in (ROOT / file).read_text("utf-8")
        assert (ROOT / file).is_file()
