"""Tags that say what places and times are worth to an application.

Tags that say when an application should have ended.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.wishes import (
    DEADLINE_TAG,
    NO_WISHES,
    Deadline,
    GangShape,
    JobWishes,
    WorkLeft,
    deadline_of,
    job_times,
    wishes_of,
)
from shim.errors import BadRequestError
from shim.submission.core.own_tags import check_tags


def test_wishes_are_read_from_tags_among_others():
    tags = ["etl", "Heddle-Budget=3", "heddle-slowdown=1.5", "heddle-tolerance=10m", "heddle-penalty=0.5"]
    assert wishes_of([*tags, "heddle-shape=one-cluster"]) == JobWishes(3.0, 1.5, 600.0, 0.5, GangShape.ONE_CLUSTER)
    assert [wishes_of([f"heddle-altruism={told}"]).altruism for told in ("0", "0.25", "1")] == [0.0, 0.25, 1.0]
    assert wishes_of(["heddle-shape=SPREAD"]).shape is GangShape.SPREAD
    assert wishes_of(["etl", "heddle-deadline=+45m"]) is NO_WISHES


@pytest.mark.parametrize(
    "tag",
    [
        "heddle-budget=0",
        "heddle-budget=-1",
        "heddle-budget=nan",
        "heddle-budget=",
        "heddle-budget",
        "heddle-slowdown=0.5",
        "heddle-slowdown=1e9",
        "heddle-slowdown=9999999",
        "heddle-tolerance=10",
        "heddle-tolerance=99999999m",
        "heddle-penalty=much",
        "heddle-shape=round",
        "heddle-altruism=1.5",
        "heddle-altruism=-0",
    ],
)
def test_what_cannot_be_read_is_refused_at_the_door_and_nothing_elsewhere(tag):
    with pytest.raises(BadRequestError, match=r"cannot be read: write"):
        wishes_of([tag])
    with pytest.raises(BadRequestError):
        check_tags([tag])
    assert job_times(1.0, [tag, "heddle-deadline=+1m"]).wishes is NO_WISHES
    assert job_times(1.0, [tag, "heddle-deadline=+1m"]).deadline_s == 61.0


def test_an_application_has_one_of_each():
    with pytest.raises(BadRequestError, match="more than one tag heddle-budget"):
        wishes_of(["heddle-budget=1", "HEDDLE-BUDGET=2"])


NEW_YEAR_S = datetime(2027, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2027-01-01T00:00:00Z", Deadline(NEW_YEAR_S)),
        ("2027-01-01t00:00:00z", Deadline(NEW_YEAR_S)),  # as a ResourceManager keeps it
        ("2027-01-01T00:00Z", Deadline(NEW_YEAR_S)),
        ("+90s", Deadline(90.0, is_relative=True)),
        ("+45m", Deadline(2700.0, is_relative=True)),
        ("+2h", Deadline(7200.0, is_relative=True)),
        ("+366D", Deadline(366 * 86_400.0, is_relative=True)),
    ],
)
def test_what_a_deadline_is(text, found):
    assert deadline_of(["etl", f"{DEADLINE_TAG}={text}"]) == found
    assert deadline_of([f"{DEADLINE_TAG.upper()}={text}"]) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "tomorrow", "45m", "+0m", "+1.5h", "+-1h", "+367d", "+99999999s", "+1w", "+ 1h", "+\u06645m", "+45m\n"),
        *("2027-01-01", "2027-13-01T00:00Z", "2027-01-01T00:00:00+01:00", "2027-01-01T25:00Z", "2027-02-30T00:00Z"),
        *("0000-01-01T00:00Z", "\u0662027-01-01T00:00Z", "2027-01-01T00:00:00Z ", "1" * 5000),
    ],
)
def test_what_none_is_is_refused_and_shown_what_is(text):
    with pytest.raises(
        BadRequestError, match=r"no deadline: write heddle-deadline=2026-11-24T08:00:00Z, or .*=\+45m"
    ) as told:
        deadline_of([f"{DEADLINE_TAG}={text}"])
    assert len(str(told.value)) < 400


def test_two_are_refused_and_other_tags_are_none():
    with pytest.raises(BadRequestError, match="more than one tag"):
        deadline_of([f"{DEADLINE_TAG}=+1h", f"{DEADLINE_TAG}=+1h"])
    assert deadline_of(["heddle-deadlines=+1h", "deadline=+1h", "", "x=heddle-deadline=+1h"]) is None


@given(st.text(max_size=40))
def test_any_text_is_a_deadline_or_refused(text):
    try:
        found = deadline_of([f"{DEADLINE_TAG}={text}"])
    except BadRequestError:
        return
    assert found is not None
    assert found.at_s(100.0) == found.seconds + (100.0 if found.is_relative else 0.0)


def test_times_of_a_job_whose_tag_is_none_are_those_of_one_without():
    assert job_times(5.0, [f"{DEADLINE_TAG}=+10s"]).deadline_s == 15.0
    assert job_times(5.0, [f"{DEADLINE_TAG}=soon"]).deadline_s == 0.0
    assert job_times(5.0, []).deadline_s == 0.0


WORK = st.builds(
    WorkLeft,
    containers=st.integers(0, 10_000),
    container_s=st.floats(0.01, 1e5),
    running=st.integers(0, 100),
    runs=st.integers(0, 5),
)


@given(WORK, st.floats(-1e3, 1e7))
def test_the_least_allocation_is_enough_and_one_less_is_not(work: WorkLeft, within_s: float):
    found = work.least_allocation(within_s)
    if found is None:
        assert work.left_s(10**9) > within_s - 1e-3
    elif work.containers > 1:
        assert work.left_s(found) <= within_s * (1 + 1e-9)
        assert found == 1 or work.left_s(found - 1) > within_s * (1 - 1e-9)


def test_digits_of_the_least_allocation():
    assert WorkLeft(8, 10.0, 0, 1).least_allocation(40.0) == 3  # 10 + 80 / 3 s
    assert WorkLeft(8, 10.0, 0, 1).least_allocation(10.0) is None
    assert WorkLeft(1, 10.0, 0, 1).least_allocation(10.0) == 1
    assert WorkLeft(0, 10.0, 0, 1).least_allocation(0.0) == 0
