import pytest

from shim.scheduling.local_master.partition import divide_nodes


@pytest.mark.parametrize(
    ("n_nodes", "owners", "divided"),
    [
        (4, ("a", "b"), ("a", "a", "b", "b")),
        (5, ("a", "b"), ("a", "a", "a", "b", "b")),
        (1, ("a", "b"), ("a",)),
        (0, ("a",), ()),
    ],
)
def test_nodes_are_divided_into_contiguous_ranges_of_almost_equal_size(n_nodes, owners, divided):
    assert divide_nodes(n_nodes, owners) == divided


def test_nobody_cannot_own_nodes():
    with pytest.raises(ValueError, match="no Global Masters"):
        divide_nodes(3, ())
