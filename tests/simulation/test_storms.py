"""Short storms: whatever breaks, nothing is lost, doubled, leaked or given twice.

`python -m scripts.storms --small --seed N` plays one of them by itself.
"""

import pytest

from shim.simulation.storms.schedule import SMALL
from shim.simulation.storms.storm import storms

SCHEDULES = 1000
TOGETHER = 10


@pytest.mark.parametrize("first", range(0, SCHEDULES, TOGETHER))
def test_nothing_is_lost_doubled_leaked_or_given_twice(first):
    broken = {
        str(result.schedule): result.broken for result in storms(range(first, first + TOGETHER), SMALL) if result.broken
    }
    assert broken == {}
