"""Tags that say how many containers must be had together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.gangs import GANG_TAG, Gang, gang_asked_by, gang_of
from shim.errors import BadRequestError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20", Gang(20, 120.0)),
        ("20@5m", Gang(20, 300.0)),
        ("2@30s", Gang(2, 30.0)),
        ("100000@8M", Gang(100_000, 480.0)),
    ],
)
def test_what_a_gang_is(text, found):
    assert gang_of(["etl", f"{GANG_TAG}={text}"]) == found
    assert gang_of([f"{GANG_TAG.upper()}={text}"]) == found


@pytest.mark.parametrize(
    "text",
    ["", "0", "1", "-3", "100001", "9999999", "20@", "20@5", "20@5h", "20@0s", "20@9m", "20@481s", "20 ", "٣", "2٣@5m"],
)
def test_what_none_is_is_refused_and_shown_what_is(text):
    with pytest.raises(BadRequestError, match="no gang: write heddle-gang=20 for 20 containers") as told:
        gang_of([f"{GANG_TAG}={text}"])
    assert len(str(told.value)) < 400
    assert gang_asked_by([f"{GANG_TAG}={text}"]) is None, "it may not have come through Heddle"


def test_two_are_refused_and_other_tags_are_none():
    with pytest.raises(BadRequestError, match="more than one tag"):
        gang_of([f"{GANG_TAG}=3", f"{GANG_TAG}=3"])
    assert gang_of(["heddle-gangs=3", "gang=3", "", "x=heddle-gang=3"]) is None


@given(st.text(max_size=40))
def test_any_text_is_a_gang_that_can_be_held_or_refused(text):
    found = gang_asked_by([f"{GANG_TAG}={text}"])
    assert found is None or (found.count >= 2 and 0 < found.limit_s < 600)
