"""Published systems on two real clusters against rivals that they beat clearly: contests of policies.md by one seed."""

import pytest

from scripts.real_contests import REAL_CONTESTS, lost_to, measured_on_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

CLEAR = {"drf": ("drf", "plain YARN, fair by memory")}
"""Ways that run: a rival that is near would win at times on a busy machine."""


@pytest.mark.parametrize("system", CLEAR)
def test_the_system_needs_less_than_its_rivals_on_real_clusters(system):
    contest = REAL_CONTESTS[system]
    needs = {name: needed for name, needed, _ in measured_on_lab(contest, 1, CLEAR[system])}
    assert tuple(needs) == CLEAR[system]
    assert lost_to(contest, needs) == [], needs
