"""Reports for those who may not see, against what a ResourceManager with `yarn.acl.enable` told."""

from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ApplicationReportProto,
    TokenProto,
)
from shim.protocol.yarn.hidden import as_seen, hidden_report
from shim.protocol.yarn.submit_times import reports_in, written_report

ID = ApplicationIdProto(cluster_timestamp=1, id=1)
WHOLE = ApplicationReportProto(
    applicationId=ID,
    user="alice",
    queue="root.default",
    name="sleeper",
    host="am-host",
    rpc_port=99,
    client_to_am_token=TokenProto(identifier=b"t", password=b"t", kind="YARN_CLIENT_TOKEN", service=""),
    am_rm_token=TokenProto(identifier=b"t", password=b"t", kind="YARN_AM_RM_TOKEN", service=""),
    trackingUrl="http://rm/proxy/application_1_1/",
    originalTrackingUrl="http://am/",
    diagnostics="secret",
    currentApplicationAttemptId=ApplicationAttemptIdProto(application_id=ID, attemptId=3),
    startTime=5,
)
LATER_FIELD = b"\xfa\x3f\x06secret"  # number 1023, of a later Hadoop


def test_a_hidden_report_tells_what_it_is_and_nothing_of_how_it_runs():
    told = hidden_report(ApplicationReportProto.FromString(WHOLE.SerializeToString() + LATER_FIELD))
    assert (told.user, told.queue, told.name, told.startTime) == ("alice", "root.default", "sleeper", 5)
    assert {told.host, told.trackingUrl, told.originalTrackingUrl, told.diagnostics} == {"N/A"}
    assert (told.rpc_port, told.currentApplicationAttemptId.attemptId) == (-1, -1)
    assert (told.app_resource_Usage.num_used_containers, told.app_resource_Usage.used_resources.memory) == (-1, -1)
    assert not told.HasField("am_rm_token")
    assert not told.HasField("client_to_am_token")
    assert b"secret" not in told.SerializeToString()


def test_an_entry_is_left_as_it_is_hidden_or_left_out():
    [(whole, report)] = reports_in(written_report(WHOLE))
    assert as_seen(whole, report, lambda *_: True) == whole
    assert as_seen(whole, report, lambda *_: False) == written_report(hidden_report(WHOLE))
    assert as_seen(whole, report, lambda *_: False, leaves_out=True) == b""


def test_what_cannot_be_read_is_shown_to_nobody():
    for entry in (b"\xff\xff", b"", ApplicationReportProto(user="alice").SerializeToString()):
        assert as_seen(b"\x0a" + bytes((len(entry),)) + entry, entry, lambda *_: True) == b""
