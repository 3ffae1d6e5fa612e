"""What applications that are alike have taught."""

from dataclasses import replace

import numpy as np
import pytest

from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.kinship import Kinship, kin_of
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
    assert (kin_of(replace(SUMMARY, **one)) == kin_of(replace(SUMMARY, **other))) == is_alike


def test_a_kin_is_known_by_a_few_runs_and_begins_from_its_queue():
    kinship = Kinship(DurationModel())
    for _ in range(50):
        kinship.observe("long", 1000.0)
    assert kinship.model("short") is kinship.queue
    assert expected(kinship.queue) == pytest.approx(1000.0, rel=0.1)
    kinship.observe("short", 10.0)
    once = expected(kinship.model("short"))
    for _ in range(4):
        kinship.observe("short", 10.0)
    assert 100.0 < expected(kinship.model("short")) < once < 1000.0, "the queue weighs as much as one of five"
    assert (kinship.observed("short"), kinship.observed("long"), kinship.observed("")) == (5, 50, 0)


def test_a_queue_begins_from_all_others():
    everything = DurationModel()
    one, other = Kinship(everything), Kinship(everything)
    one.observe("", 100.0)
    assert expected(other.queue) == pytest.approx(expected(everything), rel=1e-6)
    assert (one.queue.observed, other.queue.observed, other.observed_in_all) == (1, 0, 1)


def test_only_so_many_kin_are_kept():
    kinship = Kinship(DurationModel())
    for number in range(1100):
        kinship.observe(f"kin {number}", 1.0)
    assert kinship.observed("kin 0") == 0
    assert kinship.observed("kin 1099") == 1
