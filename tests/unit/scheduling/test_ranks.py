from shim.scheduling.policies.heddle import HEDDLE
from shim.scheduling.ranks import is_worth_renewing, rank_of


def rank(key=1.0, *, priority=0, deficit=1.0):
    return rank_of(HEDDLE, key, deficit, priority)


def test_ranks_follow_priority_first_then_the_deficit_and_then_the_key_on_a_log_scale():
    ranks = [rank(key) for key in (0.0, 1.0, 2.0, 1000.0)]
    assert ranks == sorted(ranks)
    assert rank(2.0)[2] - rank(1.0)[2] == HEDDLE.commitment.ranks_per_octave
    assert rank(1e9, priority=3) < rank(1e9, deficit=0.0) < ranks[0]


def test_a_bid_is_renewed_if_it_overtakes_another_one_or_is_twice_as_urgent():
    def is_worth(told, now, rival=None):
        return is_worth_renewing(HEDDLE, rank(told), rank(now), None if rival is None else rank(rival))

    assert not is_worth(100.0, 60.0)
    assert is_worth(100.0, 49.0)
    assert is_worth(100.0, 60.0, rival=80.0)
    assert is_worth(100.0, 60.0, rival=100.0), "among equals the owner goes first: so it may not have gone before"
    assert not is_worth(100.0, 60.0, rival=60.0), "it does not go before that one yet"
    assert not is_worth(100.0, 60.0, rival=200.0), "it went before that one already"
    assert not is_worth(100.0, 130.0, rival=200.0)
    assert is_worth_renewing(HEDDLE, rank(1.0), rank(8.0, priority=1), None), "by its priority alone"
