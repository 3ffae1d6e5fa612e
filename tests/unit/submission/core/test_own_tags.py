"""What the tags of a submission say, and which are refused."""

import pytest

from shim.domain.applications import SPAN_TAG
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.submission.core.own_tags import check_tags, containers_up_to

UP_TO = "heddle-containers-up-to="


@pytest.mark.parametrize(
    ("tags", "most"),
    [
        ([], ResourceVector()),
        (["x", "containers-up-to=7", "heddle-containers-up-to"], ResourceVector()),
        ([f"{UP_TO}4096"], ResourceVector(4096, 0)),
        ([f"{UP_TO}memory-mb:4096", f"{UP_TO}vcores:4"], ResourceVector(4096, 4)),
        ([f"{UP_TO.upper()}MEMORY-MB:7"], ResourceVector(7, 0)),
        ([f"{UP_TO}yarn.io/gpu:1"], ResourceVector(0, 0, {"yarn.io/gpu": 1})),
        ([f"{UP_TO}Yarn.IO/GPU:1", f"{UP_TO}yarn.io/gpu:3"], ResourceVector(0, 0, {"yarn.io/gpu": 3})),
        ([f"{UP_TO}9", f"{UP_TO}7", "y", f"{UP_TO}:8"], ResourceVector(9, 0)),
        ([f"{UP_TO}a:b:2"], ResourceVector(0, 0, {"a:b": 2})),
        ([f"{UP_TO}0"], ResourceVector(0, 0)),
        ([f"{UP_TO}{'9' * 11}"], ResourceVector(99_999_999_999, 0)),
    ],
)
def test_the_largest_containers_are_those_of_the_tags_type_by_type(tags, most):
    assert containers_up_to(tags) == most
    check_tags(tags)


@pytest.mark.parametrize("text", ["", "x", "4096m", "-1", "1.5", "vcores:", "vcores:x", "9" * 12, "\u0661", "4 ", " 4"])
def test_what_is_no_size_is_refused_with_its_beginning(text):
    tag = f"{UP_TO}{text}{'z' * 99 if not text else ''}"
    for check in (containers_up_to, check_tags):
        with pytest.raises(BadRequestError) as caught:
            check(["x", tag])
        assert str(caught.value) == (
            f"the tag {tag[: len(UP_TO) + 40]} is no size: write MiB, as {UP_TO}4096, or another resource type "
            f"with its amount, as {UP_TO}yarn.io/gpu:1"
        )


@pytest.mark.parametrize("tag", [SPAN_TAG, SPAN_TAG.upper(), "heddle-deadline=x", "heddle-gang=x"])
def test_tags_that_nobody_may_use_or_that_say_nothing_are_refused(tag):
    check_tags(["x"])
    with pytest.raises(BadRequestError):
        check_tags(["x", tag])
