"""Bounds of placement constraints less what a cycle has granted."""

import numpy as np
import pytest

from shim.scheduling.tag_constraints import TagBounds, TagHeadroom

FIRST, ITS_KIN, OTHER, UNBOUNDED = range(4)


@pytest.fixture
def headroom():
    """Two clusters of two nodes each: the first cluster is bounded below its nodes, the second above."""
    clusters, nodes = np.array([1, 9]), np.array([2, 2, 3, 4])
    return TagHeadroom({row: TagBounds(kin, clusters, nodes) for row, kin in ((FIRST, 7), (ITS_KIN, 7), (OTHER, 8))})


def test_a_node_has_no_more_than_its_cluster_and_itself_may_have(headroom):
    assert [headroom.at(FIRST, cluster, node) for cluster, node in ((0, 0), (0, 1), (1, 2), (1, 3))] == [1, 1, 3, 4]


def test_what_one_is_granted_its_kin_have_less(headroom):
    headroom.take(FIRST, 1, 2, node=3)
    headroom.take(FIRST, 0, 1)
    assert headroom.at_clusters(ITS_KIN).tolist() == [0, 7]
    assert headroom.at_nodes(ITS_KIN).tolist() == [2, 2, 3, 2]
    assert headroom.at(ITS_KIN, 0, 0) == 0
    assert headroom.at_clusters(OTHER).tolist() == [1, 9]
    headroom.take(ITS_KIN, 1, -1, node=3)
    assert headroom.at(FIRST, 1, 3) == 3, "what is taken back is free again"


def test_room_of_cells_is_bounded_by_that_of_their_cluster(headroom):
    clusters, room = np.array([1, 0, 1]), np.array([4, 4, 20])
    assert headroom.within(FIRST, clusters, room).tolist() == [4, 1, 9]
    headroom.take_of_cells(FIRST, clusters, np.array([2, 1, 1]))
    assert headroom.at_clusters(FIRST).tolist() == [0, 6]


def test_who_is_not_bounded_has_all_the_room_and_changes_nothing(headroom):
    assert UNBOUNDED not in headroom
    headroom.take(UNBOUNDED, 0, 1, node=0)
    headroom.take_of_cells(UNBOUNDED, np.array([0]), np.array([1]))
    assert headroom.within(UNBOUNDED, np.array([0]), np.array([50])).tolist() == [50]
    assert headroom.at(FIRST, 0, 0) == 1


def test_a_bound_that_is_exceeded_leaves_nothing(headroom):
    headroom.take(FIRST, 0, 5, node=0)
    assert (headroom.at_clusters(FIRST)[0], headroom.at_nodes(FIRST)[0]) == (0, 0)
