"""Ids, resources, submissions and reports between messages and values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument
from shim.errors import BadRequestError, RemoteProtocolError
from shim.protocol.hrpc.framing import delimited
from shim.protocol.proto.messages import (
    AMRMTokenIdentifierProto,
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ApplicationSubmissionContextProto,
    ContainerIdProto,
    GetApplicationsRequestProto,
    GetNewApplicationResponseProto,
    ReservationIdProto,
    ResourceProto,
    ResourceRequestProto,
    SubmitApplicationRequestProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import (
    RPC_SUBMISSION,
    application_message,
    application_of,
    attempt_of,
    attempt_of_token,
    container_of,
    decode_submission,
    filter_of,
    issued_id,
    report_of,
    reservation_of,
    resource_message,
    resource_of,
)
from shim.protocol.yarn.wire import entries_in

APP = ApplicationId(1_700_000_000_000, 7)


def a_document(application_id, *, raw=b"{}", **fields):
    told = {
        "user": "alice",
        "name": "pi",
        "queue": "root.default",
        "state": YarnApplicationState.RUNNING,
        "final_status": FinalStatus.UNDEFINED,
        "application_type": "MAPREDUCE",
    }
    summary = ApplicationSummary(application_id, SubClusterId("east"), **(told | fields))
    return ApplicationDocument(summary, raw, 0.0)


def test_ids_come_back_as_they_went():
    attempt = ApplicationAttemptIdProto(application_id=application_message(APP), attemptId=2)

    assert application_of(application_message(APP)) == APP
    assert attempt_of(attempt) == ApplicationAttemptId(APP, 2)
    assert container_of(ContainerIdProto(app_attempt_id=attempt, id=0xC80000000001)) == ContainerId(
        ApplicationAttemptId(APP, 2), 0xC80000000001
    )
    assert reservation_of(ReservationIdProto(id=5, cluster_timestamp=9)) == "reservation_9_0005"


def test_resources_come_back_as_they_went_with_their_other_types():
    resource = ResourceVector(4096, 4, {"yarn.io/gpu": 2})

    assert resource_of(resource_message(resource)) == resource
    assert resource_message(resource).resource_value_map[0].units == "Mi"


def test_a_negative_amount_asks_for_nothing():
    assert resource_of(ResourceProto(memory=-1, virtual_cores=-5)) == ResourceVector(0, 0)


def a_context(**fields):
    return SubmitApplicationRequestProto(
        application_submission_context=ApplicationSubmissionContextProto(
            application_id=application_message(APP), **fields
        )
    )


def decode(request):
    return decode_submission(request, request.SerializeToString(), user="alice")


def test_the_bytes_of_a_submission_travel_and_the_fields_that_decide_are_read():
    request = a_context(
        application_name="pi",
        queue="prod",
        unmanaged_am=True,
        resource=ResourceProto(memory=512, virtual_cores=1),
        node_label_expression="gpu",
        applicationType="MAPREDUCE-of-more-than-20-letters",
        applicationTags=["B", "a", "b"],
    )

    submission = decode(request)

    assert submission.body == request.SerializeToString()
    assert submission.content_type == RPC_SUBMISSION
    assert (submission.application_id, submission.user, submission.name) == (APP, "alice", "pi")
    assert (submission.queue, submission.label, submission.is_unmanaged) == ("prod", "gpu", True)
    assert submission.resource == ResourceVector(512, 1)
    assert (submission.application_type, submission.tags) == ("MAPREDUCE-of-more-th", ("a", "b"))


def test_the_request_for_the_masters_container_goes_before_the_old_fields():
    anywhere = ResourceRequestProto(
        resource_name="*", capability=ResourceProto(memory=1536, virtual_cores=2), node_label_expression="fast"
    )
    rack = ResourceRequestProto(resource_name="/rack", capability=ResourceProto(memory=1, virtual_cores=1))

    submission = decode(
        a_context(
            resource=ResourceProto(memory=1), am_container_resource_request=[rack, anywhere], node_label_expression="x"
        )
    )

    assert submission.resource == ResourceVector(1536, 2)
    assert submission.label == "fast"


def test_what_is_not_said_is_hadoops_default():
    submission = decode(a_context())

    assert (submission.queue, submission.application_type, submission.tags) == ("default", "YARN", ())
    assert submission.resource == ResourceVector()


def test_a_submission_without_an_id_is_refused():
    with pytest.raises(BadRequestError, match="getNewApplication"):
        decode(SubmitApplicationRequestProto())


def test_bytes_that_are_no_text_do_not_stop_a_submission():
    raw = a_context().SerializeToString()
    inner = raw[2:] + b"\x12\x02\xff\xfe"
    request = SubmitApplicationRequestProto.FromString(b"\x0a" + bytes([len(inner)]) + inner)

    assert decode(request).name == "\ufffd\ufffd"


def test_a_report_is_made_of_a_document():
    told = {
        "progress": 50.0,
        "diagnostics": "well",
        "trackingUrl": "http://rm/proxy",
        "allocatedMB": 2048,
        "runningContainers": 2,
    }
    report = report_of(a_document(APP, raw=json.dumps(told).encode()))

    assert application_of(report.applicationId) == APP
    assert report.yarn_application_state == YarnApplicationStateProto.RUNNING
    assert report.progress == pytest.approx(0.5)
    assert (report.diagnostics, report.trackingUrl) == ("well", "http://rm/proxy")
    assert report.app_resource_Usage.used_resources.memory == 2048
    assert report.app_resource_Usage.num_used_containers == 2


@pytest.mark.parametrize("raw", [b"not json", b"[]", b"null", b'{"progress":"x","diagnostics":7,"allocatedMB":-1}'])
def test_a_report_is_made_of_the_summary_where_the_document_is_odd(raw):
    report = report_of(a_document(APP, state=YarnApplicationState.FAILED, raw=raw))

    assert report.yarn_application_state == YarnApplicationStateProto.FAILED
    assert report.user == "alice"


@pytest.mark.parametrize("state", YarnApplicationState)
@pytest.mark.parametrize("final", FinalStatus)
def test_every_state_has_its_number(state, final):
    document = a_document(APP, state=state, final_status=final)

    assert report_of(document).IsInitialized()


@pytest.mark.parametrize(
    ("request_fields", "is_shown"),
    [
        ({}, True),
        ({"application_states": [YarnApplicationStateProto.RUNNING]}, True),
        ({"application_states": [YarnApplicationStateProto.FAILED]}, False),
        ({"users": ["alice", "bob"]}, True),
        ({"users": ["bob"]}, False),
        ({"queues": ["default"]}, True),
        ({"queues": ["root.default"]}, True),
        ({"queues": ["prod"]}, False),
        ({"application_types": ["MAPREDUCE"]}, True),
        ({"application_types": ["SPARK"]}, False),
        ({"applicationTags": ["Nightly", "x"]}, True),
        ({"applicationTags": ["x"]}, False),
        ({"name": "pi"}, True),
        ({"name": "e"}, False),
        ({"start_begin": 100, "start_end": 100}, True),
        ({"start_begin": 101}, False),
        ({"start_end": 99}, False),
        ({"finish_begin": 1}, False),
        ({"finish_end": 0}, True),
    ],
)
def test_a_list_shows_what_was_asked_for(request_fields, is_shown):
    summary = a_document(
        APP,
        state=YarnApplicationState.RUNNING,
        user="alice",
        name="pi",
        queue="root.default",
        application_type="MAPREDUCE",
        tags=("nightly",),
        started_at_ms=100,
        finished_at_ms=0,
    ).summary

    assert filter_of(GetApplicationsRequestProto(**request_fields))(summary) is is_shown


def test_s27_a_request_for_a_list_is_gone_through_once_however_many_applications_there_are():
    request = GetApplicationsRequestProto(users=["bob"], applicationTags=["x"])
    is_shown = filter_of(request)
    request.Clear()
    assert not is_shown(a_document(APP, user="alice", tags=("x",)).summary)
    assert is_shown(a_document(APP, user="bob", tags=("x",)).summary)


@pytest.mark.parametrize("sequence", [1, 127, 128, 300, 2**31 - 1])
@pytest.mark.parametrize("timestamp_ms", [0, 127, 1_700_000_000_000, 2**63 - 1])
def test_an_issued_id_is_what_protobuf_writes(sequence, timestamp_ms):
    issued = ApplicationId(timestamp_ms, sequence)
    written = GetNewApplicationResponseProto(application_id=application_message(issued))
    assert issued_id(issued) == written.SerializeToString()


def types(*names):
    """A resource with types of these names, which need not be text."""
    rows = [b"\x0a" + delimited(name) + b"\x10\x07" for name in names]
    return ResourceProto.FromString(b"".join(b"\x1a" + delimited(row) for row in rows))


@pytest.mark.parametrize(
    "message",
    [
        types(*(b"t%d" % number for number in range(101))),
        types(b"t" * 1025),
        types(b"\xff\xfe"),
        types(b"t\x00"),
        types("t\u2028".encode()),
    ],
    ids=["many", "long", "no UTF-8", "a zero", "a line separator"],
)
def test_resource_types_that_are_none_are_refused(message):
    with pytest.raises(BadRequestError, match="resource type"):
        resource_of(message)
    request = SubmitApplicationRequestProto()
    request.application_submission_context.application_id.CopyFrom(application_message(APP))
    request.application_submission_context.resource.CopyFrom(message)
    with pytest.raises(BadRequestError, match="resource type"):
        decode_submission(request, request.SerializeToString(), user="alice")


def test_a_hundred_resource_types_are_taken():
    assert len(resource_of(types(*(b"t%d" % number for number in range(100)))).others) == 100
    assert resource_of(types(b"t" * 1024)).others == {"t" * 1024: 7}


def _identifier(sequence):
    application = ApplicationIdProto(id=sequence, cluster_timestamp=1_700_000_000_000)
    attempt = ApplicationAttemptIdProto(application_id=application, attemptId=1)
    return AMRMTokenIdentifierProto(appAttemptId=attempt, keyId=-7).SerializeToString()


OWN, VICTIM = _identifier(8), _identifier(7)
VICTIM_ALONE = AMRMTokenIdentifierProto.FromString(VICTIM)
VICTIM_ALONE.ClearField("keyId")


def test_an_identifier_names_its_attempt():
    found = attempt_of_token(OWN)
    assert found == ApplicationAttemptId(ApplicationId(1_700_000_000_000, 8), 1)


@pytest.mark.parametrize(
    "identifier",
    [
        OWN + VICTIM,
        VICTIM + OWN,
        OWN + b"\x18\x07",
        VICTIM + b"\x1b\x1b\x1c\x1c",
        b"\x18\x07" + OWN,
        VICTIM_ALONE.SerializeToString() + OWN,
        OWN[-11:] + OWN[:-11],
        OWN[:-11] + b"\x10\x07" + OWN[-11:],
        OWN + b"\x00",
        b"",
        b"\x00\x00\x01\x8b\xcf\xe5\x68\x00\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x07",
    ],
    ids=[
        "twice",
        "the other way round",
        "a field that nobody knows",
        "groups within groups",
        "a field that nobody knows first",
        "a part of another first",
        "in another order",
        "a number twice",
        "a byte too many",
        "nothing",
        "the older, plain form",
    ],
)
def test_an_identifier_that_may_be_read_in_two_ways_names_nobody(identifier):
    with pytest.raises(RemoteProtocolError):
        attempt_of_token(identifier)


@given(st.integers(0, len(OWN)), st.integers(0, 6), st.binary(max_size=6))
def test_whatever_is_taken_is_written_in_one_way(at, taken, put):
    changed = OWN[:at] + put + OWN[at + taken :]
    try:
        attempt_of_token(changed)
    except RemoteProtocolError:
        return
    assert AMRMTokenIdentifierProto.FromString(changed).SerializeToString() == changed


# ---------------------------------------------------------------------- fields of a message, byte by byte


FIELDS = [
    b"\x10\xac\x02",  # 2: 300
    b"\x19" + b"\xff" * 8,  # 3: eight bytes
    b"\x0a\x02ab",
    b"\x25" + b"\x0a\x02zz",  # 4: four bytes, which look like the entry of a list
    b"\x0a\x00",
    b"\x2a\x02zz",  # 5
    b"\x0a\x80\x01" + b"x" * 128,
    b"\x30\x00",
]


def test_entries_of_a_list_are_found_between_fields_of_every_kind():
    found = list(entries_in(b"".join(FIELDS)))
    assert found == [(FIELDS[2], b"ab"), (FIELDS[4], b""), (FIELDS[6], b"x" * 128)]
    assert list(entries_in(b"".join(FIELDS), 5)) == [(FIELDS[5], b"zz")]
    assert list(entries_in(b"")) == []


@pytest.mark.parametrize("at", range(len(FIELDS)))
def test_a_message_that_is_cut_within_a_field_is_none(at):
    before = b"".join(FIELDS[:at])
    for length in range(1, len(FIELDS[at])):
        with pytest.raises(RemoteProtocolError, match=r"cut off|does not end"):
            list(entries_in(before + FIELDS[at][:length]))
    assert len(list(entries_in(before + FIELDS[at]))) == sum(each[:1] == b"\x0a" for each in FIELDS[: at + 1])


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_a_field_of_a_kind_that_nobody_writes_is_refused(kind):
    with pytest.raises(RemoteProtocolError, match=f"a field of type {kind}"):
        list(entries_in(bytes((8 | kind,)) + b"\0" * 9))


@pytest.mark.parametrize(("more", "is_read"), [(8, True), (9, True), (10, False)])
def test_a_number_has_ten_bytes_at_most(more, is_read):
    payload = b"\x10" + b"\x80" * more + b"\x01"
    if is_read:
        assert list(entries_in(payload + FIELDS[2])) == [(FIELDS[2], b"ab")]
    else:
        with pytest.raises(RemoteProtocolError, match="does not end"):
            list(entries_in(payload))
