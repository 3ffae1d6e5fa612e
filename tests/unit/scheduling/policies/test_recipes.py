from shim.scheduling.global_master.ordering import estimated_work, fewest_unfinished, learnt_work
from shim.scheduling.policies import HEDDLE, HEDDLE_ESTIMATES, MEGHA


def test_megha_is_as_published():
    assert MEGHA.ordering is fewest_unfinished
    assert not MEGHA.commitment.bids
    assert MEGHA.commitment.answers_acceptance


def test_heddle_uses_estimates_only_where_its_name_says_so():
    assert HEDDLE.ordering is learnt_work
    assert HEDDLE.learns_durations
    assert not HEDDLE_ESTIMATES.learns_durations
    assert HEDDLE_ESTIMATES.ordering is estimated_work
    assert HEDDLE.commitment == HEDDLE_ESTIMATES.commitment
    assert HEDDLE.commitment.bids
