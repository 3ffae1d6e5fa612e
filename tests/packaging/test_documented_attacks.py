"""Each attack in docs/operators/security, and each promise of the threat model, names tests that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ROOT / "docs" / "operators" / "security" / "attacks.md"
THREATS = ROOT / "docs" / "operators" / "security" / "threat-model.md"
PAGES = ATTACKS.read_text("utf-8") + THREATS.read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGES)))
PROMISES = [line for line in THREATS.read_text("utf-8").splitlines() if re.match(r"\| S\d", line)]
STARTED = ATTACKS.read_text("utf-8").partition("## What is started")[2].partition("\n## ")[0]
ROWS = [
    line
    for line in ATTACKS.read_text("utf-8").replace(STARTED, "").splitlines()
    if line.startswith("| ") and "|---" not in line
]
HEADERS = ("| attack ", "| surface ", "| n ", "| class ", "| all ")


def test_there_are_attacks():
    assert len(ROWS) > 40


@pytest.mark.parametrize(
    "row", [row for row in ROWS if not row.startswith(HEADERS) and not re.search(r"\| \d{4}-", row)]
)
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


def rows_below(heading: str) -> list[list[str]]:
    """Cells of the rows of the first table whose header begins so."""
    lines = ATTACKS.read_text("utf-8").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(heading)) + 2
    end = next(at for at, line in enumerate(lines[begin:], begin) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[begin:end]]


def test_what_was_tried_adds_up_by_surface():
    rows = rows_below("| surface | tried |")
    counts = [[int(cell) for cell in row[1:4]] for row in rows]
    assert [sum(column) for column in zip(*counts[:-1], strict=True)] == counts[-1]
    assert all(tried == held + fell for tried, held, fell in counts)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row[4]) and row[5] in ("held", "mended") for row in rows)


def test_all_that_fell_has_a_number_a_verdict_and_a_test():
    rows = rows_below("| n | surface |")
    assert [int(row[0]) for row in rows] == [*range(1, 15), *range(21, 33)]
    assert {row[4] for row in rows} == {"mended"}
    assert all("`tests/" in row[5] for row in rows)


def test_every_suite_that_only_attacks_is_in_a_class():
    named = {file for row in rows_below("| class |") for file in re.findall(r"`(tests/[^`]+)`", row[2])}
    words = ("hostile", "bombs", "lying", "loop_holds", "started", "gateways", "postgresql_lost")
    found = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py") if has_any(file.name, words)}
    assert found <= named
    assert all((ROOT / file).is_file() for file in named)


def test_each_check_of_started_doors_is_in_their_table_and_the_other_way_round():
    rows = rows_below("| what |")
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[1])}
    doors = (ROOT / "tests" / "integration" / "test_started_doors.py").read_text("utf-8")
    assert named == set(re.findall(r'^    \("[\w ]+", (\w+)\),$', doors, re.MULTILINE))


def test_each_extra_signal_and_listener_is_in_the_table_of_what_is_started():
    told = " ".join(row[0] for row in rows_below("| what |"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert [name for name in extras if f"`{name}`" not in told] == []
    signals = (ROOT / "tests" / "integration" / "test_started_process.py").read_text("utf-8")
    assert [name for name in set(re.findall(r"signal\.(SIG[A-Z0-9]+)", signals)) if name not in told] == []
    listeners = ("rest", "client_rpc", "admin_rpc", "scheduler_rpc", "proxy", "tls")
    assert [name for name in listeners if f"`server.{name}`" not in told] == []


def has_any(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
