"""What a home's answer to a submission means, and when its word on an id counts."""

import json
from typing import Any

import pytest

from shim.domain.ids import ApplicationId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, StandbyError
from shim.federation.home_questions import Uncertain
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.submission.delivery import NotSent, Refused, Taken, deliver
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager

AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


class Answers:
    """Answers submissions with a status and body, or raises; healthy otherwise."""

    def __init__(self, outcome: RestAnswer | Exception) -> None:
        self._outcome = outcome

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if request.method != "POST":
            return manager.take(request)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def exception_body(status: int) -> RestAnswer:
    body = {"RemoteException": {"exception": "X", "message": "no", "javaClassName": "y.X"}}
    return RestAnswer(status, (), json.dumps(body).encode())


MEANINGS: tuple[tuple[RestAnswer | Exception, type], ...] = (
    (RestAnswer(202, (), b""), Taken),
    (RestAnswer(200, (), b""), Taken),
    *((exception_body(status), Refused) for status in (400, 401, 403, 404, 405, 415, 500, 503)),
    *(
        (RestAnswer(status, (), b"<html>a proxy says so</html>"), Uncertain)
        for status in (302, 404, 408, 429, 500, 502)
    ),
    (RestAnswer(403, (), b"App submission is not allowed"), Refused),
    (NeverReachedError("east", "refused"), NotSent),
    (StandbyError("east", "standby"), NotSent),
    (NoAnswerError("east", "time ran out"), Uncertain),
    (MalformedAnswerError("east", "cut"), Uncertain),
)


@pytest.fixture
def manager() -> ScriptedResourceManager:
    return ScriptedResourceManager("east", clock=FakeClock())


@pytest.mark.parametrize(("outcome", "meaning"), MEANINGS, ids=lambda value: repr(value)[:40])
async def test_what_an_answer_means(
    manager: ScriptedResourceManager, outcome: RestAnswer | Exception, meaning: type
) -> None:
    manager.behave(Answers(outcome))
    assert type(await deliver(manager, a_submission(), timeout_s=1.0)) is meaning


async def test_a_failure_of_the_home_with_the_application_there_is_an_acknowledgement(
    manager: ScriptedResourceManager,
) -> None:
    manager.behave(Answers(exception_body(503)))
    manager.add_application(AN_ID)
    assert isinstance(await deliver(manager, a_submission(), timeout_s=1.0), Taken)


@pytest.mark.parametrize(
    ("asked", "there", "meaning"),
    [
        ({}, {"user": "bob"}, Refused),
        ({}, {"name": "other"}, Refused),
        ({"application_type": "SPARK"}, {"applicationType": "SPARK"}, Taken),
        ({"application_type": "SPARK"}, {}, Refused),
        ({}, {"applicationType": "SPARK"}, Taken),
        ({"tags": ("a",)}, {"applicationTags": "a"}, Taken),
        ({"tags": ("a",)}, {}, Refused),
        ({}, {"applicationTags": "a"}, Taken),
        ({"name": "größer"}, {"name": "gr??er"}, Taken),
        ({}, {"name": "größer"}, Refused),
        ({}, {"queue": "root.elsewhere"}, Taken),
    ],
)
async def test_after_a_failure_only_what_was_submitted_can_prove_that_the_id_is_anothers(
    manager: ScriptedResourceManager, asked: dict[str, Any], there: dict[str, Any], meaning: type
) -> None:
    """What the submission leaves to its default, or what may have changed on its way, is no proof."""
    manager.behave(Answers(exception_body(503)))
    manager.add_application(AN_ID, **there)
    assert type(await deliver(manager, a_submission(**asked), timeout_s=1.0)) is meaning
