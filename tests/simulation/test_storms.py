"""Short storms: whatever breaks, nothing is lost, doubled, leaked or given twice.

`python -m scripts.storms --small --seed N` plays one of them by itself.
"""

import pytest

from tests.support.storms.schedule import SMALL
from tests.support.storms.storm import storms

SCHEDULES = 1000
TOGETHER = 10


@pytest.mark.parametrize("first", range(0, SCHEDULES, TOGETHER))
def test_nothing_is_lost_doubled_leaked_or_given_twice(first):
    results = tuple(storms(range(first, first + TOGETHER), SMALL))
    broken = {str(each.schedule): each.broken for each in results if each.broken}
    assert not broken, broken
