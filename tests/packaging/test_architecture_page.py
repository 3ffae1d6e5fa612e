"""docs/developers/architecture.md tells of the code as it is: rooms, their order, and the functions on each walk."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "developers" / "architecture.md").read_text("utf-8")
ROOMS = re.findall(r"^\| `((?:shim|adapters|fairness|altruism)[\w/]*)` \|", PAGE, re.MULTILINE)
HOPS = re.findall(r"`([\w/]+\.py)` `(\w+)`", PAGE)
ANSWERS = re.findall(r"^\| \.\.\. .* \| `([\w/]+\.py)` \|$", PAGE, re.MULTILINE)
BESIDE = {"shim/protocol", "shim/__pycache__"}


def layers() -> list[str]:
    """Rooms from top to bottom as the linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = next(each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    return [name.strip().replace(".", "/") for layer in contract["layers"] for name in layer.split("|")]


def test_the_rooms_stand_in_the_order_that_the_linter_enforces():
    assert layers() == ROOMS


def test_every_folder_is_a_room():
    folders = {f"shim/{each.name}" for each in (ROOT / "shim").iterdir() if each.is_dir()}
    assert folders - set(ROOMS) == BESIDE & folders


def test_no_module_is_loose_but_those_that_must_be():
    loose = {each.name for each in (ROOT / "shim").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "errors.py"}


@pytest.mark.parametrize(("file", "function"), HOPS)
def test_each_hop_of_a_walk_is_there(file: str, function: str):
    assert re.search(rf"(def|class) {function}\b", (ROOT / file).read_text("utf-8"))


@pytest.mark.parametrize("file", ANSWERS)
def test_each_answer_names_a_file(file: str):
    assert (ROOT / file).is_file()


def test_there_are_four_walks_and_twenty_answers_or_more():
    assert PAGE.count("\n### ") == 4
    assert len(HOPS) > 20
    assert len(ANSWERS) >= 20
