"""The examples of the DRF paper, to the digit."""

import numpy as np
import pytest

from fairness import ShapeMismatchError, dominant_resource_fairness

CAPACITY = [9.0, 18.0]  # CPUs, GB
DEMAND = [[1.0, 4.0], [3.0, 1.0]]  # of users A and B


def test_figure_3_gives_a_three_tasks_and_b_two_at_two_thirds_each():
    result = dominant_resource_fairness(DEMAND, CAPACITY)
    np.testing.assert_allclose(result.tasks, [3.0, 2.0])
    np.testing.assert_allclose(result.dominant_share, [2 / 3, 2 / 3])


def test_weights_divide_the_dominant_shares():
    result = dominant_resource_fairness([[1.0, 1.0], [1.0, 1.0]], [8.0, 8.0], weights=[3.0, 1.0])
    np.testing.assert_allclose(result.tasks, [6.0, 2.0])


def test_what_a_capped_job_leaves_goes_to_the_others():
    result = dominant_resource_fairness([[1.0], [1.0], [1.0]], [12.0], max_tasks=[1.0, 100.0, np.inf])
    np.testing.assert_allclose(result.tasks, [1.0, 5.5, 5.5])


def test_a_job_goes_on_when_the_resource_it_does_not_need_is_used_up():
    result = dominant_resource_fairness([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]], [10.0, 2.0])
    np.testing.assert_allclose(result.tasks, [8.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("demand", "capacity", "expected"),
    [
        pytest.param(np.empty((0, 2)), [1.0, 1.0], [], id="no jobs"),
        pytest.param([[0.0, 0.0], [1.0, 1.0]], [2.0, 2.0], [0.0, 2.0], id="a job that needs nothing"),
        pytest.param([[1.0, 1.0], [1.0, 0.0]], [4.0, 0.0], [0.0, 4.0], id="a resource that does not exist"),
    ],
)
def test_degenerate_input_has_a_defined_answer(demand, capacity, expected):
    np.testing.assert_allclose(dominant_resource_fairness(demand, capacity).tasks, expected)


def test_axes_that_disagree_are_refused_with_both_shapes():
    with pytest.raises(ShapeMismatchError, match=r"demand has shape \(1, 3\), expected \(1, 2\)"):
        dominant_resource_fairness([[1.0, 1.0, 1.0]], CAPACITY)


def test_a_negative_amount_is_refused():
    with pytest.raises(ValueError, match="demand holds a negative amount"):
        dominant_resource_fairness([[-1.0, 1.0]], CAPACITY)


def test_arguments_are_left_as_they_were():
    demand, capacity = np.array(DEMAND), np.array(CAPACITY)
    dominant_resource_fairness(demand, capacity)
    np.testing.assert_array_equal(demand, DEMAND)
    np.testing.assert_array_equal(capacity, CAPACITY)


@pytest.mark.parametrize("name", ["weights", "max_tasks"])
def test_weights_and_limits_of_other_jobs_are_refused(name):
    with pytest.raises(ShapeMismatchError, match=name):
        dominant_resource_fairness(DEMAND, CAPACITY, **{name: [1.0]})
