"""True times of submission in answers over RPC, without decoding the other reports."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    GetApplicationReportResponseProto,
    GetApplicationsResponseProto,
)
from shim.protocol.yarn.submit_times import report_with_submit_time, reports_with_submit_times
from shim.protocol.yarn.wire import application_message

STAMP = 1_700_000_000_000


def a_report(number: int, name: str = "job") -> ApplicationReportProto:
    return ApplicationReportProto(
        applicationId=application_message(ApplicationId(STAMP, number)), name=name, startTime=900, submitTime=900
    )


def test_a_report_tells_when_it_was_submitted():
    payload = GetApplicationReportResponseProto(application_report=a_report(1)).SerializeToString()
    told = GetApplicationReportResponseProto.FromString(report_with_submit_time(payload, 100)).application_report
    assert (told.startTime, told.submitTime, told.name) == (100, 100, "job")


@given(
    numbers=st.lists(st.integers(0, 300), max_size=20), waited=st.sets(st.integers(0, 300)), length=st.integers(0, 400)
)
def test_of_a_list_only_those_that_waited_change(numbers: list[int], waited: set[int], length: int) -> None:
    reports = [a_report(number, "x" * length) for number in numbers]
    payload = GetApplicationsResponseProto(applications=reports).SerializeToString()
    times = {ApplicationId(STAMP, number): number for number in waited}
    told = GetApplicationsResponseProto.FromString(reports_with_submit_times(payload, times)).applications
    assert [report.startTime for report in told] == [number if number in waited else 900 for number in numbers]
    assert [report.name for report in told] == [report.name for report in reports]
    assert reports_with_submit_times(payload, {}) is payload


@given(st.binary(max_size=200))
def test_what_is_no_list_passes_as_it_is(payload: bytes) -> None:
    times = {ApplicationId(STAMP, 1): 5}
    assert reports_with_submit_times(payload, times) == payload
