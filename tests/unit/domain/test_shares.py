"""The policy of shares: what a queue is called where."""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.shares import FederatedQueue, SharePolicy

EAST, WEST = SubClusterId("east"), SubClusterId("west")
POLICY = SharePolicy((FederatedQueue("root.analytics", names={EAST: "root.bi"}), FederatedQueue("root.dev")))


@pytest.mark.parametrize(
    ("subcluster", "told", "name"),
    [
        (EAST, "root.analytics", "root.bi"),
        (EAST, "analytics", "root.bi"),
        (WEST, "analytics", "analytics"),
        (WEST, "root.analytics", "root.analytics"),
        (EAST, "dev", "dev"),
        (EAST, "root.analytics.of-a-child", "root.analytics.of-a-child"),
        (EAST, "", ""),
    ],
)
def test_another_name_counts_for_the_full_path_and_for_its_last_part(
    subcluster: SubClusterId, told: str, name: str
) -> None:
    assert POLICY.name_at(subcluster, told) == name
