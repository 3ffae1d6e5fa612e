"""Leaves that no policy names are queues by themselves."""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import AUTOMATIC, PLAIN, FederatedQueue, QueueDefaults, SharePolicy
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.load_meter import UnnamedQueues
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
PROD = FederatedQueue("root.prod", names={WEST: "root.production"})


def told(cluster: str, *paths: str, sequence: int = 1):
    """A report of a cluster with a root and these leaves below it."""
    root = a_queue_report("root", is_leaf=False)
    leaves = tuple(a_queue_report(path) for path in paths)
    return a_report(cluster, queues=(root, *leaves), sequence=sequence)


@pytest.fixture
def view() -> FederationView:
    return FederationView((EAST, WEST), usual(ViewSettings))


def paths(queues: UnnamedQueues, *named: FederatedQueue) -> list[str]:
    return [queue.path for queue in queues.completed(SharePolicy(named)).queues]


def over(view: FederationView, defaults: QueueDefaults = AUTOMATIC) -> UnnamedQueues:
    return UnnamedQueues(view, defaults)


def test_a_leaf_of_any_cluster_is_a_queue_with_the_defaults(view):
    view.apply(told("east", "root.default", "root.etl"))
    view.apply(told("west", "root.default"))
    found = over(view).completed(SharePolicy())
    assert [queue.path for queue in found.queues] == ["root.default", "root.etl"]
    assert found.queues[0] == FederatedQueue(
        "root.default", order="work", containers="learnt-work", spans_by_need=True, reads_asks=True
    )
    assert found.find("default") is found.queues[0]
    assert not found.sharing, "it takes no part in the shares"


def test_what_a_policy_names_or_has_a_queue_above_of_stays_as_it_says(view):
    view.apply(told("east", "root.prod", "root.prod.etl", "root.dev"))
    view.apply(told("west", "root.production"))
    assert paths(over(view), PROD) == ["root.prod", "root.dev"]


def test_a_leaf_that_means_a_queue_of_another_name_elsewhere_is_none_by_itself(view):
    view.apply(told("east", "root.prod", "root.production"))
    view.apply(told("west", "root.production"))
    found = over(view).completed(SharePolicy((PROD,)))
    assert [queue.path for queue in found.queues] == ["root.prod"]
    assert found.owner_at(WEST, "root.production") is PROD


def test_where_nothing_is_held_policies_stay_as_they_are(view):
    view.apply(told("east", "root.default"))
    policy = SharePolicy()
    assert over(view, PLAIN).completed(policy) is policy


def test_the_same_policy_stands_until_leaves_or_the_policy_change(view):
    queues, policy = over(view), SharePolicy((PROD,))
    assert paths(queues, PROD) == ["root.prod"], "before a report tells of leaves"
    view.apply(told("east", "root.default"))
    before = queues.completed(policy)
    assert [queue.path for queue in before.queues] == ["root.prod", "root.default"]
    view.apply(told("east", "root.default", sequence=2))
    assert queues.completed(policy) is before
    view.apply(told("east", "root.default", "root.new", sequence=3))
    assert paths(queues, PROD) == ["root.prod", "root.default", "root.new"]
    assert queues.completed(policy) is not queues.completed(SharePolicy((PROD,), version=2))


def test_of_very_many_leaves_some_are_queues(view):
    view.apply(told("east", *(f"root.u{number:04}" for number in range(1200))))
    found = paths(over(view))
    assert (len(found), found[0], found[-1]) == (1000, "root.u0000", "root.u0999")
