from shim.scheduling.orderings import fewest_unfinished
from shim.scheduling.policies.megha import MEGHA


def test_megha_is_as_published():
    assert MEGHA.ordering.kernel is fewest_unfinished
    assert not MEGHA.commitment.bids
    assert MEGHA.commitment.answers_acceptance
