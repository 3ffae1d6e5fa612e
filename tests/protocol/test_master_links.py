"""Links between masters on real sockets, with ends that misbehave."""

import asyncio
import base64
import logging
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import aiohttp
import pytest

from adapters.peers import LinkListener, LinkSettings, WebSocketDialer
from adapters.peers.link import PATH
from shim.app.host_limits import SystemClock
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import HomeProposal
from shim.errors import MasterLinkError, RemoteProtocolError
from shim.federation.core.federation_view import Applied, FederationView, ViewSettings
from shim.peers.following import Following, FollowingSettings
from shim.peers.launches import LaunchVerification
from shim.peers.local import ReportService
from shim.peers.roster import Roster
from shim.peers.verification import HomeVerification, stripped
from shim.ports.lease_store import Lease
from shim.protocol.peers import (
    ChallengeFrame,
    Credentials,
    HelloFrame,
    OutcomeFrame,
    OutcomeKind,
    ProofFrame,
    ProposalFrame,
    ReportFollower,
    ResyncFrame,
    VerdictFrame,
    WelcomeFrame,
    encode_frame,
)
from tests.doubles.builders import a_submission
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.proxy import Proxy

EAST = SubClusterId("east")
SECRET = b"canary-secret-of-the-masters"
SETTINGS = LinkSettings(
    handshake_s=60.0, silent_after_s=60.0, send_within_s=60.0, max_frame_bytes=64 * 1024, max_links=4
)
QUICK = replace(SETTINGS, handshake_s=0.5, silent_after_s=0.6, send_within_s=1.0)
"""Of tests that wait for one of these: in others a busy machine would be late."""


async def until(holds, within_s=60.0):
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in other tasks, that tell nobody
            await asyncio.sleep(0.01)


class Accepts:
    """What a listener does: remembers its links, and reads them until they end."""

    def __init__(self):
        self.links = []
        self.frames = []

    async def __call__(self, link):
        self.links.append(link)
        while True:
            self.frames.append(await link.receive())


@asynccontextmanager
async def listening(accept, *, speaker="lm/east", secret=SECRET, settings=SETTINGS):
    listener = LinkListener(Credentials(speaker, secret), accept, host="127.0.0.1", port=0, settings=settings)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop()


@asynccontextmanager
async def dialling(*, secret=SECRET, settings=SETTINGS):
    dialer = WebSocketDialer(Credentials("gm/a", secret), settings)
    try:
        yield dialer
    finally:
        await dialer.close()


@asynccontextmanager
async def raw(listener):
    """A WebSocket of somebody who may do anything."""
    async with aiohttp.ClientSession() as session, session.ws_connect(f"http://{listener.address}{PATH}") as socket:
        yield socket


async def test_both_ends_know_each_other_and_frames_go_both_ways():
    accept = Accepts()
    async with listening(accept) as listener, dialling() as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        await link.send(ResyncFrame())
        await until(lambda: accept.frames)
        (other,) = accept.links
        assert (link.peer, other.peer, other.address) == ("lm/east", "gm/a", "127.0.0.1")
        await other.send(ResyncFrame())
        assert await link.receive() == ResyncFrame()
        await link.close()


@pytest.mark.parametrize("side", ["dialler", "listener"])
async def test_who_has_another_secret_is_refused_and_the_secret_is_told_nowhere(side, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    accept = Accepts()
    theirs = {"dialler": (SECRET, b"another"), "listener": (b"another", SECRET)}[side]
    async with listening(accept, secret=theirs[0]) as listener, dialling(secret=theirs[1]) as dialer:
        with pytest.raises(MasterLinkError) as raised:
            await dialer.dial(listener.address, expected="lm/east")
    assert accept.links == []
    told = f"{raised.value} {caplog.text} {''.join(capfd.readouterr())}"
    assert "canary" not in told


async def test_somebody_else_at_the_address_is_refused_before_anything_is_proven():
    accept = Accepts()
    async with listening(accept, speaker="lm/west") as other, dialling() as dialer:
        with pytest.raises(MasterLinkError, match="lm/west"):
            await dialer.dial(other.address, expected="lm/east")
    assert accept.links == []


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\xc1\xff garbage",
        encode_frame(HelloFrame("gm/a")),
        encode_frame(WelcomeFrame(b"x" * 32)),
        encode_frame(ProofFrame("gm/a", b"n" * 32, b"p" * 32)),
        encode_frame(ProofFrame("gm/a", b"", b"")),
        b"x" * 70_000,
    ],
    ids=["nothing", "garbage", "hello", "welcome", "wrong proof", "empty proof", "too large"],
)
async def test_who_proves_nothing_is_cut_and_others_are_served(said):
    accept = Accepts()
    async with listening(accept) as listener, dialling() as dialer:
        async with raw(listener) as socket:
            assert (await socket.receive()).type is aiohttp.WSMsgType.BINARY
            await socket.send_bytes(said)
            closing = await socket.receive(timeout=60)
            assert closing.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert accept.links == []
        link = await dialer.dial(listener.address, expected="lm/east")
        assert len(accept.links) == 1
        await link.close()


async def test_who_says_nothing_is_cut_in_time():
    async with listening(Accepts(), settings=QUICK) as listener, raw(listener) as socket:
        await socket.receive()
        closing = await socket.receive(timeout=60)
        assert closing.type is aiohttp.WSMsgType.CLOSE
        assert "no handshake in time" in closing.extra


HEAD = b"GET /masters/1 HTTP/1.1\r\nHost: a\r\n"
SILENT = {
    "nothing": b"",
    "half a head": HEAD,
    "no upgrade": HEAD + b"\r\n",
    "an upgrade": HEAD + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "a body that does not come": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
}


@pytest.mark.parametrize("said", SILENT.values(), ids=SILENT.keys())
async def test_a_connection_that_proves_nothing_is_cut_whatever_it_says(said):
    async with listening(Accepts(), settings=QUICK) as listener:
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(said)
        with suppress(ConnectionError):
            async with asyncio.timeout(60):
                while await reader.read(4096):
                    pass
        writer.close()


async def test_of_too_many_connections_that_prove_nothing_the_oldest_goes():
    async with listening(Accepts(), settings=replace(SETTINGS, handshake_s=60.0)) as listener:
        host, _, port = listener.address.rpartition(":")
        ends = [await asyncio.open_connection(host, int(port)) for _ in range(3 * SETTINGS.max_links)]
        with suppress(ConnectionError):
            async with asyncio.timeout(60):
                assert await ends[0][0].read() == b""
        async with dialling() as dialer:
            link = await dialer.dial(listener.address, expected="lm/east")
            await link.close()
        for _, writer in ends:
            writer.close()


async def test_a_text_is_no_frame():
    async with listening(Accepts()) as listener, raw(listener) as socket:
        await socket.receive()
        await socket.send_str("hello")
        assert (await socket.receive(timeout=60)).type is aiohttp.WSMsgType.CLOSE


@pytest.mark.parametrize("kind", ["headers", "challenge"])
async def test_a_large_frame_of_who_has_proved_nothing_is_not_read(kind):
    frames = {
        "headers": OutcomeFrame(1, OutcomeKind.TAKEN, headers=(("", ""),) * 900),
        "challenge": ProofFrame("gm/a", b"n" * 5000, b"p"),
    }
    async with listening(Accepts()) as listener, raw(listener) as socket:
        await socket.receive()
        await socket.send_bytes(encode_frame(frames[kind]) + b" " * 8000)
        told = await socket.receive(timeout=60)
    assert told.type is aiohttp.WSMsgType.CLOSE
    assert "the limit is 4096" in str(told.extra)


@pytest.mark.parametrize("said", ["a head without end", "a body", "a frame", "half a frame"])
async def test_who_has_proved_nothing_makes_a_master_keep_a_few_kibibytes(said):
    """Up to the largest frame was kept for each of hundreds before anybody was asked for a proof."""
    upgrade = (
        f"GET {PATH} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()
    frame = b"\x82\xff" + (1024 * 1024).to_bytes(8) + bytes(4)
    begins = {
        "a head without end": f"GET {PATH} HTTP/1.1\r\n".encode(),
        "a body": f"GET {PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n".encode(),
        "a frame": upgrade + frame,
        "half a frame": upgrade + b"\x02\xff" + (1024 * 1024).to_bytes(8) + bytes(4),
    }
    more = b"X: y\r\n" * 200 if said == "a head without end" else bytes(1024)
    async with listening(Accepts(), settings=replace(SETTINGS, max_frame_bytes=4 * 1024 * 1024)) as listener:
        host, _, port = listener.address.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        sent = 0
        with suppress(OSError):
            writer.write(begins[said])
            while sent < 1024 * 1024:
                writer.write(more)
                sent += len(more)
                await writer.drain()
                await asyncio.sleep(0)
        with suppress(OSError):
            async with asyncio.timeout(10):
                while await reader.read(65536):
                    pass
        assert sent < 1024 * 1024
        writer.close()
    accept = Accepts()
    async with listening(accept) as listener, dialling() as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        await link.send(OutcomeFrame(1, OutcomeKind.TAKEN, message="x" * 40_000))
        await until(lambda: accept.frames)
        await link.close()


async def test_more_links_than_allowed_are_refused_until_one_ends():
    async with listening(Accepts()) as listener, dialling() as dialer:
        links = [await dialer.dial(listener.address, expected="lm/east") for _ in range(SETTINGS.max_links)]
        with pytest.raises(MasterLinkError, match="503"):
            await dialer.dial(listener.address, expected="lm/east")
        await links[0].close()

        async def again():
            with suppress(MasterLinkError):
                return await dialer.dial(listener.address, expected="lm/east")

        link = None
        async with asyncio.timeout(60):
            while link is None:
                await asyncio.sleep(0.02)
                link = await again()
        for each in (link, *links[1:]):
            await each.close()


async def test_s27_whoever_proves_nothing_keeps_no_master_out():
    patient = replace(SETTINGS, handshake_s=30.0)
    async with (
        listening(Accepts(), settings=patient) as listener,
        dialling(settings=patient) as dialer,
        aiohttp.ClientSession() as session,
    ):
        for _ in range(3 * patient.max_links):
            await session.ws_connect(f"http://{listener.address}{PATH}")
        link = await dialer.dial(listener.address, expected="lm/east")
        await until(lambda: len(listener._entering) < patient.max_links)
        await link.close()


async def test_a_listener_that_is_no_master_is_told_as_such():
    async def talks(reader, writer):
        await reader.read(100)
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    server = await asyncio.start_server(talks, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with dialling() as dialer:
        with pytest.raises(MasterLinkError, match="lm/east"):
            await dialer.dial(f"127.0.0.1:{port}", expected="lm/east")
        server.close()
        await server.wait_closed()
        with pytest.raises(MasterLinkError, match="cannot be reached"):
            await dialer.dial(f"127.0.0.1:{port}", expected="lm/east")


async def test_an_end_that_answers_no_ping_counts_as_gone():
    """As a process that is stopped: its socket takes everything, and nothing comes back."""
    silent = replace(SETTINGS, silent_after_s=QUICK.silent_after_s)
    async with (
        listening(Accepts()) as listener,
        Proxy(listener.address) as proxy,
        dialling(settings=silent) as dialer,
    ):
        link = await dialer.dial(proxy.address, expected="lm/east")
        proxy.freeze()
        async with asyncio.timeout(60):
            with pytest.raises(MasterLinkError):
                await link.receive()


# ---------------------------------------------------------------------- a Local Master and its followers


class LocalMasterDouble:
    """A report service whose polls the test makes up."""

    def __init__(self):
        self.clock = SystemClock()
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=60))
        launches = LaunchVerification(EAST, self.view, self.clock, lasts_s=30)
        homes = HomeVerification(EAST, self.view, self.clock)
        self.service = ReportService(EAST, "life", homes.verify, self.clock, launches.verify, launches.claims)
        self.sequence = 0

    def poll(self, **fields):
        self.sequence += 1
        report = a_report("east", self.sequence, polled_at_s=self.clock.now_s(), incarnation=1, **fields)
        self.view.apply(report)
        self.service.reported(report, Applied(is_new=True))


@pytest.fixture
def local_master():
    return LocalMasterDouble()


async def test_who_does_not_read_loses_deltas_gets_a_whole_report_later_and_holds_up_nobody(local_master):
    patient = replace(SETTINGS, silent_after_s=60.0, send_within_s=60.0, max_frame_bytes=1024 * 1024)
    async with (
        listening(local_master.service.serve, settings=patient) as listener,
        Proxy(listener.address) as proxy,
        dialling(settings=patient) as dialer,
    ):
        slow = await dialer.dial(proxy.address, expected="lm/east")
        await slow.send(HelloFrame("slow"))
        quick = await dialer.dial(listener.address, expected="lm/east")
        await quick.send(HelloFrame("quick"))
        await until(lambda: len(local_master.service.followers) == 2)
        proxy.freeze()
        polls = 200
        reader, seen = ReportFollower("quick"), []
        for turn in range(polls):
            local_master.poll(documents={"nodes": os.urandom(200_000)}, used=ResourceVector(turn, 1))
            seen += reader.receive(await quick.receive())
        assert [report.sequence for report in seen] == list(range(1, polls + 1))
        waiting = [follower.waiting.qsize() for follower in local_master.service._followers]
        assert max(waiting) <= 16
        proxy.thaw()
        follower, told = ReportFollower("slow"), []
        while not told or told[-1].sequence < polls:
            answer = follower.receive(await slow.receive())
            if isinstance(answer, ResyncFrame):
                await slow.send(answer)
            else:
                told += answer
        assert told[-1].used == ResourceVector(polls - 1, 1)
        assert len(told) < polls
        await slow.close()
        await quick.close()


async def test_who_takes_nothing_for_too_long_is_let_go(local_master):
    patient = replace(SETTINGS, silent_after_s=60.0, send_within_s=0.2)
    async with (
        listening(local_master.service.serve, settings=patient) as listener,
        Proxy(listener.address) as proxy,
        dialling(settings=patient) as dialer,
    ):
        link = await dialer.dial(proxy.address, expected="lm/east")
        await link.send(HelloFrame("slow"))
        await until(lambda: local_master.service.followers)
        proxy.freeze()

        def is_gone():
            local_master.poll(documents={"nodes": os.urandom(500_000)})
            return not local_master.service.followers

        await until(is_gone)
        proxy.thaw()
        await link.close()


async def test_a_flood_of_proposals_is_answered_one_by_one_in_order(local_master):
    local_master.poll()
    async with listening(local_master.service.serve) as listener, dialling() as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        await link.send(HelloFrame("a", "life", 1))
        numbers = range(1, 501)
        for number in numbers:
            await link.send(ProposalFrame(number, stripped(HomeProposal(a_submission(number, queue="root.default")))))
        answers = [await link.receive() for _ in numbers]
        assert [answer.number for answer in answers if isinstance(answer, VerdictFrame)] == list(numbers)
        await link.close()


@pytest.mark.parametrize(
    "frame",
    [VerdictFrame, ChallengeFrame("lm/x", b"n"), WelcomeFrame(b"x")],
    ids=["verdict", "challenge", "welcome"],
)
async def test_frames_of_the_wrong_kind_end_the_link(local_master, frame):
    if frame is VerdictFrame:
        frame = VerdictFrame(1, local_master.service._verify(HomeProposal(a_submission(1))))
    local_master.poll()
    async with listening(local_master.service.serve) as listener, dialling() as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        await link.send(HelloFrame("a", "life", 1))
        await link.send(frame)
        with pytest.raises(MasterLinkError, match="nothing that a Local Master is told"):
            await link.receive()
        assert local_master.service.followers == ()


async def test_a_proxy_that_is_closed_to_one_global_master_leaves_the_other_alone(local_master):
    """One of two is cut off: it knows how old its view is, the other one's goes on."""

    def following(me, address, dialer):
        roster = Roster()
        roster.update([Lease("lm/east", "life", address, 1, 3600.0)], read_at_s=local_master.clock.monotonic_s())
        view = FederationView((EAST,), usual(ViewSettings, late_after_s=0.5))
        return view, Following(
            GlobalMasterId(me), view, dialer, roster, local_master.clock, usual(FollowingSettings, retry_s=0.05)
        )

    def age(view):
        return view.look(EAST, local_master.clock.now_s()).age_s

    async with (
        listening(local_master.service.serve) as listener,
        Proxy(listener.address) as proxy,
        dialling() as one,
        dialling() as two,
    ):
        near, near_following = following("near", listener.address, one)
        far, far_following = following("far", proxy.address, two)
        near_following.start()
        far_following.start()
        local_master.poll()
        await until(lambda: len(local_master.service.followers) == 2)
        local_master.poll()
        await until(lambda: age(far) < 60)
        await proxy.cut()
        cut_at_s = local_master.clock.now_s()
        await until(lambda: far_following.links()[0].trouble)
        while local_master.clock.now_s() - cut_at_s < 0.8:
            local_master.poll()
            await asyncio.sleep(0.05)
        await until(lambda: age(near) < age(far))
        assert age(far) > 0.7
        assert far.late(local_master.clock.now_s()) == (EAST,)
        assert (near_following.links()[0].is_linked, far_following.links()[0].is_linked) == (True, False)
        await near_following.stop()
        await far_following.stop()


async def test_remote_errors_of_the_service_are_told_to_the_other_end():
    async def refuses(link):
        raise RemoteProtocolError("because")

    async with listening(refuses) as listener, dialling() as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        with pytest.raises(MasterLinkError, match="because"):
            await link.receive()
