"""Domain values with defaults: a test names only what it is about."""

import hashlib
import json
from dataclasses import replace
from typing import Any

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Candidate, HomeDecision, Submission, SubmissionRecord, SubmissionState

FEDERATION_TIMESTAMP_MS = 1_700_000_000_000

_EAST = SubClusterId("east")
_SUBMISSION = Submission(
    application_id=ApplicationId(FEDERATION_TIMESTAMP_MS, 1),
    user="alice",
    name="job",
    queue="root.default",
    resource=ResourceVector(1024, 1, {"yarn.io/gpu": 2}),
    label="",
    is_unmanaged=False,
    body=b"",
    content_type="application/json",
)


def a_submission(sequence: int = 1, **changes: Any) -> Submission:
    """A submission of alice with number `sequence` of the federation; its body names its id."""
    application_id = ApplicationId(FEDERATION_TIMESTAMP_MS, sequence)
    values: dict[str, Any] = {"application_id": application_id}
    submission = replace(_SUBMISSION, **(values | changes))
    if "body" in changes:
        return submission
    context = {
        "application-id": str(application_id),
        "application-name": submission.name,
        "application-type": submission.application_type,
        "application-tags": {"tag": list(submission.tags)},
    }
    return replace(submission, body=json.dumps(context, separators=(",", ":")).encode())


def a_record(
    sequence: int = 1,
    *,
    home: str = "east",
    started_on_ms: int = 1000,
    state: SubmissionState = SubmissionState.INTENDED,
    intended_at_ms: int = 5000,
    **changes: Any,
) -> SubmissionRecord:
    """The record of `a_submission(sequence, **changes)` with an intent for `home`."""
    submission = a_submission(sequence, **changes)
    candidate = Candidate(_EAST, 0.5, "free share 0.5", 0.25)
    return SubmissionRecord(
        submission=submission,
        content_hash=hashlib.sha256(submission.body).digest(),
        home_subcluster=SubClusterId(home),
        home_started_on_ms=started_on_ms,
        state=state,
        intended_at_ms=intended_at_ms,
        decision=HomeDecision(SubClusterId(home), "most free", (candidate,)),
    )
