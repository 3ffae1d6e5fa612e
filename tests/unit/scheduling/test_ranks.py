from shim.scheduling.plan import Turn
from shim.scheduling.policies.heddle import HEDDLE
from shim.scheduling.ranks import rank_of


def rank(key=1.0, *, priority=0, deficit=1.0):
    return rank_of(HEDDLE, Turn(0, key, deficit, priority))


def test_ranks_follow_priority_first_then_the_deficit_and_then_the_key_on_a_log_scale():
    ranks = [rank(key) for key in (0.0, 1.0, 2.0, 1000.0)]
    assert ranks == sorted(ranks)
    assert rank(2.0)[2] - rank(1.0)[2] == HEDDLE.commitment.ranks_per_octave
    assert rank(1e9, priority=3) < rank(1e9, deficit=0.0) < ranks[0]
