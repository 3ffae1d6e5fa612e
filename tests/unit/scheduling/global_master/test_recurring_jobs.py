"""What applications that are alike have taught."""

from dataclasses import replace

import numpy as np
import pytest

from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.recurring_jobs import RecurringJobModels, recurring_key
from shim.testing.reports import a_document

SUMMARY = a_document(1, "east").summary
NOBODY = np.zeros(1)


def expected(model):
    return model.expected(NOBODY, NOBODY, NOBODY, NOBODY)[0]


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ({"name": "load 2026-11-21"}, {"name": "load 2026-11-22"}, True),
        ({"name": "load"}, {"name": "sort"}, False),
        ({"user": "ada"}, {"user": "bob"}, False),
        ({"application_type": "SPARK"}, {"application_type": "TEZ"}, False),
    ],
)
def test_applications_are_alike_by_user_type_and_name_without_numbers(one, other, is_alike):
    assert (recurring_key(replace(SUMMARY, **one)) == recurring_key(replace(SUMMARY, **other))) == is_alike


def test_a_job_key_is_known_by_a_few_runs_and_begins_from_its_queue():
    recurring_jobs = RecurringJobModels(DurationModel())
    for _ in range(50):
        recurring_jobs.observe("long", 1000.0)
    assert recurring_jobs.model("short") is recurring_jobs.queue
    assert expected(recurring_jobs.queue) == pytest.approx(1000.0, rel=0.1)
    recurring_jobs.observe("short", 10.0)
    once = expected(recurring_jobs.model("short"))
    for _ in range(4):
        recurring_jobs.observe("short", 10.0)
    assert 100.0 < expected(recurring_jobs.model("short")) < once < 1000.0, "the queue weighs as much as one of five"
    assert (recurring_jobs.observed("short"), recurring_jobs.observed("long"), recurring_jobs.observed("")) == (
        5,
        50,
        0,
    )


def test_a_queue_begins_from_all_others():
    everything = DurationModel()
    one, other = RecurringJobModels(everything), RecurringJobModels(everything)
    one.observe("", 100.0)
    assert expected(other.queue) == pytest.approx(expected(everything), rel=1e-6)
    assert (one.queue.observed, other.queue.observed, other.observed_in_all) == (1, 0, 1)


def test_only_so_many_job_key_are_kept():
    recurring_jobs = RecurringJobModels(DurationModel())
    for number in range(1100):
        recurring_jobs.observe(f"kin {number}", 1.0)
    assert recurring_jobs.observed("kin 0") == 0
    assert recurring_jobs.observed("kin 1099") == 1
