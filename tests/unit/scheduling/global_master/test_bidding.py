import pytest

from shim.domain.messages import Need
from shim.scheduling.global_master.bidding import bid_for
from shim.scheduling.global_master.carry_out import order_now
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.global_master.links import LocalMasterLink
from shim.scheduling.policies import HEDDLE_ESTIMATES
from shim.simulation.engine import seeded

SLOT, GPU = Need((1,)), Need((1,), frozenset({"label:gpu"}))


@pytest.fixture
def core():
    return Core("ga", HEDDLE_ESTIMATES, n_resources=1, rng=seeded(1, "test"), incarnation=1, queue_shares={})


def add(core, name, need=SLOT, n_tasks=4, **content):
    group = TaskGroup(need, tuple(range(n_tasks)))
    return core.book.add(JobRequest(name, (group,), **({"estimate_s": 1.0} | content)), 0.0)


def test_a_bid_has_one_line_for_each_need_the_most_urgent_first(core):
    add(core, "large", n_tasks=50)
    add(core, "small", n_tasks=2)
    add(core, "picky", GPU, n_tasks=9)
    bid = bid_for(core, order_now(core, 0.0), 0.0).ride(LocalMasterLink(), declines=False)
    assert [(line.need, line.count) for line in bid.lines] == [(SLOT, 52), (GPU, 9)]
    assert bid.lines[0].rank < bid.lines[1].rank


def test_a_bid_stays_short_however_many_needs_there_are(core):
    for index in range(30):
        add(core, f"job{index}", Need((1,), frozenset({f"host:h{index}"})))
    assert len(bid_for(core, order_now(core, 0.0), 0.0).ride(LocalMasterLink(), declines=False).lines) == 8


def test_nothing_is_said_when_nothing_is_wanted_unless_an_offer_is_declined(core):
    bid = bid_for(core, [], 0.0)
    link = LocalMasterLink()
    assert bid.ride(link, declines=False) is None
    bid.send_alone("la", link)
    assert core.effects == []
    assert bid.ride(link, declines=True).lines == ()


def test_where_a_full_report_is_waited_for_nothing_is_bid(core):
    add(core, "job")
    link = LocalMasterLink(asked_at_s=1.0)
    bid = bid_for(core, order_now(core, 0.0), 0.0)
    bid.send_alone("la", link)
    assert core.effects == []
    assert bid.ride(link, declines=True).lines == ()


def test_renewals_are_paid_by_launches(core):
    add(core, "large", n_tasks=1000)
    link = LocalMasterLink()
    bid_for(core, order_now(core, 0.0), 0.0).send_alone("la", link)
    add(core, "small", n_tasks=1)
    renewed = bid_for(core, order_now(core, 1.0), 1.0)
    renewed.send_alone("la", link)
    assert len(core.effects) == 1
    core.tokens = 1.0
    renewed.send_alone("la", link)
    assert [effect.message.version for effect in core.effects] == [1, 2]
    assert core.tokens == 0.0
