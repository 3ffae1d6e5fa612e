"""A problem whose axes differ is refused by the name of the array."""

from typing import Any

import numpy as np
import pytest

from fairness.arrays import ShapeMismatchError
from fairness.preemption import PreemptionProblem, choose_victims


def arrays() -> dict[str, Any]:
    """Three containers of two queues, two resources."""
    return {
        "size": np.ones((3, 2)),
        "queue": np.zeros(3, dtype=np.int64),
        "cluster": np.zeros(3, dtype=np.int64),
        "lost_work": np.zeros(3),
        "may_preempt": np.ones(3, dtype=np.bool_),
        "used": np.full((2, 2), 3.0),
        "entitlement": np.zeros((2, 2)),
        "capacity": np.full(2, 8.0),
    }


@pytest.mark.parametrize("name", ["size", "cluster", "lost_work", "may_preempt", "used", "entitlement"])
@pytest.mark.parametrize("axis", [0, -1])
def test_an_array_of_another_shape_is_refused_by_its_name(name: str, axis: int) -> None:
    given = arrays()
    if name == "used" and axis == 0:
        name, given["entitlement"] = (
            "entitlement",
            given["entitlement"][:1],
        )  # one queue fewer
    else:
        given[name] = np.concatenate([given[name], given[name]], axis=axis)
    with pytest.raises(ShapeMismatchError, match=name):
        PreemptionProblem(**given)


@pytest.mark.parametrize("needed", [np.ones(1), np.ones(3), np.ones((2, 1))])
def test_a_need_in_other_resources_is_refused(needed: Any) -> None:
    with pytest.raises(ShapeMismatchError, match="needed"):
        choose_victims(PreemptionProblem(**arrays()), needed)


def test_who_needs_nothing_gets_nothing() -> None:
    assert choose_victims(PreemptionProblem(**arrays()), np.zeros(2)).tolist() == []
    assert choose_victims(PreemptionProblem(**arrays()), np.array([0.0, 1.0])).tolist() == [0]
