"""Tracking URLs that lead to Heddle, and all else as it was told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.yarn.tracking_urls import TrackedAtHeddle, tracked_at
from shim.domain.ids import ApplicationId
from shim.ports.resource_manager import RestRequest
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager

URL = "http://heddle:8089"
ONE = "application_1700000000000_0006"
OTHER = "http://rm.east:8088/proxy"


def told(document: bytes) -> bytes:
    return b"".join(tracked_at(URL.encode(), document))


def test_a_web_proxys_address_is_heddles():
    shown = json.dumps({"app": {"id": ONE, "trackingUrl": f"{OTHER}/{ONE}/"}}, separators=(",", ":")).encode()
    assert json.loads(told(shown))["app"]["trackingUrl"] == f"{URL}/proxy/{ONE}/"
    xml = f"<app><trackingUrl>https://rm:8090/proxy/{ONE}/</trackingUrl></app>".encode()
    assert told(xml) == f"<app><trackingUrl>{URL}/proxy/{ONE}/</trackingUrl></app>".encode()


@pytest.mark.parametrize(
    "url",
    [
        *(f"http://rm:8088/cluster/app/{ONE}", "http://history:19888/jobhistory", "N/A", "", f"{OTHER}/{ONE}/deeper"),
        f"http://a/b/proxy/{ONE}/",
    ],
)
def test_other_addresses_stay(url):
    shown = json.dumps({"app": {"trackingUrl": url}}, separators=(",", ":")).encode()
    assert told(shown) == shown


def test_texts_that_spell_a_tracking_url_stay():
    text = f'"trackingUrl":"{OTHER}/{ONE}/"'
    shown = json.dumps({"apps": {"app": [{"diagnostics": text, "name": text}]}}, separators=(",", ":")).encode()
    assert told(shown) == shown


@given(st.lists(st.sampled_from([f"{OTHER}/{ONE}/", "N/A", "x" * 70_000, "}"]), max_size=8), st.booleans())
def test_a_list_is_the_same_whole_and_in_pieces(urls, is_xml):
    if is_xml:
        shown = "".join(f"<trackingUrl>{url}</trackingUrl>" for url in urls).join(("<apps>", "</apps>"))
    else:
        shown = json.dumps({"apps": {"app": [{"trackingUrl": url} for url in urls]}}, separators=(",", ":"))
    assert told(shown.encode()) == shown.replace(f"{OTHER}/", f"{URL}/proxy/").encode()


async def test_only_reads_of_applications_are_looked_at():
    manager = ScriptedResourceManager("east", clock=FakeClock())
    manager.add_application(ApplicationId.parse(ONE), trackingUrl=f"{OTHER}/{ONE}/")
    tracked = TrackedAtHeddle(manager, f"{URL}/")
    answer = await tracked.forward(RestRequest("GET", f"/ws/v1/cluster/apps/{ONE}"))
    plain = await manager.forward(RestRequest("GET", f"/ws/v1/cluster/apps/{ONE}"))
    assert json.loads(answer.body)["app"]["trackingUrl"] == f"{URL}/proxy/{ONE}/"
    assert len(answer.body) != len(plain.body)
    assert tracked.subcluster == "east"
    assert await tracked.forward(RestRequest("GET", "/ws/v1/cluster/info")) == await manager.forward(
        RestRequest("GET", "/ws/v1/cluster/info")
    )
