"""The closed form of DRF between jobs."""

import numpy as np
import pytest

from altruism import drf_shares
from fairness import ShapeMismatchError


def test_the_example_of_the_drf_paper():
    np.testing.assert_allclose(drf_shares([[1, 4], [3, 1]], [9, 18]), [[3, 12], [6, 2]])


def test_weights_divide_the_dominant_shares():
    np.testing.assert_allclose(drf_shares([[1.0], [1.0]], [8.0], weights=[3, 1]), [[6.0], [2.0]])


def test_the_size_of_a_task_does_not_matter_only_its_shape():
    np.testing.assert_allclose(drf_shares([[2, 8], [3, 1]], [9, 18]), drf_shares([[1, 4], [6, 2]], [9, 18]))


@pytest.mark.parametrize(
    ("demand", "capacity", "expected"),
    [
        pytest.param(np.empty((0, 2)), [1, 1], np.empty((0, 2)), id="no jobs"),
        pytest.param([[0, 0], [1, 1]], [2, 2], [[0, 0], [2, 2]], id="a job that demands nothing"),
        pytest.param([[1, 1], [1, 0]], [4, 0], [[0, 0], [4, 0]], id="a resource that is not there"),
    ],
)
def test_degenerate_input_has_a_defined_answer(demand, capacity, expected):
    np.testing.assert_allclose(drf_shares(demand, capacity), expected)


def test_axes_that_disagree_are_refused():
    with pytest.raises(ShapeMismatchError, match="mean_demand has shape"):
        drf_shares([[1.0, 1.0]], [1.0])
    with pytest.raises(ShapeMismatchError, match="weights has shape"):
        drf_shares([[1.0]], [1.0], weights=[1.0, 2.0])
