"""Types of bodies that a row takes, as Jersey judges them."""

import pytest

from shim.protocol.rest.errors import JavaError
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Request
from shim.server.rest.request_checks import negotiation_failure

TAKES, TAKES_NOT = (
    next(each for each in ENDPOINTS if each.method != "GET" and each.takes_body is takes) for takes in (True, False)
)


def failure(content_type, endpoint=TAKES):
    headers = () if content_type is None else (("content-type", content_type),)
    request = Request(endpoint.method, endpoint.path, "", headers, b"{}", "127.0.0.1")
    return negotiation_failure(endpoint, request, "application/json")


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8", "application/xml"])
def test_json_and_xml_are_taken(content_type):
    assert failure(content_type) is None


@pytest.mark.parametrize("content_type", [None, "application/*", "application/*; q=1"])
def test_what_no_reader_is_known_for_is_503(content_type):
    with pytest.raises(JavaError, match="no message body reader"):
        failure(content_type)


@pytest.mark.parametrize("content_type", ["text/plain", "application/json2", "nonsense", ""])
def test_other_types_are_refused(content_type):
    assert failure(content_type) is not None


def test_a_row_without_a_body_asks_for_none():
    assert failure(None, TAKES_NOT) is None
