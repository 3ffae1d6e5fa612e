"""Figures of one cycle of quincy: what a solve gains."""

import pytest

from scripts.solve_figures import figures


@pytest.mark.parametrize("busy", [0.5, 0.2])
def test_a_solved_plan_costs_less_than_the_policys_own(busy):
    found = figures(200, 5, busy)
    assert found.cost < found.greedy_cost
    assert list(found.seconds) == ["own plan", "problem", "solve", "answer"]
