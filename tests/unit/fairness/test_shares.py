import numpy as np
import pytest

from fairness import ShapeMismatchError, deficit, dominant_share, jain_index, user_limit, weighted_dominant_share

CAPACITY = [10.0, 20.0, 0.0]


def test_the_dominant_share_is_the_largest_and_ignores_what_does_not_exist():
    np.testing.assert_allclose(dominant_share([[5.0, 2.0, 7.0], [1.0, 18.0, 0.0]], CAPACITY), [0.5, 0.9])


def test_a_queue_that_borrowed_has_a_negative_deficit():
    np.testing.assert_allclose(deficit([[5.0, 0.0, 0.0]], [[8.0, 0.0, 0.0]], CAPACITY), [-0.3])


def test_without_weight_any_use_is_too_much():
    used = [[5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    np.testing.assert_allclose(weighted_dominant_share(used, CAPACITY, [0.0, 0.0, 2.0]), [np.inf, 0.0, 0.25])


def test_axes_that_disagree_are_refused():
    with pytest.raises(ShapeMismatchError, match="used has shape"):
        dominant_share([[1.0]], CAPACITY)


@pytest.mark.parametrize(("shares", "expected"), [([], 1.0), ([0.0, 0.0], 1.0), ([1.0, 0.0], 0.5), ([3.0, 3.0], 1.0)])
def test_jain_index_of_plain_cases(shares, expected):
    assert jain_index(shares) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("minimum_percent", "factor", "expected"),
    [(100.0, 1.0, 60.0), (25.0, 1.0, 30.0), (75.0, 1.0, 45.0), (25.0, 0.4, 24.0)],
)
def test_user_limits_follow_minimum_percent_and_factor(minimum_percent, factor, expected):
    limits = user_limit([5.0, 0.0, 9.0], 60.0, minimum_percent=minimum_percent, factor=factor)
    np.testing.assert_allclose(limits, [expected, 0.0, expected])


@pytest.mark.parametrize(("minimum_percent", "factor"), [(0.0, 1.0), (101.0, 1.0), (50.0, 0.0)])
def test_user_limits_refuse_what_makes_no_sense(minimum_percent, factor):
    with pytest.raises(ValueError, match="allowed is"):
        user_limit([1.0], 1.0, minimum_percent=minimum_percent, factor=factor)
