"""Who of a queue's applications goes first with containers."""

from dataclasses import replace

import pytest

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.launches import Waiting
from shim.domain.resources import ResourceVector
from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.recurring_jobs import RecurringJobModels
from shim.scheduling.global_master.waiting_table import WaitingTable

KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
OTHER_KEY = replace(KEY, priority=10)
OLD, MIDDLE, YOUNG = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))


def waiting(count, **more):
    return Waiting(**({"wanted": count, "unpromised": count} | more))


def an_empty_table(recurring_key=lambda _: ""):
    return WaitingTable(60.0, RecurringJobModels(DurationModel()), recurring_key)


def a_table(**counts):
    """A table in which the three want so many, told youngest first."""
    table = an_empty_table()
    for attempt, name in ((YOUNG, "young"), (MIDDLE, "middle"), (OLD, "old")):
        if name in counts:
            table.tell(attempt, KEY, waiting(counts[name]), 0.0)
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
    table.tell(OLD, KEY, waiting(1, held=5), 0.0)
    assert before(table, YOUNG) == []
    assert before(table, OLD) == [YOUNG]
    table.tell(OLD, OTHER_KEY, waiting(1, held=5), 0.0)
    table.tell(OLD, OTHER_KEY, Waiting(), 0.0)
    assert before(table, YOUNG) == [], "it still holds five"


def test_an_attempt_that_is_silent_or_has_left_holds_nobody_up():
    table = a_table(old=1, young=9)
    assert before(table, YOUNG, at_s=14.0)
    assert not before(table, YOUNG, at_s=16.0)
    table.tell(OLD, KEY, waiting(1), 16.0)
    assert before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    assert not before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    table.tell(OLD, KEY, Waiting(), 17.0)
    assert not before(table, YOUNG, at_s=17.0)


def test_who_was_overtaken_for_too_long_goes_first_until_it_is_granted_something():
    table = an_empty_table()
    for at_s in (0.0, 50.0, 59.0, 61.0):
        table.tell(OLD, KEY, waiting(9, withheld=9 if at_s < 60.0 else 0), at_s)
        table.tell(YOUNG, KEY, waiting(1), at_s)
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
    table.tell(YOUNG, KEY, waiting(40), 1.0)
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
    table.tell(YOUNG, KEY, waiting(9, unpromised=8), 1.0)
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
    table.tell(YOUNG, KEY, waiting(3), 0.0)
    table.tell(again, KEY, waiting(3), 0.0)
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
        table.tell(OLD, KEY, waiting(9), 0.0)
        container = ContainerId(OLD, 1)
        table.begun(OLD, container, 0.0)
        table.ended(OLD, container, 1000.0, is_whole=True)
        expected_s[name] = table.estimate(OLD, "learnt-work", 1000.0).container_s
    assert expected_s["unlike"] < expected_s["alike"] / 4
