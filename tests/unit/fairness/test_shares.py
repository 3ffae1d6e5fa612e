from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from altruism import drf_shares
from fairness import (
    PreemptionProblem,
    QueueTree,
    ShapeMismatchError,
    choose_victims,
    deficit,
    dominant_resource_fairness,
    dominant_share,
    hierarchical_entitlement,
    jain_index,
    weighted_max_min,
)

CAPACITY = [10.0, 20.0, 0.0]


def test_the_dominant_share_is_the_largest_and_ignores_what_does_not_exist():
    np.testing.assert_allclose(dominant_share([[5.0, 2.0, 7.0], [1.0, 18.0, 0.0]], CAPACITY), [0.5, 0.9])


def test_a_queue_that_borrowed_has_a_negative_deficit():
    np.testing.assert_allclose(deficit([[5.0, 0.0, 0.0]], [[8.0, 0.0, 0.0]], CAPACITY), [-0.3])


def test_axes_that_disagree_are_refused():
    with pytest.raises(ShapeMismatchError, match="used has shape"):
        dominant_share([[1.0]], CAPACITY)


@pytest.mark.parametrize(("shares", "expected"), [([], 1.0), ([0.0, 0.0], 1.0), ([1.0, 0.0], 0.5), ([3.0, 3.0], 1.0)])
def test_jain_index_of_plain_cases(shares, expected):
    assert jain_index(shares) == pytest.approx(expected)


AXES = {"queues": 2, "resources": 3}
TREE = {
    "parent": ("queues",),
    "weight": ("queues",),
    "guaranteed": ("queues", "resources"),
    "maximum": ("queues", "resources"),
}
PROBLEM = {
    "size": ("queues", "resources"),
    "queue": ("queues",),
    "cluster": ("queues",),
    "lost_work": ("queues",),
    "may_preempt": ("queues",),
    "used": ("queues", "resources"),
    "entitlement": ("queues", "resources"),
    "capacity": ("resources",),
}


def in_tree(demand, capacity, **tree):
    return hierarchical_entitlement(QueueTree(**tree), demand, capacity)


def victims(needed, **problem):
    return choose_victims(PreemptionProblem(**problem), needed)


KERNELS: dict[Callable[..., Any], dict[str, tuple[str, ...]]] = {
    dominant_share: {"used": ("queues", "resources"), "capacity": ("resources",)},
    deficit: {"entitlement": ("queues", "resources"), "used": ("queues", "resources"), "capacity": ("resources",)},
    jain_index: {"shares": ("queues",)},
    dominant_resource_fairness: {
        "demand": ("queues", "resources"),
        "capacity": ("resources",),
        "weights": ("queues",),
        "max_tasks": ("queues",),
    },
    weighted_max_min: {"demand": ("queues",), "weights": ("queues",), "guaranteed": ("queues",)},
    in_tree: {"demand": ("queues", "resources"), "capacity": ("resources",), **TREE},
    victims: {"needed": ("resources",), **PROBLEM},
    drf_shares: {"mean_demand": ("queues", "resources"), "capacity": ("resources",), "weights": ("queues",)},
}
"""Kernels, and the axes of what each is given."""
WHOLE = {"parent": -1, "queue": 0, "cluster": 0}


def call(kernel, **shapes):
    given = {name: tuple(AXES[axis] for axis in axes) for name, axes in KERNELS[kernel].items()} | shapes
    arrays = {name: np.full(shape, WHOLE.get(name, 1.0)) for name, shape in given.items()}
    arrays = {name: each.astype(np.int64) if name in WHOLE else each for name, each in arrays.items()}
    if "may_preempt" in arrays:
        arrays["may_preempt"] = arrays["may_preempt"].astype(bool)
    return kernel(**arrays, **({"capacity": 5.0} if kernel is weighted_max_min else {}))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(kernel, name) for kernel, rows in KERNELS.items() for name in rows if kernel is not jain_index],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_an_array_of_another_shape_is_refused_even_where_numpy_would_stretch_it(kernel, name):
    call(kernel)
    shape = [AXES[axis] for axis in KERNELS[kernel][name]]
    axes = range(kernel is dominant_share and len(shape) > 1, len(shape))  # of one array alone, any number of queues
    others = [[*shape[:at], length, *shape[at + 1 :]] for at in axes for length in (1, shape[at] + 1)]
    for other in others:
        with pytest.raises(ShapeMismatchError):
            call(kernel, **{name: tuple(other)})


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(kernel, name) for kernel, rows in KERNELS.items() for name in rows if kernel is not victims and name != "parent"],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_an_array_of_more_dimensions_is_refused(kernel, name):
    shape = tuple(AXES[axis] for axis in KERNELS[kernel][name])
    for other in ((*shape, 1), (1, *shape)):
        with pytest.raises(ShapeMismatchError):
            call(kernel, **{name: other})
