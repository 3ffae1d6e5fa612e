"""The adapter against servers that misbehave on the wire: real sockets, port 0."""

import asyncio
import gzip
import json
import re
import zlib
from contextlib import asynccontextmanager
from urllib.parse import unquote

import pytest

from adapters.yarn import RestResourceManager, RestSettings
from shim.app.tls_files import ClientTLSFiles
from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, StandbyError
from shim.ports.resource_manager import RestRequest
from tests.doubles.settings import usual

EAST = SubClusterId("east")
PING = RestRequest("GET", "/ping", user="alice")
POST = RestRequest("POST", "/ws/v1/cluster/apps", user="alice", headers=(("Content-Type", "text/x"),), body=b"hi")
STANDBY_TEXT = b"This is standby RM. The redirect url is: "


class WireServer:
    """Answers each request with what `script` writes; remembers the requests, head and body."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.connections = 0
        self._tasks = set()
        self.address = ""

    async def serve(self, reader, writer):
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lower = head.lower()
                length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in lower else 0
                body = await reader.readexactly(length)
                self.requests.append((head.decode(), body))
                if await self.script(self, writer) == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def close(self):
        for task in self._tasks:
            task.cancel()


def answers(status="200 OK", body=b"{}", headers=(), *, declared=None):
    """A whole answer; `declared` is a `Content-Length` that lies."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if declared is None else declared}", *headers]

    async def script(_, writer):
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        return "close" if declared is not None else None

    return script


async def is_silent(_server, _writer):
    await asyncio.Event().wait()


async def hangs_up(_server, _writer):
    return "close"


async def talks_nonsense(_server, writer):
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    await writer.drain()
    return "close"


async def never_ends(_server, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        await writer.drain()


async def drips(_server, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def sends_endless_headers(_server, writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


@asynccontextmanager
async def serving(*scripts):
    servers = [WireServer(script) for script in scripts]
    sockets = [await asyncio.start_server(server.serve, "127.0.0.1", 0) for server in servers]
    for server, socket in zip(servers, sockets, strict=True):
        server.address = f"http://127.0.0.1:{socket.sockets[0].getsockname()[1]}"
    try:
        yield servers
    finally:
        for server, socket in zip(servers, sockets, strict=True):
            socket.close()
            await server.close()


@asynccontextmanager
async def talking(*scripts, addresses=None, **settings):
    defaults = {"timeout_s": 20.0, "connect_timeout_s": 10.0, "max_answer_bytes": 1_000_000}
    async with serving(*scripts) as servers:
        manager = RestResourceManager(
            EAST, addresses or [server.address for server in servers], usual(RestSettings, **(defaults | settings))
        )
        try:
            yield manager, *servers
        finally:
            await manager.close()


@asynccontextmanager
async def a_closed_port():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    yield f"http://127.0.0.1:{port}"


async def test_an_answer_comes_through_with_its_status_and_headers():
    script = answers("404 Not Found", b"no", ("X-Odd: 1", "Set-Cookie: hadoop.auth=u=x", "Connection: keep-alive"))
    async with talking(script) as (manager, _):
        answer = await manager.forward(PING)
    assert (answer.status, answer.body) == (404, b"no")
    assert answer.headers == (("X-Odd", "1"),)


async def test_a_refused_connection_was_never_reached():
    async with a_closed_port() as address, talking(addresses=[address]) as (manager,):
        with pytest.raises(NeverReachedError, match=address):
            await manager.forward(POST)


async def test_a_name_that_does_not_resolve_was_never_reached():
    async with talking(addresses=["http://nosuch.invalid:1"]) as (manager,):
        with pytest.raises(NeverReachedError):
            await manager.forward(POST)


@pytest.mark.parametrize("script", [is_silent, hangs_up], ids=["silent", "hangs up"])
async def test_a_request_that_was_sent_and_not_answered_may_have_been_taken(script):
    async with talking(script, timeout_s=1.5) as (manager, server):
        with pytest.raises(NoAnswerError):
            await manager.forward(POST)
    assert [body for _, body in server.requests] == [b"hi"]


async def test_a_server_that_takes_no_more_connections_is_not_said_to_have_seen_anything():
    async with talking(is_silent, connections=1) as (manager, server):
        first = asyncio.create_task(manager.forward(POST, timeout_s=4.0))
        while not server.requests:  # noqa: ASYNC110 - the other end is a socket
            await asyncio.sleep(0.01)
        with pytest.raises(NeverReachedError):
            await manager.forward(POST, timeout_s=0.3)
        with pytest.raises(NoAnswerError):
            await first


@pytest.mark.parametrize(
    "script",
    [
        never_ends,
        talks_nonsense,
        answers(body=b"x" * 10, declared=100),
        answers(body=gzip.compress(b"\0" * 50_000_000), headers=("Content-Encoding: gzip",)),
        answers(body=gzip.compress(b"x" * 1000)[:-9], headers=("Content-Encoding: gzip",)),
        answers(body=b"no gzip", headers=("Content-Encoding: gzip",)),
        answers(body=zlib.compress(b"x"), headers=("Content-Encoding: deflate",)),
    ],
    ids=["endless", "nonsense", "cut short", "bomb", "cut gzip", "no gzip", "deflate"],
)
async def test_a_broken_or_oversized_answer_is_cut_and_not_believed(script):
    async with talking(script, timeout_s=20.0) as (manager, _):
        with pytest.raises(MalformedAnswerError):
            await manager.forward(PING)


@pytest.mark.parametrize("script", [drips, sends_endless_headers], ids=["drips", "headers"])
async def test_an_answer_that_does_not_end_in_time_is_given_up(script):
    async with talking(script, timeout_s=1.5) as (manager, _):
        with pytest.raises((NoAnswerError, MalformedAnswerError)):
            await manager.forward(PING)


async def test_a_packed_answer_that_was_not_asked_for_is_unpacked():
    script = answers(body=gzip.compress(b"x" * 900_000), headers=("Content-Encoding: gzip",))
    async with talking(script) as (manager, server):
        answer = await manager.forward(PING)
    assert answer.body == b"x" * 900_000
    assert answer.headers == ()
    assert "Accept-Encoding: identity" in server.requests[0][0]


async def test_a_broken_connection_is_not_used_for_the_next_request():
    async with talking(answers()) as (manager, server):
        await manager.forward(PING)
        server.script = hangs_up
        with pytest.raises(NoAnswerError):
            await manager.forward(POST)
        server.script = answers()
        assert (await manager.forward(POST)).status == 200


async def test_connections_are_kept():
    async with talking(answers()) as (manager, server):
        for _ in range(5):
            await manager.forward(PING)
    assert server.connections == 1


# ---------------------------------------------------------------------- who asks


def line(server):
    return server.requests[-1][0].split("\r\n")[0]


@pytest.mark.parametrize(
    ("user", "is_proxy", "identity"),
    [
        ("alice", False, "user.name=alice"),
        (None, False, "user.name=heddle"),
        ("alice", True, "user.name=heddle&doAs=alice"),
        (None, True, "user.name=heddle"),
        ("a&b=c/ü", False, "user.name=a%26b%3Dc%2F%C3%BC"),
        ("x\r\nX-Evil: 1", False, "user.name=x%0D%0AX-Evil:%201"),
    ],
)
async def test_the_user_goes_along_as_the_configuration_says(user, is_proxy, identity):
    async with talking(answers(), is_proxy=is_proxy) as (manager, server):
        await manager.forward(RestRequest("GET", "/a", parameters=(("x", "1"),), user=user))
    assert line(server) == f"GET /a?{identity}&x=1 HTTP/1.1"
    assert "X-Evil" not in "".join(server.requests[-1][0].split("\r\n")[1:])


@pytest.mark.parametrize("name", ["user.name", "USER.NAME", "doAs", "DOAS", "doA\u017f", "delegation", "op"])
async def test_what_the_authentication_filter_acts_on_does_not_travel(name):
    async with talking(answers()) as (manager, server):
        await manager.forward(RestRequest("GET", "/a", parameters=((name, "root"), ("x", "1")), user="alice"))
    assert line(server) == "GET /a?user.name=alice&x=1 HTTP/1.1"


@pytest.mark.parametrize("value", ["1;doAs=root", "1&doAs=root", "1%26doAs=root", "1#doAs=root", "1\r\nX: y", "+;=ü"])
async def test_a_parameter_is_one_parameter_whatever_it_holds(value):
    async with talking(answers()) as (manager, server):
        await manager.forward(RestRequest("GET", "/a", parameters=((f"x{value}", value),), user="alice"))
    path, _, query = line(server).removeprefix("GET ").removesuffix(" HTTP/1.1").partition("?")
    assert path == "/a"
    assert re.split("[&;]", query)[0] == "user.name=alice"
    assert [tuple(map(unquote, part.split("="))) for part in re.split("[&;]", query)[1:]] == [(f"x{value}", value)]
    assert "X: y" not in server.requests[-1][0]


async def test_headers_that_claim_something_do_not_travel():
    headers = (("Accept", "application/json"), ("Cookie", "hadoop.auth=root"), ("X-Forwarded-For", "::1"))
    headers += (("Authorization", "Basic x"), ("Host", "evil"), ("Transfer-Encoding", "chunked"))
    async with talking(answers()) as (manager, server):
        await manager.forward(RestRequest("GET", "/a", user="alice", headers=headers))
    head = server.requests[-1][0].lower()
    assert "accept: application/json" in head
    assert not any(word in head for word in ("cookie", "forwarded", "authorization", "evil", "chunked"))


async def test_a_cookie_of_one_user_is_not_sent_for_another():
    async with talking(answers(headers=("Set-Cookie: hadoop.auth=u=alice; Path=/",))) as (manager, server):
        await manager.forward(PING)
        await manager.forward(RestRequest("GET", "/ping", user="bob"))
    assert "cookie" not in server.requests[-1][0].lower()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/a%2Fb/../c;x=1?y", "/a%2Fb/../c%3Bx%3D1%3Fy"),
        ("/a b", "/a%20b"),
        ("/a\r\nX: 1", "/a%0D%0AX:%201"),
        ("/a#b", "/a%23b"),
    ],
)
async def test_a_path_travels_without_parameters_and_never_breaks_the_request(path, sent):
    async with talking(answers()) as (manager, server):
        await manager.forward(RestRequest("GET", path, user="a"))
    assert line(server) == f"GET {sent}?user.name=a HTTP/1.1"


# ---------------------------------------------------------------------- redirects, standby, failover


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 x"])
async def test_a_redirect_is_no_answer_and_is_not_followed(status):
    async with serving(answers(body=b"elsewhere")) as (elsewhere,):
        script = answers(status, b"", (f"Location: {elsewhere.address}/x?user.name=heddle&doAs=alice",))
        async with talking(script) as (manager, _):
            with pytest.raises(MalformedAnswerError, match=f"answered {status[:3]} and points to .*/x;") as caught:
                await manager.forward(PING)
        assert "doAs" not in str(caught.value)
        assert elsewhere.requests == []


PAGE = RestRequest("GET", "/proxy/application_1_1/", user="alice", is_page=True)


async def test_a_redirect_of_a_page_is_told_and_not_followed():
    async with serving(answers(body=b"elsewhere")) as (elsewhere,):
        async with talking(answers("302 Found", b"", (f"Location: {elsewhere.address}/x",))) as (manager, _):
            answer = await manager.forward(PAGE)
        assert (answer.status, answer.header("Location")) == (302, f"{elsewhere.address}/x")
        assert elsewhere.requests == []


async def test_a_page_that_refreshes_itself_is_not_a_standby():
    async with talking(answers("200 OK", b"<h1>jobs</h1>", ("Refresh: 3",))) as (manager, _):
        assert (await manager.forward(PAGE)).body == b"<h1>jobs</h1>"
        with pytest.raises(StandbyError):
            await manager.forward(PING)


@pytest.mark.parametrize("status", ["400 Bad Request", "403 Forbidden", "503 Service Unavailable", "302 Found"])
async def test_a_refusal_of_many_mebibytes_is_none(status):
    """Its words are read in one go, which a document's are not."""
    body = b'{"RemoteException":{"message":"%b"}}' % (b"x" * 2_000_000)
    async with talking(answers(status, body), max_answer_bytes=10_000_000) as (manager, _):
        with pytest.raises(MalformedAnswerError, match="larger than 1048576 bytes"):
            await manager.forward(PING)


async def test_a_page_has_less_room_than_an_answer():
    async with talking(answers(body=b"x" * 2000), max_page_bytes=1000) as (manager, _):
        assert len((await manager.forward(PING)).body) == 2000
        with pytest.raises(MalformedAnswerError, match="larger than 1000 bytes"):
            await manager.forward(PAGE)


@pytest.mark.parametrize(
    "status", ["0 x", "101 Switching Protocols", "600 x", "999 x", "1000 x", "-1 x", "abc x", "2x x"]
)
async def test_a_status_that_is_none_is_no_answer(status):
    async with talking(answers(status, b"{}")) as (manager, _):
        with pytest.raises(MalformedAnswerError):
            await manager.forward(PING)


def is_standby_of(active):
    """A standby that redirects to what `active` says."""

    async def script(server, writer):
        head = server.requests[-1][0]
        if head.startswith("GET /ws/v1/cluster/info"):
            body = json.dumps({"clusterInfo": {"haState": "STANDBY", "startedOn": 5}}).encode()
            return await answers(body=body)(server, writer)
        target = active()
        body = STANDBY_TEXT + target.encode()
        where = (f"Location: {target}", f"Refresh: 3; url={target}")
        return await answers("307 Temporary Redirect", body, where)(server, writer)

    return script


def is_active(started_on=9, body=b"active"):
    async def script(server, writer):
        told = body
        if server.requests[-1][0].startswith("GET /ws/v1/cluster/info"):
            told = json.dumps({"clusterInfo": {"haState": "ACTIVE", "startedOn": started_on}}).encode()
        return await answers(body=told)(server, writer)

    return script


async def test_a_standby_sends_on_to_the_registered_active_one_body_and_all():
    async with talking(answers(), is_active()) as (manager, standby, active):
        standby.script = is_standby_of(lambda: f"{active.address}/ws/v1/cluster/apps")
        assert (await manager.forward(POST)).body == b"active"
        assert active.requests[-1][1] == b"hi"
        await manager.forward(PING)
        assert manager.active_address == active.address
    assert len(standby.requests) == 1


async def test_a_standby_that_points_elsewhere_is_not_followed():
    async with serving(is_active()) as (elsewhere,):
        async with talking(is_standby_of(lambda: f"{elsewhere.address}/x")) as (manager, _):
            with pytest.raises(StandbyError, match="not a configured address"):
                await manager.forward(POST)
        assert elsewhere.requests == []


async def test_s28_a_standby_that_points_to_what_is_no_address_is_not_followed():
    async with talking(is_standby_of(lambda: "http://[evil")) as (manager, _):
        with pytest.raises(StandbyError, match="not a configured address"):
            await manager.forward(POST)


async def test_a_standby_without_location_lets_the_others_be_asked():
    refresh = answers("307 Temporary Redirect", b"Can not find any active RM. Will retry", ("Refresh: 3; url=x",))
    async with talking(refresh, refresh, is_active()) as (manager, *_):
        assert (await manager.forward(POST)).body == b"active"


async def test_no_active_one_at_all_is_said_so():
    refresh = answers("307 Temporary Redirect", b"Can not find any active RM. Will retry", ("Refresh: 3; url=x",))
    async with talking(refresh, refresh) as (manager, *_):
        with pytest.raises(StandbyError):
            await manager.forward(POST)


async def test_one_that_is_down_is_passed_over():
    async with (
        a_closed_port() as down,
        serving(is_active()) as (active,),
        talking(addresses=[down, active.address]) as (manager,),
    ):
        assert (await manager.forward(POST)).body == b"active"
        assert manager.active_address == active.address


async def test_info_of_a_standby_is_not_taken_for_that_of_the_sub_cluster():
    info = RestRequest("GET", "/ws/v1/cluster/info")
    async with talking(is_standby_of(lambda: "http://127.0.0.1:1/"), is_active()) as (manager, *_):
        assert b"ACTIVE" in (await manager.forward(info)).body
    async with talking(*[is_standby_of(lambda: "http://127.0.0.1:1/")] * 2) as (manager, *_):
        assert b"STANDBY" in (await manager.forward(info)).body


async def test_a_paused_active_one_is_left_for_its_successor_by_the_second_request():
    async with talking(is_silent, is_active(), timeout_s=6.0, connect_timeout_s=2.0) as (manager, paused, successor):
        with pytest.raises(NoAnswerError):
            await manager.forward(POST, timeout_s=1.0)
        assert (await manager.forward(POST)).body == b"active"
        assert manager.active_address == successor.address
    assert sum(head.startswith("POST") for head, _ in paused.requests) == 1


async def test_of_two_that_say_active_the_later_one_is_believed():
    async with talking(is_active(5, b"old"), is_active(9, b"new")) as (manager, old, _):
        old.script, script = is_silent, old.script
        with pytest.raises(NoAnswerError):
            await manager.forward(POST, timeout_s=1.0)
        old.script = script
        assert (await manager.forward(POST)).body == b"new"


# ---------------------------------------------------------------------- TLS


async def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path):
    async with tls_server(tmp_path) as (address, certificate):
        async with talking(addresses=[address]) as (manager,):
            with pytest.raises(NeverReachedError, match="its certificate is not trusted"):
                await manager.forward(PING)
        for files in (ClientTLSFiles(is_verified=True, ca=certificate), ClientTLSFiles(is_verified=False)):
            async with talking(addresses=[address], tls=files.context) as (manager,):
                assert (await manager.forward(PING)).body == b"{}"


@asynccontextmanager
async def tls_server(folder):
    import ssl  # noqa: PLC0415 - one test needs it
    import subprocess  # noqa: PLC0415 - one test needs it

    key, certificate = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key)]
    subprocess.run([*make, "-out", str(certificate), *subject], check=True, capture_output=True)  # noqa: ASYNC221 - 0.1 s
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = WireServer(answers())
    socket = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{socket.sockets[0].getsockname()[1]}", certificate
    finally:
        socket.close()
        await server.close()
