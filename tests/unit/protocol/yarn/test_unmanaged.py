"""Messages of an ApplicationMaster of Heddle's own: every field of what is sent, and what answers tell."""

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    FinishApplicationMasterResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    PriorityProto,
    ResourceProto,
    SubmitApplicationRequestProto,
    TokenProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import unmanaged

NAME = ApplicationId(7, 3)
ID = ApplicationIdProto(id=3, cluster_timestamp=7)


def test_a_submission_names_its_home_and_asks_for_no_container():
    sent = unmanaged.unmanaged_submission(NAME, home=SubClusterId("west"), queue="root.a", tag="t")
    assert SubmitApplicationRequestProto.FromString(sent) == SubmitApplicationRequestProto(
        application_submission_context=ApplicationSubmissionContextProto(
            application_id=ID,
            application_name="application_7_0003 of west",
            queue="root.a",
            priority=PriorityProto(priority=0),
            am_container_spec=ContainerLaunchContextProto(),
            unmanaged_am=True,
            maxAppAttempts=1,
            resource=ResourceProto(memory=1, virtual_cores=1),
            keep_containers_across_application_attempts=True,
            applicationType="HEDDLE",
            applicationTags=["t"],
        )
    )


def test_a_report_and_a_kill_are_asked_for_by_id():
    asked = GetApplicationReportRequestProto.FromString(unmanaged.report_message(NAME))
    assert asked == GetApplicationReportRequestProto(application_id=ID)
    killed = KillApplicationRequestProto.FromString(unmanaged.kill_message(NAME, "why"))
    assert killed == KillApplicationRequestProto(application_id=ID, diagnostics="why")


TOKEN = TokenProto(identifier=b"who", password=b"secret", kind="k", service="s")


@pytest.mark.parametrize("state", YarnApplicationStateProto.values())
@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (None, b""),
        (TokenProto(identifier=b"", password=b"x", kind="k", service="s"), b""),
        (TOKEN, TOKEN.SerializeToString()),
    ],
)
def test_a_report_tells_the_end_the_token_and_the_words(state, token, shown):
    report = ApplicationReportProto(yarn_application_state=state, diagnostics="words", am_rm_token=token)
    answer = GetApplicationReportResponseProto(application_report=report).SerializeToString()
    has_ended = YarnApplicationStateProto.Name(state) in {"FINISHED", "FAILED", "KILLED"}
    assert unmanaged.read_report(answer) == (has_ended, shown, "words")


@pytest.mark.parametrize("is_so", [True, False])
def test_whether_it_is_killed_and_finished_is_what_the_answer_says(is_so):
    assert unmanaged.is_killed(KillApplicationResponseProto(is_kill_completed=is_so).SerializeToString()) is is_so
    assert (
        unmanaged.is_finished(FinishApplicationMasterResponseProto(isUnregistered=is_so).SerializeToString()) is is_so
    )


def test_a_token_has_two_parts():
    assert unmanaged.token_parts(TOKEN.SerializeToString()) == (b"who", b"secret")


@pytest.mark.parametrize(
    "read", [unmanaged.read_report, unmanaged.token_parts, unmanaged.is_killed, unmanaged.is_finished]
)
def test_what_is_no_message_is_refused(read):
    with pytest.raises(RemoteProtocolError):
        read(b"\xff\xff")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Invalid: expect responseId to be 7 but get 9", 7),
        ("expect responseId to be 12 but get -1, and more", 12),
        ("expect responseId to be  but get 9", None),
        ("another trouble", None),
        ("", None),
    ],
)
def test_the_expected_answer_is_read_from_the_trouble(message, expected):
    assert unmanaged.expected_id(message) == expected
