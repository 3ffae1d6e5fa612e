"""What the name of a queue in `?queue=` means, by the schedulers of the sub-clusters."""

import pytest

from shim.domain.ids import SubClusterId
from shim.protocol.rest.filters import QueueScope
from shim.testing.reports import a_queue_report, a_report
from tests.support.scripted_door import ScriptedDoor

EAST, WEST = SubClusterId("east"), SubClusterId("west")
QUEUES = (
    a_queue_report("root", is_leaf=False),
    a_queue_report("root.dev"),
    a_queue_report("root.eng", is_leaf=False),
    a_queue_report("root.eng.x"),
)


def find(scheduler: str, text: str) -> QueueScope | None:
    door = ScriptedDoor()
    for name in (EAST, WEST):
        door.view.apply(a_report(name, scheduler=scheduler, queues=QUEUES))
    return door.backend.find_queue(text)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("root.dev", QueueScope("root.dev", is_leaf=True)),
        ("dev", QueueScope("root.dev", is_leaf=True)),
        ("root", QueueScope("root", is_leaf=False, leaves=frozenset({"dev", "x"}))),
        ("eng", QueueScope("root.eng", is_leaf=False, leaves=frozenset({"x"}))),
        ("x", QueueScope("root.eng.x", is_leaf=True)),
        ("nosuch", None),
    ],
)
def test_a_capacity_scheduler_knows_a_queue_by_its_last_name(text, scope):
    assert find("capacityScheduler", text) == scope


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("root.dev", QueueScope("root.dev", is_leaf=True)),
        # measured on 3.4.2: only the live ones of root.dev
        ("dev", QueueScope("dev", is_leaf=False, leaves=frozenset({"root.dev"}))),
        ("eng", QueueScope("eng", is_leaf=False, leaves=frozenset({"root.eng", "root.eng.x"}))),
        ("eng.x", QueueScope("eng.x", is_leaf=False, leaves=frozenset({"root.eng.x"}))),
        ("x", None),
    ],
)
def test_a_fair_scheduler_reads_a_name_below_root(text, scope):
    assert find("fairScheduler", text) == scope
