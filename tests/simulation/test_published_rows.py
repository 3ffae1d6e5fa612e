"""Rows of the pages that one seeded command prints, and that a test can afford: what stands there is what it gives."""

import re
from pathlib import Path

import pytest

from scripts import data_figures, late_binding_figures
from scripts.two_clusters import be_silent

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs/researchers/policies.md").read_text("utf-8")
NEAR = 0.2
"""What a figure may be off by: other decisions anywhere on the way move it by a tenth."""


@pytest.fixture(autouse=True)
def silent():
    be_silent()


def row_of(command, first):
    """The cells of the first row that begins so below a command."""
    below = PAGE[PAGE.index(command) :]
    line = next(line for line in below.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def numbers_of(cell):
    return [float(each) for each in re.findall(r"\d+(?:\.\d+)?", cell)]


@pytest.mark.parametrize("at", range(len(late_binding_figures.ORDERS)), ids=late_binding_figures.ORDERS)
def test_late_binding_by_its_first_seed(at):
    row = row_of("python -m scripts.late_binding_figures", "1")
    found = late_binding_figures.found_with(late_binding_figures.ORDERS[at], late_binding_figures.made_jobs(1), 1)
    assert numbers_of(row[at + 1]) == pytest.approx([found.mean_s, found.p95_s, found.held], rel=NEAR)


@pytest.mark.parametrize("policy", ["fifo", "tetris"])
@pytest.mark.parametrize("wait_s", [0, 15])
def test_tasks_at_their_data_by_what_reading_across_costs(policy, wait_s):
    row = row_of("python -m scripts.data_figures 1", f"`{policy}`")
    here, mean_s = data_figures.found_with(f"{policy} {wait_s}", data_figures.made_jobs(1), 1)
    assert numbers_of(row[1 + bool(wait_s)]) == pytest.approx([100.0 * here, mean_s], rel=NEAR)
