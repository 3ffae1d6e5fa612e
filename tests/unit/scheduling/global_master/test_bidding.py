import pytest

from shim.domain.messages import EndingKind
from shim.domain.resources import Need
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.global_master.links import LocalMasterLink
from shim.scheduling.global_master.machine import bid_for, order_now
from shim.scheduling.plan import NO_TURNS
from shim.scheduling.policies import HEDDLE, HEDDLE_ESTIMATES
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
    bid = bid_for(core, NO_TURNS, 0.0)
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


# ---------------------------------------------------------------------- when a bid is sent


def offered(core, link, now_s):
    """What is sent at a moment, if anything."""
    core.effects.clear()
    bid_for(core, order_now(core, now_s), now_s).send_alone("la", link)
    return [effect.message.version for effect in core.effects]


def test_a_renewal_takes_a_whole_token_and_a_more_urgent_need(core):
    add(core, "large", n_tasks=1000)
    link = LocalMasterLink()
    assert offered(core, link, 0.0) == [1]
    core.tokens = 5.0
    assert offered(core, link, 1.0) == [], "no more urgent than before"
    add(core, "small", n_tasks=1)
    core.tokens = 0.9
    assert offered(core, link, 2.0) == []
    core.tokens = 2.5
    assert offered(core, link, 3.0) == [2]
    assert core.tokens == 1.5
    assert (link.bid_at_s, link.bid_rank) == (3.0, link.bid.lines[0].rank)


def test_a_need_that_is_a_little_more_urgent_is_not_told_on_its_own(core):
    add(core, "large", n_tasks=1000)
    link = LocalMasterLink()
    assert offered(core, link, 0.0) == [1]
    core.tokens = 5.0
    add(core, "less", n_tasks=600)
    assert offered(core, link, 1.0) == []
    link.rival = (0, link.bid_rank[1], link.bid_rank[2] - 1)
    assert offered(core, link, 2.0) == [2], "it goes before another one now"
    add(core, "half", n_tasks=290)
    assert offered(core, link, 3.0) == [3]


def test_patience_begins_with_two_seconds_and_doubles_until_a_report_knows_the_bid(core):
    add(core, "job")
    link = LocalMasterLink()
    waited = []
    for _ in range(4):
        bid_for(core, order_now(core, 0.0), 0.0).ride(link, declines=False)
        waited.append(link.bid_backoff_s)
    assert waited == [2.0, 4.0, 8.0, 16.0]
    link.bid_backoff_s = 0.0
    bid_for(core, order_now(core, 0.0), 0.0).ride(link, declines=False)
    assert link.bid_backoff_s == 2.0


def test_an_end_of_need_is_said_once(core):
    link = LocalMasterLink()
    add(core, "job")
    assert bid_for(core, order_now(core, 0.0), 0.0).ride(link, declines=False).version == 1
    said = bid_for(core, NO_TURNS, 1.0).ride(link, declines=False)
    assert (said.version, said.lines, link.bid_rank) == (2, (), None)
    assert bid_for(core, NO_TURNS, 2.0).ride(link, declines=False) is None
    assert bid_for(core, NO_TURNS, 2.0).ride(link, declines=True).version == 3


def test_a_bid_has_every_need_once_however_many_jobs_want_it(core):
    for number in range(20):
        add(core, f"same{number}", n_tasks=1)
    add(core, "picky", GPU, n_tasks=3)
    (first, second) = bid_for(core, order_now(core, 0.0), 0.0).ride(LocalMasterLink(), declines=False).lines
    assert {(line.need, line.count) for line in (first, second)} == {(SLOT, 20), (GPU, 3)}


LONG_S, SHORT_S = 1000.0, 1.0


@pytest.fixture
def learnt():
    """A core that has seen many short jobs, and a few that take nearly all of the time."""
    core = Core("ga", HEDDLE, n_resources=1, rng=seeded(1, "test"), incarnation=1, queue_shares={})
    for duration_s in (SHORT_S,) * 90 + (LONG_S,) * 10:
        core.book.durations.observe(duration_s)
    return core


def run_one(core, job, duration_s):
    """One task of a job runs and ends, another begins."""
    for number, at_s in ((id(job), 0.0), (id(job) + 1, duration_s)):
        core.book.place(job, job.groups[0], ("la", 0), number, at_s)
    core.book.end(id(job), EndingKind.FINISHED, duration_s)


def test_long_tasks_have_a_line_of_their_own(learnt):
    run_one(learnt, add(learnt, "long", n_tasks=6), LONG_S)
    add(learnt, "unknown", n_tasks=3)
    bid = bid_for(learnt, order_now(learnt, LONG_S), LONG_S).ride(LocalMasterLink(), declines=False)
    assert sorted((line.is_long, line.count) for line in bid.lines) == [(False, 3), (True, 4)]


def test_short_tasks_are_told_of_though_long_ones_are_more_urgent(learnt):
    run_one(learnt, add(learnt, "long", n_tasks=3), LONG_S)
    link = LocalMasterLink()
    assert offered(learnt, link, LONG_S) == [1]
    learnt.tokens = 5.0
    run_one(learnt, add(learnt, "short", n_tasks=5000), SHORT_S)
    assert offered(learnt, link, LONG_S) == [2]
    assert [line.is_long for line in link.bid.lines] == [True, False]
    assert offered(learnt, link, LONG_S) == [], "that is known by now"
