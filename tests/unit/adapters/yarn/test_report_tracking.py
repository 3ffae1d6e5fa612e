"""Tracking URLs in application reports lead to Heddle, and all else is as it was told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.yarn.tracking_urls import TrackedByRPC, tracked_reports
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    GetApplicationReportResponseProto,
    GetApplicationsResponseProto,
)

URL = "http://heddle:8089"
ONE = "application_1700000000000_0006"
OTHER = f"http://rm.east:8088/proxy/{ONE}/"
OTHER_BY_TLS = OTHER.replace("http:", "https:")
OURS = f"{URL}/proxy/{ONE}/"


def a_report(url: str, text: str = "") -> ApplicationReportProto:
    id_ = ApplicationIdProto(id=6, cluster_timestamp=1_700_000_000_000)
    return ApplicationReportProto(
        applicationId=id_, name=text, diagnostics=text, trackingUrl=url, originalTrackingUrl=OTHER, progress=0.5
    )


def told(payload: bytes) -> bytes:
    return b"".join(tracked_reports(URL, payload))


def test_a_web_proxys_address_is_heddles():
    shown = GetApplicationReportResponseProto(application_report=a_report(OTHER, OTHER)).SerializeToString()
    expected = GetApplicationReportResponseProto(application_report=a_report(OURS, OTHER))
    assert told(shown) == expected.SerializeToString()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([OTHER, OTHER_BY_TLS, "N/A", "", f"{OTHER}deeper", f"x{OTHER}"]),
            st.sampled_from(["", OTHER, f"Z\x2e{OTHER}", f"J\x2e{OTHER}", "x" * 300]),
        ),
        max_size=5,
    )
)
def test_of_a_list_only_tracking_urls_of_proxies_change(reports):
    shown = GetApplicationsResponseProto(applications=[a_report(url, text) for url, text in reports])
    ours = [OURS if url in (OTHER, OTHER_BY_TLS) else url for url, _ in reports]
    expected = GetApplicationsResponseProto(
        applications=[a_report(url, text) for url, (_, text) in zip(ours, reports, strict=True)]
    )
    assert told(shown.SerializeToString()) == expected.SerializeToString()


@given(st.binary(max_size=200), st.integers(0, 400))
def test_other_bytes_stay(payload, cut):
    assert told(payload) == payload
    shown = GetApplicationReportResponseProto(application_report=a_report("N/A", OTHER)).SerializeToString()[:cut]
    assert told(shown) == shown


class Told:
    """A ResourceManager that gives one answer to all calls."""

    subcluster = SubClusterId("east")

    def __init__(self, answer: RPCAnswer) -> None:
        self.answer = answer

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:  # noqa: ARG002
        return self.answer

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("method", "url"),
    [("getApplicationReport", OURS), ("getApplications", OURS), ("getApplicationAttemptReport", OTHER)],
)
async def test_only_application_reports_are_looked_at(method, url):
    reports = GetApplicationsResponseProto(applications=[a_report(OTHER)] * 250).SerializeToString()
    tracked = TrackedByRPC(Told(RPCAnswer(reports)), f"{URL}/")
    answer = await tracked.call(RPCCall("p", method, b"", "ada"))
    found = GetApplicationsResponseProto.FromString(answer.payload).applications
    assert [each.trackingUrl for each in found] == [url] * 250
    assert tracked.subcluster == "east"


async def test_a_refusal_stays():
    refused = RPCAnswer(b"", RPCRefusal("java.lang.E", "no"))
    assert await TrackedByRPC(Told(refused), URL).call(RPCCall("p", "getApplications", b"", "ada")) == refused
