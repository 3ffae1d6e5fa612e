"""S13: an access list holds whatever a queue is called, and for those who move an application there, too."""

from functools import partial

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.errors import ForbiddenError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.access import QueueAccess
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
APP = ApplicationId(1, 7)
POLICY = SharePolicy(
    (
        FederatedQueue("root.prod", submit=("alice", "group:ops"), names={WEST: "root.production"}),
        FederatedQueue("root.dev"),
    )
)
QUEUES = {
    EAST: ("root.prod", "root.prod.etl", "root.dev", "root.dev.batch", "root.dev.twice"),
    WEST: ("root.production", "root.production.etl", "root.dev", "root.prod", "root.dev.batch", "root.prod.twice"),
}


def an_access(policy: SharePolicy = POLICY, *, is_heard: bool = True) -> QueueAccess:
    view = FederationView((EAST, WEST), usual(ViewSettings))
    for name, paths in QUEUES.items() if is_heard else ():
        view.apply(a_report(name, queues=tuple(a_queue_report(path) for path in paths)))
    return QueueAccess(lambda: policy, view, lambda user: {"ops"} if user == "oscar" else set(), FakeClock())


@pytest.mark.parametrize("queue", ["root.prod", "prod", "root.prod.etl", "etl", "root.prod.new"])
def test_s13_who_is_not_listed_submits_to_no_queue_below_by_any_name(queue: str):
    with pytest.raises(ForbiddenError, match="User mallory does not have permission to submit"):
        an_access().check_submission(APP, queue, "mallory")
    for user in ("alice", "oscar"):
        an_access().check_submission(APP, queue, user)


@pytest.mark.parametrize(
    ("home", "queue"),
    [
        (EAST, "root.prod"),
        (EAST, "prod"),
        (EAST, "etl"),
        (EAST, "root.prod.etl"),
        (WEST, "root.production"),
        (WEST, "production"),
        (WEST, "etl"),
    ],
)
def test_s13_who_is_not_listed_moves_nothing_there_by_any_name(home: SubClusterId, queue: str):
    with pytest.raises(ForbiddenError, match="User mallory does not have permission to submit"):
        an_access().move_target(APP, home, queue, "mallory")
    an_access().move_target(APP, home, queue, "alice")


def test_a_home_s_own_queue_of_the_same_name_is_another():
    assert an_access().move_target(APP, WEST, "root.prod", "mallory") == "root.prod"


AT_WEST = ("root.production", "root.dev", "root.top.leaf", "root.a.twice", "root.b.twice")
BY_LAST_NAME = {
    "root.prod": "production",
    "prod": "production",
    "root.production": "production",
    "production": "production",
    "root.dev": "dev",
    "dev": "dev",
    "root.top.leaf": "leaf",
    "root.top": "top",
    "root.a.twice": "root.a.twice",
    "root.nosuch": "root.nosuch",
    "nosuch": "nosuch",
    "": "",
}
BY_PATH = {
    **{name: name for name in BY_LAST_NAME},
    "root.prod": "root.production",
    "prod": "root.production",
    "root.prod.new": "root.prod.new",
}
SCHEDULERS = {
    ("capacityScheduler", "3.4.2"): BY_PATH,
    ("capacityScheduler", "3.3.0"): BY_PATH,
    ("capacityScheduler", "3.2.4"): BY_LAST_NAME,
    ("capacityScheduler", "2.10.2"): BY_LAST_NAME,
    ("fairScheduler", "3.4.2"): BY_PATH,
    ("fairScheduler", "3.2.4"): BY_PATH,
}


@pytest.mark.parametrize(
    ("scheduler", "version", "queue", "name"),
    [(*each, *named) for each, names in SCHEDULERS.items() for named in names.items()],
)
def test_a_move_names_its_queue_as_the_home_does(scheduler: str, version: str, queue: str, name: str):
    view = FederationView((EAST, WEST), usual(ViewSettings))
    parents = tuple(a_queue_report(path, is_leaf=False) for path in ("root", "root.top"))
    leaves = tuple(a_queue_report(path) for path in AT_WEST)
    view.apply(a_report(WEST, queues=(*parents, *leaves), scheduler=scheduler, version=version))
    access = QueueAccess(lambda: POLICY, view, lambda _: set(), FakeClock())
    assert access.move_target(APP, WEST, queue, None) == name
    if name in ("root.production", "production"):
        with pytest.raises(ForbiddenError, match=r"mallory does not have permission to submit .* to queue root\.prod"):
            access.move_target(APP, WEST, queue, "mallory")


@pytest.mark.parametrize(("home", "name"), [(EAST, "root.prod"), (WEST, "root.production")])
def test_s13_before_a_home_was_heard_its_name_is_that_of_the_policy(home: SubClusterId, name: str):
    access = an_access(is_heard=False)
    assert access.move_target(APP, home, "root.prod", "alice") == name
    with pytest.raises(ForbiddenError):
        access.move_target(APP, home, "root.prod", "mallory")


@pytest.mark.parametrize("queue", ["prod", "root.prod", "root.prod.etl"])
def test_s13_names_of_the_policy_are_known_before_any_cluster_was_heard(queue: str):
    access = an_access(is_heard=False)
    for check in (
        lambda: access.check_submission(APP, queue, "eve"),
        lambda: access.move_target(APP, EAST, queue, "eve"),
    ):
        with pytest.raises(ForbiddenError):
            check()


@pytest.mark.parametrize(
    ("queue", "path"),
    [
        ("batch", "root.dev.batch"),
        ("dev", "dev"),
        ("root.dev.batch", "root.dev.batch"),
        ("etl", "etl"),  # west calls it otherwise
        ("twice", "twice"),
        ("", ""),
        ("nosuch", "nosuch"),
    ],
)
def test_a_leaf_told_by_its_last_part_is_known_by_its_path(queue: str, path: str):
    assert an_access().full_path(queue) == path


@pytest.mark.parametrize("queue", ["dev", "root.dev", "default", "nosuch"])
def test_other_queues_are_everybodys(queue: str):
    an_access().check_submission(APP, queue, "mallory")
    an_access().move_target(APP, EAST, queue, "mallory")


def test_without_lists_nothing_is_looked_up():
    assert not an_access(SharePolicy((FederatedQueue("root.dev"),))).is_restricted
    assert an_access().is_restricted


def test_who_may_not_submit_there_reserves_nothing_there_and_everybody_elsewhere():
    access = an_access()
    with pytest.raises(ForbiddenError, match=r"mallory does not have permission to reserve in queue root\.prod"):
        access.check_reservation(WEST, "root.production", "mallory")
    access.check_reservation(WEST, "root.production", "alice")
    access.check_reservation(EAST, "root.dev", "mallory")
    access.check_reservation(EAST, "nosuch", "mallory")


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("user", ["alice", "oscar", "mallory"])
@pytest.mark.parametrize(
    ("subcluster", "heard", "named"),
    [
        (EAST, {"root.prod", "root.prod.etl"}, {"root.prod"}),
        (WEST, {"root.production", "root.production.etl"}, {"root.production"}),
    ],
)
def test_queues_that_are_closed_to_a_user_are_those_below_one_that_does_not_list_him(
    subcluster: SubClusterId, heard: set[str], named: set[str], user: str, *, is_heard: bool
):
    closed = an_access(is_heard=is_heard).closed_at(subcluster, user)
    assert sorted(closed) == sorted((heard if is_heard else named) if user == "mallory" else ())


ADMINISTERED = SharePolicy(
    (
        FederatedQueue("root.prod", administer=("paula", "group:ops"), names={WEST: "root.production"}),
        FederatedQueue("root.prod.etl", administer=("eva",)),
        FederatedQueue("root.dev"),
    )
)


@pytest.mark.parametrize(
    ("subcluster", "queue", "who"),
    [
        (EAST, "root.prod", {"paula", "oscar"}),
        (EAST, "prod", {"paula", "oscar"}),
        (EAST, "root.prod.etl", {"paula", "oscar", "eva"}),
        (EAST, "etl", {"paula", "oscar", "eva"}),
        (EAST, "root.prod.etl.deep.down", {"paula", "oscar", "eva"}),
        (EAST, "root.prod.other", {"paula", "oscar"}),
        (WEST, "root.production", {"paula", "oscar"}),
        (WEST, "root.production.other", {"paula", "oscar"}),
        (WEST, "root.prod", set()),
        (EAST, "root.dev", set()),
        (EAST, "root.dev.prod", set()),
        (EAST, "nosuch", set()),
    ],
)
def test_a_queue_is_administered_by_those_whom_it_or_one_above_it_lists(
    subcluster: SubClusterId, queue: str, who: set[str]
):
    access = an_access(ADMINISTERED)
    users = {"paula": (), "oscar": ("ops",), "eva": ("dba",), "mallory": ()}
    found = {user for user in users if access.administers(subcluster, queue, user, partial(users.__getitem__, user))}
    assert found == who


def test_a_parent_of_the_same_last_part_is_no_leaf():
    view = FederationView((EAST,), usual(ViewSettings))
    view.apply(a_report(EAST, queues=(a_queue_report("root.dev.batch", is_leaf=False), a_queue_report("root.dev.x"))))
    access = QueueAccess(lambda: POLICY, view, lambda _: set(), FakeClock())
    assert (access.full_path("batch"), access.full_path("x")) == ("batch", "root.dev.x")
