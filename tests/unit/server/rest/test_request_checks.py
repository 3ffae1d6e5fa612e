"""Types of bodies that a row takes, as Jersey judges them."""

import gzip
import zlib
from contextlib import nullcontext
from dataclasses import replace

import pytest

from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.negotiation import Representation
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Request
from shim.server.rest.request_checks import (
    inflated,
    names_cluster,
    negotiation_failure,
    refuse_other_sites,
    representation_of,
)

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


def asked(method="POST", body=b"", **headers):
    told = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, "/ws/v1/cluster/apps", "", told, body, "127.0.0.1")


HERE = {"host": "Heddle:8088"}
BROWSER = {"user_agent": "Mozilla/5.0"}


@pytest.mark.parametrize(
    ("headers", "method", "is_refused"),
    [
        ({}, "POST", False),
        ({"sec_fetch_site": "cross-site"}, "POST", True),
        ({"sec_fetch_site": "same-site"}, "POST", True),
        ({"sec_fetch_site": "same-origin"}, "POST", False),
        (HERE | {"origin": "http://heddle:8088"}, "POST", False),
        (HERE | {"origin": "HTTP://HEDDLE:8088"}, "POST", False),
        (HERE | {"origin": "http://heddle:8089"}, "POST", True),
        ({"origin": "http://heddle:8088"}, "POST", True),
        (HERE | {"origin": "null"}, "POST", True),
        (HERE | {"referer": "http://heddle:8088/console/?x=//evil"}, "POST", False),
        (HERE | {"referer": "http://evil/heddle:8088"}, "POST", True),
        ({"referer": "http://evil/"}, "POST", True),
        (BROWSER, "GET", True),
        (BROWSER, "HEAD", True),
        (BROWSER, "POST", False),
        ({"user_agent": "Opera/9"}, "GET", True),
        ({"user_agent": "curl/8"}, "GET", False),
        ({}, "GET", False),
        (BROWSER | {"x_xsrf_header": ""}, "GET", False),
        (BROWSER | {"x_requested_with": "fetch"}, "GET", False),
        (BROWSER | {"sec_fetch_site": "none"}, "GET", False),
        (BROWSER | HERE | {"referer": "http://heddle:8088/x"}, "GET", False),
    ],
)
def test_a_change_that_a_page_of_another_site_may_have_sent_is_refused(headers, method, is_refused):
    request = asked(method, **headers)
    refuse_other_sites(request, changes=False)
    with pytest.raises(JavaError, match="another site") if is_refused else nullcontext():
        refuse_other_sites(request, changes=True)


def test_a_body_is_unpacked_up_to_its_bound():
    packed = gzip.compress(b"x" * 1000)
    for name in ("gzip", "GZIP"):
        assert inflated(asked(body=packed, content_encoding=name), max_bytes=1000).body == b"x" * 1000
    assert inflated(asked(body=packed), max_bytes=1).body == packed
    assert inflated(asked(body=packed, content_encoding="br"), max_bytes=1).body == packed
    with pytest.raises(JavaError) as large:
        inflated(asked(body=packed, content_encoding="gzip"), max_bytes=999)
    with pytest.raises(JavaError) as none:
        inflated(asked(body=b"no gzip", content_encoding="gzip"), max_bytes=999)
    with pytest.raises(JavaError):
        inflated(asked(body=zlib.compress(b"x"), content_encoding="gzip"), max_bytes=999)
    assert (large.value.exception.status, none.value.exception.status) == (413, 400)


@pytest.mark.parametrize(
    ("accept", "name"), [("application/xml", "XML"), ("application/json", "JSON"), ("a/b", "JSON")]
)
def test_a_client_is_answered_in_what_it_reads_or_in_json(accept, name):
    assert representation_of(asked(accept=accept)) is Representation[name]


@pytest.mark.parametrize(("query", "is_named"), [("cluster=east", True), ("cluster=", True), ("clusters=a", False)])
def test_a_cluster_is_named_by_its_parameter(query, is_named):
    assert names_cluster(replace(asked(), query=query)) is is_named


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", None, "deflate", "identity", ""])
def test_a_body_is_inflated_where_gzip_is_named(encoding):
    headers = () if encoding is None else (("content-encoding", encoding),)
    packed = gzip.compress(b"plain")
    request = Request("POST", "/x", "a=b", headers, packed, "10.0.0.1")
    found = inflated(request, max_bytes=5)
    assert found == replace(request, body=b"plain" if encoding in {"gzip", "GZIP"} else packed)


@pytest.mark.parametrize(
    ("body", "max_bytes", "status", "java_class"),
    [
        (gzip.compress(b"x" * 6), 5, 413, "java.io.IOException"),
        (gzip.compress(b"x" * 100_000), 5, 413, "java.io.IOException"),
        (b"no gzip", 5, 400, "java.util.zip.ZipException"),
        (b"\x1f\x8bxxxxxxxxxxxxx", 5, 400, "java.util.zip.ZipException"),
    ],
    ids=["a byte too large", "a bomb", "no gzip", "its head alone"],  # what is packed tells when it was
)
def test_what_is_no_gzip_or_too_large_is_refused(body, max_bytes, status, java_class):
    request = Request("POST", "/x", "", (("content-encoding", "gzip"),), body, "10.0.0.1")
    with pytest.raises(JavaError) as caught:
        inflated(request, max_bytes=max_bytes)
    assert (caught.value.exception.status, caught.value.exception.java_class) == (status, java_class)
