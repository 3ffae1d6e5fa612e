"""Short storms: whatever breaks, nothing is lost, doubled, leaked or given twice.

`python -m scripts.storms --small --seed N` plays one of them by itself.
"""

import pytest

from tests.support.storms.schedule import SMALL
from tests.support.storms.storm import storms

SCHEDULES = 1000
TOGETHER = 10
UNMENDED = {804}
"""A second attempt with a gang near its data, by `delay`, is never given that after its node died."""


@pytest.mark.parametrize("first", range(0, SCHEDULES, TOGETHER))
def test_nothing_is_lost_doubled_leaked_or_given_twice(first):
    results = tuple(storms(range(first, first + TOGETHER), SMALL))
    broken = {each.schedule.seed: each.broken for each in results if each.broken}
    assert broken.keys() == UNMENDED.intersection(range(first, first + TOGETHER)), broken
    assert all("is RUNNING UNDEFINED" in each[0] for each in broken.values()), "it hangs, and nothing worse"
