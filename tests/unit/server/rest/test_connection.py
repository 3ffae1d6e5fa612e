"""Heads of requests: how long they may be, whom they name, and that no two servers can read them in two ways."""

import pytest

from shim.server.rest.connection import RefusedHeadError, check_framing, check_host, check_size, claimed_user
from shim.server.rest.host_names import HostNames

HOST = (b"host", b"a")


@pytest.mark.parametrize(
    ("url", "headers", "status"),
    [
        (b"/" * 100, [], None),
        (b"/" * 101, [], 431),
        (b"/" * 50, [(b"n" * 10, b"v" * 16), (b"n" * 8, b"v" * 8)], None),  # each line has four characters more
        (b"/" * 51, [(b"n" * 10, b"v" * 16), (b"n" * 8, b"v" * 8)], 431),
        (b"/", [(b"n", b"v" * 94)], None),
        (b"/", [(b"n", b"v" * 95)], 431),
        (b"/", [(b"n" * 95, b"v")], 431),
    ],
)
def test_a_head_is_as_long_as_its_address_and_its_lines(url, headers, status):
    assert refused(check_size, url, headers, 100) == status


@pytest.mark.parametrize(("count", "status"), [(256, None), (257, 431)])
def test_a_head_has_so_many_lines(count, status):
    assert refused(check_size, b"/", [(b"n", b"v")] * count, 1_000_000) == status


@pytest.mark.parametrize(
    ("headers", "version", "status"),
    [
        ([HOST], "1.1", None),
        ([HOST], "1.0", None),
        ([], "1.0", None),
        ([], "1.1", 400),
        ([HOST], "2.0", 505),
        ([HOST], "0.9", 505),
        ([HOST, HOST], "1.1", 400),
        ([HOST, HOST], "1.0", 400),
        ([HOST, (b"content-length", b"0")], "1.1", None),
        ([HOST, (b"content-length", b"1000")], "1.1", None),
        ([HOST, (b"content-length", b"1001")], "1.1", 413),
        ([HOST, (b"content-length", b"9" * 5000)], "1.1", 413),
        ([HOST, (b"content-length", b"+1")], "1.1", 400),
        ([HOST, (b"content-length", b"-1")], "1.1", 400),
        ([HOST, (b"content-length", b"1, 1")], "1.1", 400),
        ([HOST, (b"content-length", b"")], "1.1", 400),
        ([HOST, (b"content-length", b"1"), (b"content-length", b"1")], "1.1", 400),
        ([HOST, (b"transfer-encoding", b"chunked")], "1.1", None),
        ([HOST, (b"transfer-encoding", b" Chunked ")], "1.1", None),
        ([HOST, (b"transfer-encoding", b"chunked")], "1.0", 400),
        ([HOST, (b"transfer-encoding", b"gzip")], "1.1", 400),
        ([HOST, (b"transfer-encoding", b"gzip, chunked")], "1.1", 400),
        ([HOST, (b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")], "1.1", 400),
        ([HOST, (b"content-length", b"1"), (b"transfer-encoding", b"chunked")], "1.1", 400),
    ],
)
def test_a_head_that_could_be_read_in_two_ways_is_refused(headers, version, status):
    assert refused(check_framing, headers, version, 1000) == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], None),
        ([(b"host", b"front.example.org:8088")], None),
        ([(b"host", b"evil.example.org")], 421),
        ([(b"x-host", b"evil.example.org")], None),
        ([(b"x-host", b"front.example.org"), (b"host", b"evil.example.org")], 421),
    ],
)
def test_a_name_that_is_not_ours_is_refused(headers, status):
    assert refused(check_host, headers, HostNames(["front.example.org"])) == status


@pytest.mark.parametrize(
    ("data", "user"),
    [
        (b"GET /x?user.name=alice&doAs=bob HTTP/1.1", b"alice"),
        (b"GET /x?a=1&DOAS=bob HTTP/1.1", b"bob"),
        (b"GET /x?a=1;user.name=carol HTTP/1.1", b"carol"),
        (b"GET /x?user.name= HTTP/1.1", b""),
        (b"GET /x?luser.name=dave HTTP/1.1", b""),
        (b'Cookie: hadoop.auth="u=erin&p=erin&t=simple"', b"erin"),
        (b"Cookie: hadoop.auth=u=frank&p=frank", b"frank"),
        (b"Authorization: Bearer heddle_0123456789abcdef_secret", b"0123456789abcdef"),
        (b"x" * 8174 + b"?user.name=abcdefg", b"abcdefg"),
        (b"x" * 8175 + b"?user.name=abcdefg", b"abcdef"),  # no more than the first 8192 bytes are looked at
        (b"?user.name=" + b"a" * 64, b"a" * 64),
        (b"?user.name=" + b"a" * 65, b"a" * 64),
    ],
)
def test_whose_a_request_seems_to_be(data, user):
    assert claimed_user(data) == user


def refused(check, *given):
    """Return the status that a check refuses with; None if it does not."""
    try:
        check(*given)
    except RefusedHeadError as refusal:
        return refusal.status
    return None
