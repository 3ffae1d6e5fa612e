"""What of a ResourceManager's answer reaches a client."""

import pytest

from shim.ports.resource_manager import RestAnswer
from shim.server.rest.forwarding import answer_of
from shim.server.rest.messages import Request

ASKED = Request("POST", "/ws/v1/cluster/apps", "", (("host", "heddle:8088"),), b"", "10.0.0.1")


@pytest.mark.parametrize(
    ("told", "given"),
    [
        ("http://rm1:8088/ws/v1/cluster/apps/x?y=1", "http://heddle:8088/ws/v1/cluster/apps/x?y=1"),
        ("http://evil.example/login", "http://heddle:8088/login"),
        ("javascript:alert(1)", "http://heddle:8088/alert(1)"),
        ("x:@evil.example/login", "http://heddle:8088/@evil.example/login"),
        ("http://[evil", "http://heddle:8088/"),
        ("", "http://heddle:8088/"),
    ],
)
def test_s17_s18_wherever_a_resource_manager_sends_a_client_it_stays_here(told, given):
    answer = answer_of(RestAnswer(202, (("Location", told),), b""), ASKED, cookie=None, extra=())
    assert dict(answer.headers)["Location"] == given


def test_s19_a_resource_managers_cookie_stays_where_it_is():
    answer = answer_of(RestAnswer(200, (("Set-Cookie", "hadoop.auth=theirs"),), b""), ASKED, cookie=None, extra=())
    assert "Set-Cookie" not in dict(answer.headers)


@pytest.mark.parametrize(
    "name",
    [
        "WWW-Authenticate",
        "Set-Cookie2",
        "Refresh",
        "Strict-Transport-Security",
        "Clear-Site-Data",
        "Alt-Svc",
        "Access-Control-Allow-Origin",
        "Heddle-Missing",
        "X-Request-Id",
        "Transfer-Encoding",
    ],
)
def test_what_a_resource_manager_tells_heddle_is_not_told_to_clients(name):
    answer = answer_of(RestAnswer(200, ((name, "x"), ("X-Kept", "y")), b""), ASKED, cookie=None, extra=())
    assert answer.headers == (("X-Kept", "y"),)
