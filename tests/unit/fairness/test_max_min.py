"""Division of one resource where some weigh nothing; what holds of all others is in tests/property/test_fairness.py."""

import numpy as np
import pytest

from fairness import ShapeMismatchError, weighted_max_min


@pytest.mark.parametrize(
    ("demand", "weights", "guaranteed", "expected"),
    [
        pytest.param([5, 10], [0, 1], [3, 0], [5, 10], id="no more than it demands, whatever is left"),
        pytest.param([5, 18], [0, 1], [3, 0], [3, 17], id="its guarantee before those with a weight"),
        pytest.param([5, 18], [0, 1], [0, 0], [2, 18], id="what the others leave"),
        pytest.param(
            [9, 9, 9], [0, 0, 1], [4, 0, 0], [7.5, 3.5, 9], id="what is left in equal parts, above guarantees"
        ),
        pytest.param([9, 9], [0, 0], [15, 15], [9, 9], id="a guarantee beyond the demand"),
    ],
)
def test_a_row_without_weight_has_its_guarantee_and_what_others_leave(demand, weights, guaranteed, expected):
    given = weighted_max_min(demand, weights, 20, guaranteed=guaranteed)
    np.testing.assert_allclose(given, expected)


def test_a_guarantee_for_other_rows_is_refused():
    with pytest.raises(ShapeMismatchError, match="guaranteed"):
        weighted_max_min([5, 10], [1, 1], 20, guaranteed=[3])
    with pytest.raises(ShapeMismatchError, match="weights"):
        weighted_max_min([5, 10], [1], 20)
