"""Into which queue a submission goes, and who may do what with a queue."""

import pytest

from shim.domain.queues import FederatedQueue, QueueMapping, SharePolicy
from shim.queues.core.queue_rules import is_listed, map_queue, may_administer, may_submit

POLICY = SharePolicy(
    mappings=(
        QueueMapping("root.audit", application="audit-*", overrides=True),
        QueueMapping("root.etl", user="etl"),
        QueueMapping("root.ops", group="ops"),
        QueueMapping("root.nightly", user="ann", application="night?"),
        QueueMapping("root.rest"),
    )
)

MAPPED = {
    "by user": ("", "etl", "job", "root.etl"),
    "by group": ("", "oscar", "job", "root.ops"),
    "by user and name": ("default", "ann", "night1", "root.nightly"),
    "nobody else's": ("root.default", "ann", "nightly", "root.rest"),
    "a named queue stays": ("root.own", "etl", "job", "root.own"),
    "unless it is overridden": ("root.own", "etl", "audit-2026", "root.audit"),
}


def groups_of(user: str) -> frozenset[str]:
    return frozenset({"ops"} if user == "oscar" else ())


@pytest.mark.parametrize(("asked", "user", "name", "queue"), MAPPED.values(), ids=MAPPED.keys())
def test_the_first_mapping_that_fits_counts(asked: str, user: str, name: str, queue: str):
    assert map_queue(POLICY, queue=asked, user=user, application=name, groups_of=groups_of) == queue


def test_groups_are_asked_for_only_where_a_rule_names_them():
    def never(user: str) -> frozenset[str]:
        raise AssertionError(user)

    assert is_listed(("ann", "*"), "eve", never)
    assert not is_listed(("ann",), "eve", never)
    policy = SharePolicy(mappings=(QueueMapping("root.etl", user="etl", group="ops"),))
    assert map_queue(policy, queue="", user="eve", application="", groups_of=never) == ""


def test_who_administers_a_queue_may_submit_to_it_too():
    queue = FederatedQueue("root.prod", submit=("ann",), administer=("group:ops",))
    assert may_submit(queue, "ann", groups_of)
    assert may_submit(queue, "oscar", groups_of)
    assert not may_submit(queue, "eve", groups_of)
    assert may_administer(queue, "oscar", groups_of)
    assert not may_administer(queue, "ann", groups_of)


def test_without_lists_everybody_submits_and_nobody_administers():
    queue = FederatedQueue("root.prod")
    assert may_submit(queue, "eve", groups_of)
    assert not may_administer(queue, "eve", groups_of)
