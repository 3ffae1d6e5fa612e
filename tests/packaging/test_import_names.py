"""The import packages have everyday names: another distribution with the same name must not win."""

import importlib
import importlib.util
from pathlib import Path

import pytest

import shim

ROOT = Path(shim.__file__).resolve().parent.parent
NAMES = ("heddle", "shim", "adapters", "fairness", "altruism")


@pytest.mark.parametrize("name", NAMES)
def test_import_name_is_not_shadowed(name):
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin).resolve().parent == ROOT / name, f"{name} is taken by {found.origin}"


@pytest.mark.parametrize("name", NAMES)
def test_import_name_is_typed(name):
    assert (ROOT / name / "py.typed").is_file()
