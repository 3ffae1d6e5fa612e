"""Tags that say what places and times are worth to an application."""

import pytest

from shim.domain.deadlines import job_times
from shim.domain.wishes import NO_WISHES, GangShape, JobWishes, wishes_of
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
