"""What an ApplicationMaster's rows of asks amount to."""

import pytest

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.asks import AskBook

EAST = SubClusterId("east")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


class Noted:
    """An `AskSplitter` that keeps the demands which it is given, and asks the home for all."""

    def __init__(self):
        self.demands = []

    def split(self, demand, capacities):
        self.demands.append(demand)
        return {capacities[0].subcluster: demand.total}

    def has_spares(self, _):
        return True

    def pins(self, _):
        return {}

    def granted(self, key, subcluster):
        pass

    def drop(self, key):
        pass

    def clear(self):
        pass


def demand_of(*rows, containers=()):
    book, splitter = AskBook(containers), Noted()
    book.tell((Ask(KEY, place, count, relaxes) for place, count, relaxes in rows), {})
    book.split(splitter, (ClusterCapacity(EAST, is_home=True),))
    return splitter.demands[0]


@pytest.mark.parametrize(
    ("rows", "allowed"),
    [
        ([("h1", 2, True), ("/r", 2, False), (ANY, 2, False)], ("h1",)),
        ([("h1", 2, False), ("/r", 2, True), (ANY, 2, False)], ("/r", "h1")),
        ([("h1", 0, True), ("h2", 1, True), ("/r", 1, False), (ANY, 1, False)], ("h2",)),
        ([(ANY, 1, False)], ()),
        ([("h1", 2, True), ("/r", 2, True), (ANY, 2, True)], ()),
    ],
)
def test_where_containers_may_be_that_may_not_be_anywhere(rows, allowed):
    demand = demand_of(*rows)
    assert demand.is_strict == (not rows[-1][2])
    assert demand.allowed == allowed


def test_a_demand_tells_how_many_containers_there_are_already():
    assert demand_of((ANY, 2, True), containers=range(5)).held == 5


def test_a_demand_tells_whether_more_is_wanted_than_may_be_asked_for():
    book, splitter, capacities = AskBook(), Noted(), (ClusterCapacity(EAST, is_home=True),)
    book.tell([Ask(KEY, ANY, 4, relaxes=True)], {})
    for allowance in (None, KEY.resource.times(4), KEY.resource.times(2)):
        book.allowance = allowance
        book.split(splitter, capacities)
    assert [each.is_limited for each in splitter.demands] == [False, False, True]
    assert book.has_spares, "as the splitter says"
