"""Whether a submission repeats what is in the store, also what an earlier Heddle has written there."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.submissions import Submission, SubmissionRecord, SubmissionState
from shim.errors import ConflictError
from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.rest.submission_context import decode_submission, with_queue
from shim.protocol.yarn import submissions as rpc
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.submission.entrance import Accepted
from shim.submission.known_applications import CONTENT_VERSION, content_hash, is_same_content
from tests.doubles.builders import a_record
from tests.doubles.federation import ScriptedFederation

CONTEXT: dict[str, Any] = {
    "application-id": "application_1700000000000_0001",
    "application-name": "n \N{SNOWMAN}",
    "queue": "root.q",
    "priority": "3",
    "resource": {"memory": 256, "vCores": 1},
    "am-container-spec": {"commands": {"command": "sleep 1"}, "environment": {"entry": [{"key": "A", "value": "b"}]}},
    "application-tags": {"tag": ["One", "two"]},
}
XML = (
    b"<application-submission-context><application-id>application_1700000000000_0001</application-id>"
    b"<application-name>n</application-name><queue>root.q</queue></application-submission-context>"
)


def submitted(body: bytes, media_type: str = "application/json") -> Submission:
    return decode_submission(body, media_type=media_type, user="alice")


def over_rpc(name: str = "n", queue: str = "root.q") -> Submission:
    request = SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.id, context.application_id.cluster_timestamp = 1, 1_700_000_000_000
    context.application_name, context.queue = name, queue
    return rpc.decode_submission(request, request.SerializeToString(), user="alice")


def of_version_1(submission: Submission) -> bytes:
    return hashlib.sha256(submission.content_type.encode() + b"\0" + submission.body).digest()


def record_of(submission: Submission, digest: bytes) -> SubmissionRecord:
    return replace(a_record(), submission=submission, content_hash=digest)


def written_otherwise(submission: Submission) -> Submission:
    """As an earlier Heddle may have written it: other blanks, escapes and order."""
    if submission.content_type == "application/json":
        turned = dict(reversed(list(json.loads(submission.body).items())))
        return replace(submission, body=json.dumps({**turned, "no-such": None}, indent=1).encode())
    if submission.content_type == RPC_SUBMISSION:
        # a field twice: the last counts
        return replace(submission, body=over_rpc("before").body + submission.body)
    return replace(submission, body=submission.body.replace(b"><", b">\n <"))


ALL = [submitted(json.dumps(CONTEXT).encode()), submitted(XML, "application/xml"), over_rpc()]
EACH = pytest.mark.parametrize("submission", ALL, ids=lambda each: each.content_type)


@EACH
def test_what_is_equal_is_the_same(submission: Submission) -> None:
    assert is_same_content(record_of(submission, content_hash(submission)), submission, content_hash(submission))


@EACH
def test_what_was_written_otherwise_before_an_upgrade_is_the_same(submission: Submission) -> None:
    old = written_otherwise(submission)
    assert old.body != submission.body
    for digest in (of_version_1(old), bytes([CONTENT_VERSION - 1]) + of_version_1(old)):
        assert is_same_content(record_of(old, digest), submission, content_hash(submission))


@EACH
def test_a_queue_that_was_mapped_is_no_difference(submission: Submission) -> None:
    if submission.content_type == RPC_SUBMISSION:
        body = rpc.with_queue(submission.body, "root.elsewhere")
    else:
        body = with_queue(submission.body, media_type=submission.content_type, queue="root.elsewhere")
    old = replace(submission, queue="root.elsewhere", body=body)
    assert is_same_content(record_of(old, of_version_1(submission)), submission, content_hash(submission))


def test_what_means_something_else_is_another() -> None:
    wanted = submitted(json.dumps(CONTEXT).encode())
    for changed in (
        {"am-container-spec": {"commands": {"command": "sleep 2"}}},
        {"priority": "4"},
        {"am-container-spec": {**CONTEXT["am-container-spec"], "environment": {"entry": []}}},
    ):
        old = written_otherwise(submitted(json.dumps({**CONTEXT, **changed}).encode()))
        assert not is_same_content(record_of(old, of_version_1(old)), wanted, content_hash(wanted))
    assert not is_same_content(
        record_of(over_rpc("m"), of_version_1(over_rpc("m"))), over_rpc(), content_hash(over_rpc())
    )


def test_what_was_written_by_the_same_rules_is_compared_by_its_digest_alone() -> None:
    wanted = submitted(json.dumps(CONTEXT).encode())
    other = bytes([CONTENT_VERSION]) + bytes(32)
    assert not is_same_content(record_of(wanted, other), wanted, content_hash(wanted))


@EACH
def test_where_the_old_context_is_gone_what_the_record_tells_is_compared(submission: Submission) -> None:
    gone = replace(submission, body=b"", queue="root.elsewhere")
    record = record_of(gone, of_version_1(submission))
    assert is_same_content(record, submission, content_hash(submission))
    changes: dict[str, Any] = {"name": "other", "tags": ("x",), "label": "gpu", "application_type": "TEZ"}
    for name, value in changes.items():
        told = replace(record, submission=replace(gone, **{name: value}))
        assert not is_same_content(told, submission, content_hash(submission)), name


def test_another_representation_is_another() -> None:
    xml, json_ = submitted(XML, "application/xml"), submitted(json.dumps(CONTEXT).encode())
    assert not is_same_content(record_of(xml, of_version_1(xml)), json_, content_hash(json_))


@pytest.mark.parametrize("body", [b"\xff\xff", b"{", b"<", b"[]"])
@pytest.mark.parametrize("media_type", ["application/json", "application/xml", RPC_SUBMISSION])
def test_what_cannot_be_read_any_more_is_another(body: bytes, media_type: str) -> None:
    wanted = replace(ALL[0], content_type=media_type, body=over_rpc().body if media_type == RPC_SUBMISSION else XML)
    if media_type == "application/json":
        wanted = ALL[0]
    old = replace(wanted, body=body)
    assert not is_same_content(record_of(old, of_version_1(old)), wanted, content_hash(wanted))


@given(st.permutations(list(CONTEXT)), st.integers(0, 4))
def test_order_and_blanks_are_no_difference(names: list[str], indent: int) -> None:
    old = replace(ALL[0], body=json.dumps({name: CONTEXT[name] for name in names}, indent=indent).encode())
    assert is_same_content(record_of(old, of_version_1(old)), ALL[0], content_hash(ALL[0]))


@pytest.mark.parametrize("state", [SubmissionState.INTENDED, SubmissionState.SUBMITTED])
async def test_a_retry_over_an_upgrade_is_a_repetition(state: SubmissionState) -> None:
    federation = ScriptedFederation()
    submission = submitted(json.dumps(CONTEXT).encode())
    old = written_otherwise(submission)
    await federation.store.insert_intent(record_of(old, of_version_1(old)))
    if state is SubmissionState.SUBMITTED:
        await federation.store.settle(old.application_id, state)
    heddle = await federation.start()
    assert isinstance(await federation.wait_for(heddle.submissions.submit(submission)), Accepted)
    changed = submitted(json.dumps({**CONTEXT, "priority": "9"}).encode())
    with pytest.raises(ConflictError, match="another content"):
        await federation.wait_for(heddle.submissions.submit(changed))


PINNED = {
    "application/json": "02901a13a00bf4415b",
    "application/xml": "0218974b1079432ceb",
    RPC_SUBMISSION: "0220f8499f2066eb4e",
}


@EACH
def test_the_writing_is_that_of_its_version(submission: Submission) -> None:
    """Where this fails, contexts are written otherwise than before: raise CONTENT_VERSION, and pin the new digests."""
    assert content_hash(submission).hex()[:18] == PINNED[submission.content_type]
