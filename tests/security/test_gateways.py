"""A gateway in front: whatever it lets through, Heddle reads as it does, or not at all; what it adds changes nothing.

Two other readers of HTTP/1.1 stand for gateways, a strict one (h11) and a lenient one (`http.server`).
"""

import asyncio
import contextlib
import io
import random
from http.server import BaseHTTPRequestHandler

import h11
import pytest

from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.messages import Answer
from shim.server.rest.server import RestServer
from tests.support.scripted_server import ScriptedServer

LIMITS = ConnectionLimits(
    max_header_bytes=8192, max_body_bytes=1000, request_timeout_s=0.1, keep_alive_s=0.1, max_connections=64
)
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
INNER = b"GET /inner HTTP/1.1\r\nHost: a\r\n\r\n"
TARGETS = (
    b"/x",
    b"/x?y=1;z=2",
    b"/x#y",
    b"http://a/x",
    b"http://b:9/x?y",
    b"//b/x",
    b"/x%2e%2e/y",
    b"*",
    b"a:80",
    b"/\xff",
)
METHODS = (b"GET", b"POST", b"PUT", b"get", b"PRI", b"CONNECT", b"OPTIONS", b"G\xc3\x8bT")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.2", b"http/1.1", b"HTTP/11", b"HTTP/1.1 ")
FIELDS = (
    *(b"Content-Length: %d" % size for size in (0, 5, len(INNER), len(INNER) + 2)),
    *(b"Content-Length: " + value for value in (b"+5", b"-1", b"5, 5", b"0x5", b"5 ", b"", b"5;", b"1_0", b"\xb2")),
    *(
        b"Transfer-Encoding: " + value
        for value in (b"chunked", b"Chunked", b"identity", b"gzip, chunked", b"chunked, chunked")
    ),
    *(b"Transfer-Encoding: " + value for value in (b"chunked;x=y", b"\x0bchunked", b"chunked,", b'"chunked"')),
    *(b"Content-Length : 5", b" Content-Length: 5", b"Content-Length:5", b"Content_Length: 5", b"content-length: 5"),
    *(b"Transfer-Encoding : chunked", b"Transfer_Encoding: chunked", b"TE: chunked", b"Trailer: Content-Length"),
    *(
        b"Host: b",
        b"Host:",
        b"Host: a, b",
        b"Host : a",
        b"X: y\r\n Host: c",
        b"X\x00: y",
        b"X: \x00",
        b"X(: y",
        b": y",
        b"X",
    ),
    *(b"Connection: close", b"Connection: Content-Length", b"Upgrade: h2c", b"Expect: 100-continue", b"X: \x7f\x80"),
)
ENDS = (b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\r\r\n")
BODIES: tuple[bytes, ...] = (
    b"",
    b"hello",
    INNER,
    b"0\r\n\r\n",
    b"0\r\n\r\n" + INNER,
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5;x=y\r\nhello\r\n0\r\n\r\n",
)
BODIES += (b"05\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n")
BODIES += (
    b"5\r\nhelloX0\r\n\r\n",
    b"+5\r\nhello\r\n0\r\n\r\n",
    b"0\r\nContent-Length: 5\r\n\r\nhello",
    b"ffffffffffffffff5\r\nhello",
)


def a_stream(draw):
    """Bytes of a request of which some part is odd, and of one behind it."""
    odd, body = draw.random, draw.choice(BODIES)
    method = draw.choice(METHODS) if odd() < 0.1 else draw.choice(METHODS[:3])
    version = draw.choice(VERSIONS) if odd() < 0.1 else b"HTTP/1.1"
    line = b" ".join((method, draw.choice(TARGETS) if odd() < 0.3 else b"/x", version))
    fields = [b"Host: a"] if odd() < 0.9 else []
    if odd() < 0.8:
        chunked = body.endswith((b"0\r\n\r\n", b"0\n\n")) or b"\r\nContent" in body
        fields.append(b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body))
    fields += draw.choices(FIELDS, k=draw.choice((0, 0, 1, 1, 2)))
    draw.shuffle(fields)
    end = draw.choice(ENDS) if odd() < 0.3 else b"\r\n"
    head = b"".join(each + (end if odd() < 0.5 else b"\r\n") for each in (line, *fields))
    return head + b"\r\n" + body + LAST


def by_a_strict_gateway(stream):
    """Requests as h11 hands them on: method, target, body."""
    reader, found = h11.Connection(h11.SERVER), []
    reader.receive_data(stream)
    reader.receive_data(b"")
    with contextlib.suppress(h11.ProtocolError):
        while True:
            event = reader.next_event()
            if isinstance(event, h11.Request):
                found.append([bytes(event.method), bytes(event.target), b"", False])
            elif isinstance(event, h11.Data):
                found[-1][2] += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                found[-1][3] = True
                reader.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
                reader.send(h11.EndOfMessage())
                if reader.our_state is h11.MUST_CLOSE or reader.their_state is h11.MUST_CLOSE:
                    break
                reader.start_next_cycle()
            else:
                break
    return [tuple(each[:3]) for each in found if each[3]]


class Lenient(BaseHTTPRequestHandler):
    """Reads requests as Python's own server does, by the length alone."""

    def __init__(self, stream):
        self.rfile, self.wfile, self.found = io.BytesIO(stream), io.BytesIO(), []
        self.client_address, self.server, self.close_connection = ("127.0.0.1", 1), None, True
        self.handle()

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self._take
        raise AttributeError(name)

    def _take(self):
        length = self.headers.get_all("Content-Length") or ["0"]
        if self.headers.get("Transfer-Encoding") or len(length) > 1 or not length[0].isdecimal():
            self.close_connection = True  # it hands on nothing whose end it cannot tell
            return
        body = self.rfile.read(int(length[0]))
        self.found.append((self.command.encode(), self.path.encode("latin-1"), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


class Hears:
    """Notes what it is asked."""

    def __init__(self):
        self.requests = []

    def answer_at_once(self, request):
        """None: each is answered in its turn."""

    async def answer(self, request):
        self.requests.append((request.method.encode(), request.raw_path, b"", request.body))
        return Answer(200, (), b"")


async def by_heddle(server, hears, stream):
    """Requests as Heddle takes them."""
    hears.requests = []
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(stream)
    writer.write_eof()
    with contextlib.suppress(ConnectionResetError):
        await reader.read()
    writer.close()
    return hears.requests


def path_of(target):
    """What is left of a target where the rest is told apart."""
    rest = target.partition(b"#")[0].partition(b"?")[0]
    path = b"/" + rest.split(b"/", 3)[3] if rest.startswith(b"http://") else rest
    return b"/" + path.lstrip(b"/") if path.startswith(b"//") else path  # as the lenient one makes it


@pytest.mark.parametrize("first_seed", range(0, 300, 100))
async def test_what_two_gateways_hand_on_is_read_alike_or_not_at_all(first_seed, caplog):
    hears, compared = Hears(), 0
    server = RestServer(hears, host="127.0.0.1", port=0, limits=LIMITS)
    await server.start()
    try:
        for seed in range(first_seed, first_seed + 100):
            stream = a_stream(random.Random(seed))  # noqa: S311 - examples
            heard = [
                (method, path_of(path.encode("latin-1", "replace")), body)
                for method, path, _, body in await by_heddle(server, hears, stream)
            ]
            for gateway in (by_a_strict_gateway, lambda stream: Lenient(stream).found):
                handed_on = [(method, path_of(target), body) for method, target, body in gateway(stream)]
                both = min(len(heard), len(handed_on))
                assert heard[:both] == handed_on[:both], (seed, stream)
                assert b"/inner" not in [path for _, path, _ in heard[both:]] or len(handed_on) < len(heard), (
                    seed,
                    stream,
                )
                compared += both
    finally:
        await server.stop(grace_s=0.1)
    assert compared > 30
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


async def test_who_waits_to_be_asked_for_a_body_and_is_refused_leaves_no_trace(caplog):
    hears = Hears()
    server = RestServer(hears, host="127.0.0.1", port=0, limits=LIMITS)
    await server.start()
    try:
        for odd in (b"x\r\n", b"5 \r\nhello\r\n", b"ffffffffffffffff5\r\n"):
            head = b"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            assert await by_heddle(server, hears, head + odd) == []
    finally:
        await server.stop(grace_s=0.1)
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


ADDED = (
    *("X-Forwarded-For: 10.9.9.9", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"),
    *("X-Forwarded-Prefix: //evil.example", "X-Forwarded-User: oona", "X-Forwarded-Port: 1", "X-Real-IP: 10.9.9.9"),
    *("Forwarded: for=10.9.9.9;host=evil.example;proto=https", "X-Original-URL: /heddle/v1/clusters/east/drain"),
    *("X-Rewrite-URL: /heddle/v1/clusters/east/drain", "X-HTTP-Method-Override: PUT", "X-HTTP-Method: DELETE"),
    *(
        "X-Original-Host: evil.example",
        "X-Host: evil.example",
        "Via: 1.1 evil",
        "X-Remote-User: oona",
        "Remote-User: oona",
    ),
    *("X-Client-Cert: oona", "X-SSL-Client-S-DN: CN=oona", "SSL_CLIENT_VERIFY: SUCCESS", "X-Auth-Request-User: oona"),
    *("X-WEBAUTH-USER: oona", "SM_USER: oona", "iv-user: oona", "X-Authenticated-User: oona", "X-User: oona"),
    *("X-Goog-Authenticated-User-Email: accounts:oona", "Cf-Access-Authenticated-User-Email: oona", "From: oona"),
)
"""What gateways add, or are to take away; `oona` is an operator."""
ASKED = (
    "/cluster",
    "/ws/v1/cluster/apps/application_1_0001",
    "/heddle/v1/console/caller",
    "/proxy/application_1_0001/",
)


@pytest.mark.parametrize("path", ASKED)
async def test_no_header_of_a_gateway_names_somebody_or_leads_elsewhere(path):
    server = ScriptedServer()
    await server.poll()
    bare = await server.ask("GET", path)
    for added in ADDED:
        name, _, value = added.partition(": ")
        answer = await server.ask("GET", path, **{name.replace("-", "_"): value})
        assert (answer.status, answer.body) == (bare.status, bare.body), added
        assert ("evil" in str(answer.headers), "oona" in str(answer.headers)) == (False, False), added
        changed = await server.ask("POST", "/heddle/v1/clusters/east/drain", **{name.replace("-", "_"): value})
        assert changed.status == 401, added
