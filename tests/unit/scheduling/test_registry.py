import pytest

from shim.errors import BadRequestError
from shim.scheduling.policies.orders import DRF
from shim.scheduling.policy import Fact, World
from shim.scheduling.registry import KINDS, policy_for


def test_a_policy_that_lacks_a_fact_is_refused_with_the_reason():
    assert policy_for("drf", World.YARN, frozenset({Fact.VECTORS})) is DRF
    with pytest.raises(BadRequestError, match=r"drf cannot run in yarn .* demands of more than one resource"):
        policy_for("drf", World.YARN)


def test_a_policy_whose_world_is_another_is_refused_there():
    assert policy_for("megha", World.DIRECT).name == "megha"
    with pytest.raises(BadRequestError, match="masters that launch tasks"):
        policy_for("megha", World.YARN)


def test_a_name_that_is_none_or_has_no_cycle_is_refused():
    with pytest.raises(BadRequestError, match="choose one of fifo, fair, fewest-tasks"):
        policy_for("best", World.DIRECT)
    with pytest.raises(BadRequestError, match="no scheduling cycle"):
        policy_for("sparrow", World.DIRECT)


def test_each_kind_says_what_it_is():
    assert all(kind.summary for kind in KINDS.values())
