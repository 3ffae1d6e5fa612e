import numpy as np
import pytest

from fairness import ShapeMismatchError, deficit, dominant_share, jain_index

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
