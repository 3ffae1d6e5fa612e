import cProfile
import pstats

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.bench.cycle import a_large_snapshot
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.draft import spread
from shim.scheduling.policies.orders import FEWEST_TASKS
from shim.simulation.engine import seeded


@pytest.mark.parametrize(
    ("count", "room", "weight", "shares"),
    [
        (3, [6, 2], [1, 1], [2, 1]),
        (9, [6, 2], [1, 1], [6, 2]),
        (4, [4, 4], [3, 1], [3, 1]),
        (6, [3, 9], [9, 1], [3, 3]),
        (1, [2, 5], [1, 1], [0, 1]),
        (5, [5, 5], [0, 0], [0, 0]),
        (0, [5], [1], [0]),
    ],
)
def test_shares_are_in_proportion_to_room_times_weight(count, room, weight, shares):
    assert spread(count, np.array(room), np.array(weight, dtype=float)).tolist() == shares


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0.0, 0.5, 1.0, 4.0])), min_size=1, max_size=8),
)
def test_everything_is_spread_that_finds_room_and_nothing_beyond_it(count, cells):
    room, weight = np.array([cell[0] for cell in cells]), np.array([cell[1] for cell in cells])
    shares = spread(count, room, weight)
    assert (shares <= room).all()
    assert not shares[weight == 0].any()
    assert shares.sum() == min(count, room[weight > 0].sum())


def test_a_cycle_takes_a_bounded_number_of_steps_for_each_request():
    """A thousand attempts with a hundred containers each on ten thousand nodes: time is that of `scripts/bench`."""
    snapshot, profile = a_large_snapshot(), cProfile.Profile()
    profile.enable()
    plan = run_cycle(snapshot, FEWEST_TASKS, CycleState(seeded(1, "test")))
    profile.disable()
    assert sum(plan.granted().values()) == 100_000
    assert pstats.Stats(profile).total_calls < 150 * 1000
