"""Who of a queue's applications goes first with containers."""

from dataclasses import replace

import pytest

from shim.domain.allocations import AskKey, PendingRequest, PlacementConstraint, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.wishes import JobTimes, WorkLeft
from shim.scheduling.durations import DurationModel, FormerRun, RecurringJobModels
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.global_master.waiting_table import HeldContainers, WaitingTable
from shim.scheduling.snapshot import Column

KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
OTHER_KEY = replace(KEY, priority=10)
OLD, MIDDLE, YOUNG = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))


EAST = SubClusterId("east")


def waiting(count, *, key=KEY, unpromised=None, withheld=0, held=0):
    """So many containers of which some are not promised, and some of those asked of no scheduler."""
    unpromised = count if unpromised is None else unpromised
    tentative, queued = {EAST: count - unpromised}, {EAST: unpromised - withheld}
    return PendingRequest(key, count, tentative=tentative, queued=queued, held=held)


def an_empty_table(recurring_key=lambda _: ""):
    return WaitingTable(60.0, RecurringJobModels(DurationModel()), recurring_key)


def a_table(**counts):
    """A table in which the three want so many, told youngest first."""
    table = an_empty_table()
    for attempt, name in ((YOUNG, "young"), (MIDDLE, "middle"), (OLD, "old")):
        if name in counts:
            table.tell(attempt, waiting(counts[name]), 0.0)
    return table


def before(table, attempt, order="fewest-tasks", at_s=1.0):
    """Those who go first; whoever wants nothing is last."""
    ordered = table.in_order(order, at_s)
    return ordered[: ordered.index(attempt)] if attempt in ordered else ordered


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fifo", [OLD, MIDDLE]), ("fewest-tasks", [])],
)
def test_each_order_is_that_of_the_simulator(order, expected):
    assert before(a_table(old=5, middle=2, young=1), YOUNG, order) == expected


def test_of_equals_the_older_goes_first():
    table = a_table(old=2, middle=2, young=2)
    assert before(table, YOUNG) == [OLD, MIDDLE]
    assert before(table, OLD) == []


def test_containers_that_an_attempt_holds_count_as_its_tasks():
    table = a_table(old=1, young=2)
    table.tell(OLD, waiting(1, held=5), 0.0)
    assert before(table, YOUNG) == []
    assert before(table, OLD) == [YOUNG]
    table.tell(OLD, waiting(1, held=5, key=OTHER_KEY), 0.0)
    table.tell(OLD, waiting(0, key=OTHER_KEY), 0.0)
    assert before(table, YOUNG) == [], "it still holds five"


def test_an_attempt_that_is_silent_or_has_left_holds_nobody_up():
    table = a_table(old=1, young=9)
    assert before(table, YOUNG, at_s=14.0)
    assert not before(table, YOUNG, at_s=16.0)
    table.tell(OLD, waiting(1), 16.0)
    assert before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    assert not before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    table.tell(OLD, waiting(0), 17.0)
    assert not before(table, YOUNG, at_s=17.0)


def test_who_was_overtaken_for_too_long_goes_first_until_it_is_granted_something():
    table = an_empty_table()
    for at_s in (0.0, 50.0, 59.0, 61.0):
        table.tell(OLD, waiting(9, withheld=9 if at_s < 60.0 else 0), at_s)
        table.tell(YOUNG, waiting(1), at_s)
        assert before(table, OLD, at_s=at_s) == ([] if at_s > 60.0 else [YOUNG])
    assert before(table, YOUNG, at_s=61.0) == [OLD]
    table.granted(YOUNG, 61.0)
    assert before(table, OLD, at_s=61.0) == []
    table.granted(OLD, 61.0)
    assert before(table, OLD, at_s=61.0) == [YOUNG]


def ran(table, attempt, *durations_s, at_s=0.0, first=0, is_whole=True):
    """Containers of an attempt that ended, all of them at once."""
    for number, duration_s in enumerate(durations_s, start=first):
        container = ContainerId(attempt, number)
        table.begun(attempt, container, at_s - duration_s)
        table.ended(attempt, container, at_s, is_whole=is_whole)


def before_by_work(table, attempt, at_s=1.0):
    return before(table, attempt, "learnt-work", at_s)


def test_whose_containers_take_the_least_time_goes_first_however_many_they_are():
    table = a_table(old=3, young=20)
    ran(table, OLD, 100.0, 90.0, 110.0, 100.0)
    ran(table, YOUNG, 10.0, 9.0, 11.0, 10.0)
    assert before_by_work(table, OLD) == [YOUNG]
    assert before_by_work(table, YOUNG) == []
    assert before(table, YOUNG) == [OLD], "by numbers"
    told = table.estimate(OLD, "learnt-work", 1.0)
    assert (told.work_s, told.container_s, told.ended, told.running) == (300.0, 100.0, 4, 0)
    assert table.estimate(OLD, "fifo", 1.0) is None
    table.tell(YOUNG, waiting(40), 1.0)
    assert before_by_work(table, OLD) == [], "400 s by now"


def test_who_runs_for_long_without_an_end_is_expected_to_take_longer():
    table = a_table(old=5, young=5)
    ran(table, MIDDLE, 10.0)
    table.begun(YOUNG, ContainerId(YOUNG, 1), 0.0)
    for number in range(20):
        table.begun(OLD, ContainerId(OLD, number), -500.0)
    assert before_by_work(table, OLD) == [YOUNG]
    expected = [table.estimate(OLD, "learnt-work", at_s).container_s for at_s in (1.0, 5000.0)]
    assert 500.0 < expected[0] < expected[1]


def test_who_has_not_begun_is_tried_first_and_one_promise_is_the_trial():
    table = a_table(old=9, young=9)
    ran(table, MIDDLE, 1000.0)
    table.begun(OLD, ContainerId(OLD, 1), 0.0)
    assert before_by_work(table, OLD) == [YOUNG]
    trial = table.estimate(YOUNG, "learnt-work", 1.0).work_s
    table.tell(YOUNG, waiting(9, unpromised=8), 1.0)
    assert table.estimate(YOUNG, "learnt-work", 1.0).work_s > trial


def test_what_was_cut_short_or_is_not_known_teaches_nothing():
    table = a_table(old=3)
    ran(table, OLD, 5.0, is_whole=False)
    table.ended(OLD, ContainerId(OLD, 99), 1.0, is_whole=True)
    table.ended(YOUNG, ContainerId(YOUNG, 1), 1.0, is_whole=True)
    told = table.estimate(OLD, "learnt-work", 1.0)
    assert (told.ended, told.running, told.others) == (0, 0, 0)
    table.leave(OLD)
    assert table.estimate(OLD, "learnt-work", 1.0) is None


def test_applications_that_are_alike_are_expected_alike():
    job_key = {OLD.application: "a", MIDDLE.application: "b", YOUNG.application: "a"}
    table = an_empty_table(job_key.get)
    ran(table, OLD, 1000.0)
    ran(table, MIDDLE, 10.0)
    again = ApplicationAttemptId(ApplicationId(1, 9), 1)
    job_key[again.application] = "b"
    table.tell(YOUNG, waiting(3), 0.0)
    table.tell(again, waiting(3), 0.0)
    assert before_by_work(table, YOUNG) == [again]
    assert table.estimate(again, "learnt-work", 1.0).alike == 1
    job_key[again.application] = "a"
    assert before_by_work(table, YOUNG) == [again], "it was known by then"


def test_what_one_order_has_learnt_is_not_taken_for_what_another_goes_by():
    table = a_table(old=9, young=1)
    for attempt, ran_s in ((OLD, 5.0), (YOUNG, 5.0)):
        for number in range(4):
            container = ContainerId(attempt, number + 2)
            table.begun(attempt, container, 0.0)
            table.ended(attempt, container, ran_s, is_whole=True)
    for at_s in (6.0, 7.0):
        assert before(table, YOUNG, "tetris", at_s) == [OLD], "by age"
        assert before(table, OLD, "learnt-work", at_s) == [YOUNG], "by work"


def _ran(table, attempt, *lengths_s):
    """An attempt's containers ran so long, one after the other, and it leaves."""
    for number, ran_s in enumerate(lengths_s, start=1):
        container = ContainerId(attempt, number)
        table.begun(attempt, container, 0.0)
        table.ended(attempt, container, ran_s, is_whole=True)
    table.leave(attempt)


def test_it_is_learnt_how_much_containers_of_one_application_resemble_each_other():
    models = RecurringJobModels(DurationModel())
    table = WaitingTable(60.0, models, lambda _: "")
    attempts = [ApplicationAttemptId(ApplicationId(1, number), 1) for number in range(1, 41)]
    for attempt in attempts[:20]:
        _ran(table, attempt, 1.0, 64.0)
    learnt_of_unlike = models.resemblance.alike
    for number, attempt in enumerate(attempts[20:]):
        _ran(table, attempt, 4.0**number, 4.0**number)
    assert learnt_of_unlike < 0.3 < models.resemblance.alike


def test_where_containers_of_one_application_do_not_resemble_each_other_one_that_ended_tells_little():
    expected_s = {}
    for name, lengths_s in {"alike": (8.0, 8.0), "unlike": (1.0, 64.0)}.items():
        table = WaitingTable(60.0, RecurringJobModels(DurationModel()), lambda _: "")
        for number in range(2, 42):
            _ran(table, ApplicationAttemptId(ApplicationId(1, number), 1), *lengths_s)
        table.tell(OLD, waiting(9), 0.0)
        container = ContainerId(OLD, 1)
        table.begun(OLD, container, 0.0)
        table.ended(OLD, container, 1000.0, is_whole=True)
        expected_s[name] = table.estimate(OLD, "learnt-work", 1000.0).container_s
    assert expected_s["unlike"] < expected_s["alike"] / 4


# ---------------------------------------------------------------------- boundaries


@pytest.mark.parametrize(("at_s", "is_heard"), [(15.0, True), (15.1, False)])
def test_an_attempt_is_silent_after_fifteen_seconds_and_a_call_ends_that(at_s, is_heard):
    table = a_table(old=1)
    assert (OLD in table.in_order("fifo", at_s)) == is_heard
    table.heard(OLD, at_s)
    table.heard(YOUNG, at_s)
    assert table.in_order("fifo", at_s + 14.0) == [OLD]


@pytest.mark.parametrize(("waited_s", "is_first"), [(59.9, False), (60.0, True)])
def test_an_attempt_goes_first_as_soon_as_it_was_overtaken_for_so_long(waited_s, is_first):
    table = an_empty_table()
    table.tell(OLD, waiting(9, withheld=1), 100.0)
    table.tell(OLD, waiting(9, withheld=1), 100.0 + waited_s)
    table.tell(YOUNG, waiting(1), 100.0 + waited_s)
    assert (table.in_order("fewest-tasks", 100.0 + waited_s)[0] == OLD) == is_first
    assert table.is_overdue(OLD) == is_first
    assert not table.is_overdue(YOUNG)
    assert not table.is_overdue(MIDDLE)


def test_the_longest_overtaken_of_several_goes_first():
    table = an_empty_table()
    for attempt, since_s in ((YOUNG, 0.0), (OLD, 5.0)):
        table.tell(attempt, waiting(9, withheld=1), since_s)
    for attempt in (YOUNG, OLD, MIDDLE):
        table.tell(attempt, waiting(1, withheld=1), 70.0)
    assert table.in_order("fifo", 70.0) == [YOUNG, OLD, MIDDLE]


def test_an_attempt_whose_all_is_promised_is_overtaken_no_longer():
    table = an_empty_table()
    table.tell(OLD, waiting(2, withheld=2), 0.0)
    table.tell(OLD, waiting(1, withheld=0, key=OTHER_KEY), 10.0)
    table.tell(OLD, waiting(2, unpromised=0), 20.0)
    table.tell(OLD, waiting(1, key=OTHER_KEY), 70.0)
    table.in_order("fifo", 70.0)
    assert table.is_overdue(OLD), "the other kind is not promised"
    table.tell(OLD, waiting(1, unpromised=0, key=OTHER_KEY), 71.0)
    table.tell(OLD, waiting(1, key=OTHER_KEY), 72.0)
    table.in_order("fifo", 72.0)
    assert not table.is_overdue(OLD)


def test_what_is_granted_to_one_that_was_not_overtaken_changes_nothing():
    table = an_empty_table()
    table.tell(OLD, waiting(2), 0.0)
    table.granted(OLD, 1.0)
    table.granted(YOUNG, 1.0)
    table.tell(OLD, waiting(2), 62.0)
    table.in_order("fifo", 62.0)
    assert not table.is_overdue(OLD)


@pytest.mark.parametrize(
    ("first_s", "then_s", "is_new"),
    [(59.9, 60.1, False), (59.75, 60.0, True), (60.0, 59.9, True)],
    ids=["within", "after", "before"],
)
def test_an_order_holds_for_a_quarter_of_a_second(first_s, then_s, is_new):
    table = an_empty_table()
    table.tell(OLD, waiting(9, withheld=1), 0.0)
    table.tell(YOUNG, waiting(1), 0.0)
    for attempt in (OLD, YOUNG):
        table.heard(attempt, 55.0)
    before_then = table.in_order("fewest-tasks", first_s)
    assert before_then[0] == (OLD if first_s >= 60.0 else YOUNG)
    assert (table.in_order("fewest-tasks", then_s) != before_then) == is_new


def test_another_order_is_not_taken_for_the_one_before():
    table = a_table(old=5, young=1)
    assert table.in_order("fewest-tasks", 1.0) == [YOUNG, OLD]
    assert table.in_order("fifo", 1.0) == [OLD, YOUNG]


# ---------------------------------------------------------------------- rows


def columns(table, attempt):
    row = table.row_of(attempt)
    names = (Column.TASKS, Column.WAITING, Column.RUNNING, Column.STARTED_S, Column.FINISHED, Column.FINISHED_S)
    return tuple(table.jobs.get(name, row) for name in names)


def test_a_row_counts_what_is_wanted_held_promised_and_ended():
    table = an_empty_table()
    table.tell(OLD, waiting(5, unpromised=3, held=2), 10.0)
    assert columns(table, OLD) == (7, 3, 2, 20.0, 0, 0), "while nothing runs, what is promised counts as running"
    table.tell(OLD, waiting(1, key=OTHER_KEY), 11.0)
    assert columns(table, OLD) == (6, 4, 2, 22.0, 0, 0), "the newest word of what it has"
    table.begun(OLD, ContainerId(OLD, 2), 4.0)
    table.begun(OLD, ContainerId(OLD, 3), 6.0)
    assert columns(table, OLD) == (6, 4, 2, 10.0, 0, 0)
    table.ended(OLD, ContainerId(OLD, 2), 9.0, is_whole=True)
    assert columns(table, OLD) == (7, 4, 1, 6.0, 1, 5.0)
    table.ended(OLD, ContainerId(OLD, 3), 9.0, is_whole=False)
    assert columns(table, OLD) == (7, 4, 2, 22.0, 1, 5.0)
    table.tell(OLD, waiting(0), 12.0)
    table.tell(OLD, waiting(0, key=OTHER_KEY), 12.0)
    assert columns(table, OLD)[1] == 0
    assert table.in_order("fifo", 12.0) == []


def test_a_container_never_ran_for_less_than_nothing():
    table = a_table(old=1)
    table.begun(OLD, ContainerId(OLD, 2), 9.0)
    table.ended(OLD, ContainerId(OLD, 2), 8.0, is_whole=True)
    assert columns(table, OLD)[4:] == (1, 0.0)


def test_an_attempt_that_wants_nothing_and_has_nothing_is_not_known():
    table = an_empty_table()
    table.tell(OLD, waiting(0), 0.0)
    with pytest.raises(KeyError):
        table.row_of(OLD)
    table.begun(OLD, ContainerId(OLD, 2), 0.0)
    assert table.row_of(OLD) == 0
    assert table.in_order("fifo", 0.0) == []


def test_a_share_is_that_of_the_containers_whose_size_is_known():
    table = a_table(old=1, young=1)
    table.begun(OLD, ContainerId(OLD, 2), 1.0, ResourceVector(1024, 3))
    table.begun(OLD, ContainerId(OLD, 3), 2.0)
    table.note_shares(ResourceVector(4096, 4))
    assert [table.jobs.get(Column.SHARE, table.row_of(attempt)) for attempt in (OLD, YOUNG)] == [0.75, 0.0]
    assert list(table.containers()) == [(table.row_of(OLD), 1.0, ResourceVector(1024, 3), None)]


def test_another_share_makes_another_order_at_once():
    table = a_table(old=1, young=1)
    assert table.in_order("drf", 1.0) == [OLD, YOUNG]
    table.begun(OLD, ContainerId(OLD, 2), 1.0, ResourceVector(1024, 1))
    assert table.in_order("drf", 1.0) == [OLD, YOUNG], "no total is known"
    table.note_shares(ResourceVector(4096, 4))
    assert table.in_order("drf", 1.0) == [YOUNG, OLD]


# ---------------------------------------------------------------------- times, and what is left


def test_times_that_are_told_late_take_the_place_of_the_order_of_ids():
    times = {}
    table = WaitingTable(60.0, RecurringJobModels(DurationModel()), lambda _: "", times.get)
    for attempt in (YOUNG, OLD):
        table.tell(attempt, waiting(1), 0.0)
    assert table.in_order("fifo", 1.0) == [OLD, YOUNG], "by their ids"
    times[YOUNG.application], times[OLD.application] = JobTimes(5.0, 90.0), JobTimes(6.0)
    assert table.in_order("fifo", 2.0) == [YOUNG, OLD]
    rows = [table.row_of(attempt) for attempt in (YOUNG, OLD)]
    assert [table.jobs.get(Column.ARRIVED_S, row) for row in rows] == [5.0, 6.0]
    assert [table.jobs.get(Column.DEADLINE_S, row) for row in rows] == [90.0, 0.0]
    del times[YOUNG.application]
    table.in_order("fifo", 3.0)
    assert table.jobs.get(Column.ARRIVED_S, rows[0]) == 5.0, "known once for all"


def test_what_is_left_is_told_of_attempts_with_a_deadline_and_how_long_their_containers_run_of_all():
    times = {OLD.application: JobTimes(1.0, 100.0), YOUNG.application: JobTimes(2.0)}
    models = RecurringJobModels(DurationModel())
    table = WaitingTable(60.0, models, lambda application: f"key {application.sequence}", times.get)
    table.tell(OLD, waiting(3), 0.0)
    table.tell(YOUNG, waiting(3), 0.0)
    known = table.knowledge()
    assert (known.finished, known.forecasts) == ({table.row_of(OLD): (0,)}, {})
    assert table.work_left(OLD) is None
    ran(table, OLD, 4.0, 6.0)
    ran(table, YOUNG, 8.0)
    table.begun(OLD, ContainerId(OLD, 50), 0.0)
    known = table.knowledge()
    assert known.finished == {table.row_of(OLD): (2,)}
    (forecast,) = known.forecasts.values()
    assert (list(known.forecasts), forecast.stages) == ([table.row_of(OLD)], (FormerStage((5.0,), 2 + 4),))
    assert table.work_left(OLD) == WorkLeft(containers=4, container_s=5.0, running=1, runs=0)
    lengths_s = table.container_s()
    assert lengths_s.shape == (table.jobs.width,)
    assert [lengths_s[table.row_of(attempt)] for attempt in (OLD, YOUNG)] == [5.0, 8.0]
    assert lengths_s.sum() == 13.0


def test_an_attempt_that_leaves_is_the_former_run_of_the_next():
    models = RecurringJobModels(DurationModel())
    table = WaitingTable(60.0, models, lambda _: "job")
    ran(table, OLD, 4.0, 6.0)
    table.leave(OLD)
    assert models.former_run("job") == FormerRun(containers=2, container_s=5.0, runs=1)
    table.tell(YOUNG, waiting(1), 0.0)
    assert table.work_left(YOUNG) == WorkLeft(containers=2, container_s=5.0, running=0, runs=1)
    assert table.work_left(OLD) is None


@pytest.mark.parametrize(("at_s", "is_taken_up"), [(2.75, False), (3.0, True)])
def test_what_others_teach_is_taken_up_every_two_seconds(at_s, is_taken_up):
    table = a_table(old=3)
    ran(table, MIDDLE, 10.0)
    assert table.estimate(OLD, "learnt-work", 1.0).work_s == 30.0
    ran(table, YOUNG, 1000.0)
    assert table.estimate(OLD, "learnt-work", at_s).work_s == (1030.0 if is_taken_up else 30.0)


@pytest.mark.parametrize(("at_s", "is_overdue"), [(0.25, False), (0.5, True)])
def test_one_that_may_be_overtaken_for_less_than_a_second_is_overdue_after_that(at_s, is_overdue):
    table = WaitingTable(0.5, RecurringJobModels(DurationModel()), lambda _: "")
    table.tell(OLD, waiting(1, withheld=1), 0.0)
    table.in_order("fifo", at_s)
    assert table.is_overdue(OLD) is is_overdue
    assert not table.is_overdue(YOUNG), "not known"


EVENTS = {
    "its first begins": lambda table: table.begun(OLD, ContainerId(OLD, 70), -300.0),
    "one is promised": lambda table: table.tell(OLD, waiting(9, unpromised=8), 0.0),
    "all are promised": lambda table: table.tell(OLD, waiting(9, unpromised=0), 0.0),
    "none is promised": lambda table: table.tell(OLD, waiting(9), 0.0),
    "its first is cut short": lambda table: table.ended(OLD, ContainerId(OLD, 70), 0.0, is_whole=False),
    "its first ends": lambda table: table.ended(OLD, ContainerId(OLD, 70), 0.0, is_whole=True),
}


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("none is promised", "its first begins"),
        ("none is promised", "one is promised"),
        ("none is promised", "all are promised"),
        ("one is promised", "none is promised"),
        ("its first begins", "its first is cut short"),
        ("its first begins", "its first ends"),
    ],
)
def test_whether_something_runs_is_in_the_next_estimate_whoever_has_asked_before(first, last):
    found = []
    for asks_before in (False, True):
        table = a_table(old=9)
        ran(table, MIDDLE, 100.0, 10.0)
        EVENTS[first](table)
        if asks_before:
            table.estimate(OLD, "learnt-work", 1.0)
        EVENTS[last](table)
        found.append(table.estimate(OLD, "learnt-work", 1.0))
    assert found[0] == found[1]


ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
FIRST, SECOND = (ContainerId(ATTEMPT, number) for number in (2, 3))


def test_sums_follow_what_comes_and_goes():
    held = HeldContainers()
    held.put(FIRST, 10.0, ResourceVector(1024, 1))
    held.put(SECOND, 20.0, ResourceVector(2048, 2))
    assert (len(held), held.began_in_all_s, held.resource) == (2, 30.0, ResourceVector(3072, 3))
    assert held.pop(FIRST) == 10.0
    assert held.pop(FIRST) is None
    assert (len(held), held.began_in_all_s, held.resource) == (1, 20.0, ResourceVector(2048, 2))
    assert list(held.of_known_size()) == [(20.0, ResourceVector(2048, 2), None)]


def test_what_is_said_twice_counts_once_and_a_size_may_come_later():
    held = HeldContainers()
    held.put(FIRST, 10.0, None)
    assert list(held.of_known_size()) == []
    for since_s in (10.0, 8.0):
        held.put(FIRST, since_s, ResourceVector(1024, 1))
    assert (len(held), held.began_in_all_s, held.resource) == (1, 8.0, ResourceVector(1024, 1))
    held.pop(FIRST)
    assert (len(held), held.began_in_all_s, held.resource) == (0, 0.0, ResourceVector())


def test_the_node_of_each_is_told_and_only_those_with_tags_count_as_tagged():
    held, node = HeldContainers(), NodeId("east-1", 45454)
    tagged = TaggedSpot(node, PlacementConstraint(tags=frozenset({"hb"})))
    held.put(FIRST, 10.0, ResourceVector(1024, 1), TaggedSpot(node, PlacementConstraint()))
    held.put(SECOND, 20.0, ResourceVector(1024, 1), tagged)
    assert [spot for _, _, spot in held.of_known_size()] == [node, node]
    assert held.tagged() == (tagged,)
    held.pop(SECOND)
    assert held.tagged() == ()
