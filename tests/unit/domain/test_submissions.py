"""What proves that a cluster has another application under an id, and what does not."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.domain.submissions import DISPUTED, differences, disputed_reason
from tests.doubles.builders import a_submission

SUBMITTED = a_submission(name="etl", application_type="SPARK", tags=("a", "b"), queue="root.prod")
SEEN = ApplicationSummary(
    application_id=SUBMITTED.application_id,
    home_subcluster=SubClusterId("east"),
    user="alice",
    name="etl",
    queue="root.prod",
    state=YarnApplicationState.RUNNING,
    final_status=FinalStatus.UNDEFINED,
    application_type="SPARK",
    tags=("b", "a"),
)


def test_the_same_application_has_no_differences() -> None:
    assert differences(SUBMITTED, SEEN, with_queue=True) == ()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"user": "bob"}, "user 'bob' instead of 'alice'"),
        ({"name": "other"}, "name 'other' instead of 'etl'"),
        ({"application_type": "TEZ"}, "type 'TEZ' instead of 'SPARK'"),
        ({"tags": ("a",)}, "tags 'a' instead of 'a,b'"),
    ],
)
def test_what_never_changes_is_proof(changed: dict[str, Any], told: str) -> None:
    seen = replace(SEEN, **changed)
    assert differences(SUBMITTED, seen) == (told,)
    assert disputed_reason(seen, (told,)).startswith(DISPUTED)


def test_a_queue_is_no_proof_of_what_was_acknowledged_since_applications_are_moved() -> None:
    moved = replace(SEEN, queue="root.test")
    assert differences(SUBMITTED, moved) == ()
    assert differences(SUBMITTED, moved, with_queue=True) == ("queue 'test' instead of 'prod'",)


@pytest.mark.parametrize("queue", ["", "default", "root.default"])
def test_a_queue_that_was_left_to_the_cluster_is_no_proof(queue: str) -> None:
    assert differences(replace(SUBMITTED, queue=queue), SEEN, with_queue=True) == ()


@pytest.mark.parametrize("name", ["", "Ünïcode", "two\nlines", "nul\0"])
def test_a_name_that_may_not_arrive_unchanged_is_no_proof(name: str) -> None:
    assert differences(replace(SUBMITTED, name=name), SEEN) == ()


def test_a_type_and_tags_that_a_record_does_not_hold_are_no_proof() -> None:
    of_an_older_heddle = replace(SUBMITTED, application_type="YARN", tags=())
    assert differences(of_an_older_heddle, SEEN) == ()


def test_the_deadline_that_heddle_adds_for_a_reservation_is_no_proof() -> None:
    tagged = replace(SEEN, tags=("b", "heddle-deadline=2030-03-17t17:46:40z", "a"))
    assert differences(SUBMITTED, tagged) == ()
    asked = replace(SUBMITTED, tags=("a", "b", "heddle-deadline=+5m"))
    assert differences(asked, tagged) != ()


def test_letters_of_tags_do_not_matter() -> None:
    assert differences(replace(SUBMITTED, tags=("A", "b")), SEEN) == ()


def test_a_type_is_compared_as_far_as_a_resource_manager_keeps_it() -> None:
    long = "x" * 30
    seen = replace(SEEN, application_type=long[:20])
    assert differences(replace(SUBMITTED, application_type=long), seen) == ()
