"""The policy of shares: what a queue is called where."""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy, parent_of

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


class CountsQuestions(dict[str, None]):
    """Queues that are known, and how often was asked for one."""

    asked = 0

    def __contains__(self, path: object) -> bool:
        self.asked += 1
        return super().__contains__(path)


@pytest.mark.parametrize("parts", [1, 2, 31, 32, 33, 200])
def test_the_nearest_queue_above_is_found_however_deep_a_path_is(parts: int) -> None:
    path = ".".join(["q"] * parts)
    known = dict.fromkeys(["q", "q.q", "q.x", "q.q.q.q.qq", "z" * 500])
    above = [path[:index] for index, letter in enumerate(path) if letter == "."]
    assert parent_of(path, known) == max((each for each in above if each in known), key=len, default="")


def test_s26_a_path_of_very_many_parts_costs_no_more_than_its_length() -> None:
    known = CountsQuestions({"root": None, "root.dev": None})
    assert parent_of("root" + ".q" * 500_000, known) == "root"
    assert known.asked < 10


@pytest.mark.parametrize(
    ("fields", "orders"),
    [
        ({"reads_asks": True, "containers": "learnt-work"}, True),
        ({"span": True, "containers": "fewest-tasks"}, True),
        ({"reads_asks": True, "containers": "fifo"}, False),
        ({"span": True}, False),
        ({"containers": "learnt-work"}, False),
    ],
)
def test_a_queue_orders_asks_that_are_read_and_not_by_arrival(fields, orders):
    assert FederatedQueue("root.prod", **fields).orders_asks is orders
