"""Each attack in docs/security names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ROOT / "docs" / "security" / "attacks.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", ATTACKS.read_text("utf-8"))))
ROWS = [line for line in ATTACKS.read_text("utf-8").splitlines() if line.startswith("| ") and "|---" not in line]


def test_there_are_attacks():
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith("| attack ")])
def test_each_attack_names_a_test(row: str):
    assert "`tests/" in row


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_each_named_test_exists(file: str, name: str):
    text = (ROOT / file).read_text("utf-8")
    assert re.search(rf"def {name}\(" if name else r"def test_", text), f"{file} has no {name}"
