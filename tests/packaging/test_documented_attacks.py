"""Each attack in docs/security, and each promise of the threat model, names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ROOT / "docs" / "security" / "attacks.md"
THREATS = ROOT / "docs" / "security" / "threat-model.md"
PAGES = ATTACKS.read_text("utf-8") + THREATS.read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGES)))
PROMISES = [line for line in THREATS.read_text("utf-8").splitlines() if re.match(r"\| S\d", line)]
ROWS = [line for line in ATTACKS.read_text("utf-8").splitlines() if line.startswith("| ") and "|---" not in line]


def test_there_are_attacks():
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith("| attack ")])
def test_each_attack_names_a_test(row: str):
    assert "`tests/" in row


def test_each_of_the_forty_promises_has_its_row():
    assert [row.split(" | ")[0] for row in PROMISES] == [f"| S{number}" for number in range(1, 41)]


@pytest.mark.parametrize("row", PROMISES)
def test_each_promise_names_tests_and_says_what_is_not_held(row: str):
    _, _, _, tests, not_held, _ = (cell.strip() for cell in row.split("|"))
    assert "`tests/" in tests
    assert not_held


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_each_named_test_exists(file: str, name: str):
    text = (ROOT / file).read_text("utf-8")
    assert re.search(rf"def {name}\(" if name else r"def test_", text), f"{file} has no {name}"
