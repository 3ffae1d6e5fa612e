"""What is imported is declared, and what is declared is imported: none comes by luck, none for nothing."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("heddle", "shim", "adapters", "fairness", "altruism")
DEVELOPED = ("tests", "scripts")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

BY_ANOTHER_NAME = {
    "asyncpg": "a driver: the URL of a store names it",
    "opentelemetry-exporter-otlp-proto-http": "importlib.import_module in shim/telemetry/tracing.py",
    "opentelemetry-sdk": "importlib.import_module in shim/telemetry/tracing.py",
    "gssapi": "importlib.import_module in adapters/kerberos/contexts.py",
    "pyjwt": "importlib.import_module in adapters/oidc/keys.py",
    "python-ldap": "importlib.import_module in adapters/ldap/directory.py",
}
"""Of what is shipped: distributions that no import statement names."""

FOR_USERS = {"testcontainers"}
"""Distributions whose classes for users lie deep in their modules."""


OF_OTHERS = {"schemathesis"}
"""Distributions that are imported in an environment of their own alone."""


def canonical(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def declared(*groups: str) -> dict[str, str]:
    """Requirement by distribution, of the project, its extras, and more groups."""
    project = PROJECT["project"]
    wanted = list(project["dependencies"])
    wanted += [each for extra in project["optional-dependencies"].values() for each in extra]
    wanted += [each for group in groups for each in PROJECT["dependency-groups"][group]]
    return {canonical(each): each for each in wanted}


@cache
def statements(folders: tuple[str, ...]) -> list[list[ast.stmt]]:
    """Imports and classes of each module, wherever they stand."""
    return [
        [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef))]
        for tree in (
            ast.parse(path.read_text("utf-8")) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))
        )
    ]


def imported(folders: tuple[str, ...]) -> set[str]:
    """Every module that an import statement names."""
    nodes = [node for module in statements(folders) for node in module]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }


@cache
def distributions(folders: tuple[str, ...]) -> dict[str, set[str]]:
    """The distributions that may have brought each package that comes from outside, by the package's name."""
    owners = packages_distributions()
    roots = {name.partition(".")[0] for name in imported(folders)} - sys.stdlib_module_names - {*SHIPPED, *DEVELOPED}
    # several distributions share its namespace; only one of them is meant
    shared = {"google": {"protobuf"}}
    return {root: shared.get(root) or {canonical(each) for each in owners.get(root, [root])} for root in sorted(roots)}


def derived_from_inner(module: list[ast.stmt]) -> Iterator[str]:
    """Distributions of whose classes, deep in their modules, one of ours is derived."""
    origin = {
        alias.asname or alias.name: node.module
        for node in module
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }
    for node in module:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                root, *inside = origin.get(ast.unparse(base).partition("[")[0], "").split(".")
                if len(inside) > 1 and root not in {*SHIPPED, *sys.stdlib_module_names}:
                    yield root


@pytest.mark.parametrize(("folders", "groups"), [(SHIPPED, ()), (DEVELOPED, ("dev",))], ids=["shipped", "developed"])
def test_what_is_imported_is_declared(folders: tuple[str, ...], groups: tuple[str, ...]) -> None:
    known = declared(*groups).keys() | OF_OTHERS
    assert {root: names for root, names in distributions(folders).items() if not names & known} == {}


def test_what_is_declared_to_run_is_imported() -> None:
    used = set().union(*distributions(SHIPPED).values())
    assert declared().keys() - used == BY_ANOTHER_NAME.keys()


def test_a_class_that_is_not_for_users_holds_its_distribution_below_a_version() -> None:
    inner = {root for module in statements(SHIPPED) for root in derived_from_inner(module)} - FOR_USERS
    assert inner == {"uvicorn"}
    assert [each for each in inner if "<" not in declared()[each]] == []
