from shim.scheduling.policies.megha import MEGHA
from shim.scheduling.policy import fewest_unfinished


def test_megha_is_as_published():
    assert MEGHA.ordering.kernel is fewest_unfinished
    assert not MEGHA.commitment.bids
    assert MEGHA.commitment.answers_acceptance
