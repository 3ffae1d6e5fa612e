from shim.scheduling.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.scheduling.policy import Fact, estimated_work, learnt_work


def test_heddle_uses_estimates_only_where_its_name_says_so():
    assert HEDDLE.ordering.kernel is learnt_work
    assert HEDDLE.ordering.learns_durations
    assert HEDDLE.ordering.has_horizon
    assert not HEDDLE_ESTIMATES.ordering.learns_durations
    assert HEDDLE_ESTIMATES.ordering.kernel is estimated_work
    assert HEDDLE_ESTIMATES.needs - HEDDLE.needs == {Fact.ESTIMATES}
    assert HEDDLE.commitment == HEDDLE_ESTIMATES.commitment
    assert HEDDLE.commitment.bids
