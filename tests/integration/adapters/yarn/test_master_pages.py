"""Pages of ApplicationMasters: who is asked for them, by the rules of `AmIpFilter`; real sockets, port 0."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.yarn import RestSettings
from adapters.yarn.master_pages import MasterPages, PageSource
from shim.domain.addresses import join_address
from shim.domain.ids import ApplicationId
from shim.errors import NoAnswerError, UnavailableError
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager, ok_answer
from tests.doubles.settings import usual

ONE = ApplicationId(1_700_000_000_000, 6)
BASE = f"/proxy/{ONE}"
HERE = "127.0.0.9"
"""Heddle's address for the ApplicationMaster."""


class FilteredMaster:
    """An ApplicationMaster's web server behind an `AmIpFilter`.

    Attributes:
        proxy: Address of the only one who sees its pages; `told` the web address that its clients call that.
        moves: Paths that it has moved, and where.
        status: Of all else; `says` what is there.
        hangs: Whether it takes requests and says nothing.
        asked: First line and headers of each request.
    """

    def __init__(self, proxy: str = HERE, told: str = "http://heddle:8088") -> None:
        self.proxy, self.told = proxy, told
        self.moves: dict[str, str] = {}
        self.status = "200 OK"
        self.hangs = False
        self.says = "its page"
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
                await reader.readexactly(int(headers.get("content-length", 0)))
                self.asked.append((first, headers))
                if self.hangs:
                    await asyncio.Event().wait()
                path = first.split()[1]
                status, where = self.status, self.moves.get(path.partition("?")[0], "")
                if writer.get_extra_info("peername")[0] != self.proxy:
                    status, where = "302 Found", f"{self.told}/proxy/redirect/{ONE}{path}"
                elif where:
                    status = "302 Found"
                location = f"Location: {where}\r\n" if where else ""
                body = f"{self.says} {path}".encode()
                writer.write(f"HTTP/1.1 {status}\r\n{location}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


class TellsOfMaster:
    """A ResourceManager that knows where an application has its web server, and has a web proxy."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.state = "RUNNING"
        self.attempts = 1
        self.pages: list[RestRequest] = []
        self.queries: list[tuple[str, str | None]] = []

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Pages by its proxy; attempts; all else as ever."""
        del timeout_s
        if request.is_page:
            self.pages.append(request)
            return RestAnswer(200, (), b"by the proxy of its ResourceManager")
        if "/appattempts" not in request.path:
            return manager.take(request)
        self.queries.append((request.path, request.user))
        if request.path.endswith("appattempts"):
            attempts = [{"id": number + 1} for number in range(self.attempts)]
            return ok_answer(json.dumps({"appAttempts": {"appAttempt": attempts}}).encode())
        return ok_answer(json.dumps({"appAttemptState": self.state, "originalTrackingUrl": self.url}).encode())


class Scene:
    def __init__(self, master: FilteredMaster, source: PageSource) -> None:
        self.master = master
        self.clock = FakeClock()
        self.manager = ScriptedResourceManager("east", clock=self.clock)
        self.rm = TellsOfMaster(master.address)
        self.manager.behave(self.rm)
        self.pages = MasterPages(
            self.manager, usual(RestSettings, connect_timeout_s=10.0), source, self.clock.monotonic_s
        )

    async def ask(self, rest: str = "/", *, timeout_s: float | None = None, **fields: object) -> RestAnswer:
        request = RestRequest("GET", f"{BASE}{rest}", user="ada", is_page=True, **fields)  # type: ignore[arg-type]
        return await self.pages.forward(request, timeout_s=timeout_s)

    @property
    def asked(self) -> list[str]:
        """Of the ApplicationMaster."""
        return [first for first, _ in self.master.asked]


@asynccontextmanager
async def a_scene(host: str = "127.0.0.1", proxy: str = HERE, **source: object) -> AsyncIterator[Scene]:
    master = FilteredMaster(proxy)
    server = await asyncio.start_server(master.serve, host, 0)
    master.address = f"http://{join_address(host, server.sockets[0].getsockname()[1])}"
    named = {"manager": "http://127.0.0.1:8088", "local_address": HERE} | source
    scene = Scene(master, PageSource(**named))  # type: ignore[arg-type]
    try:
        yield scene
    finally:
        await scene.pages.close()
        server.close()


async def test_an_application_master_that_takes_heddle_for_its_proxy_is_asked_itself_as_who_looks():
    async with a_scene() as scene:
        answer = await scene.ask("/jobs", parameters=(("a", "b"), ("user.name", "bob"), ("delegation", "token")))
    assert (answer.status, answer.body) == (200, b"its page /jobs?a=b")
    assert scene.rm.pages == []
    ((_, headers),) = scene.master.asked
    assert headers["cookie"] == "proxy-user=ada"
    assert headers["host"] == scene.master.address.removeprefix("http://")
    assert {user for _, user in scene.rm.queries} == {"ada"}


async def test_one_that_takes_its_resource_manager_for_its_proxy_is_asked_by_that():
    async with a_scene() as scene:
        scene.master.proxy, scene.master.told = "10.0.0.1", "http://rm:8088"
        assert (await scene.ask("/jobs")).body == b"by the proxy of its ResourceManager"
        assert (await scene.ask("/jobs")).body == b"by the proxy of its ResourceManager"
        assert len(scene.asked) == 1, "it is not tried each time"
        scene.master.proxy = HERE
        await scene.clock.advance(11)
        assert (await scene.ask("/jobs")).body == b"its page /jobs"


async def test_one_that_finds_no_proxy_that_it_knows_is_asked_by_its_resource_manager():
    async with a_scene() as scene:
        scene.master.status = "500 Server Error"
        assert (await scene.ask()).status == 500, "a page of its own"
        scene.master.says = "ServletException: Could not determine the proxy server for redirection"
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"


async def test_a_reader_whom_it_has_sent_here_is_never_sent_to_the_other_proxy():
    async with a_scene() as scene:
        assert (await scene.ask("/jobs", is_redirected=True)).body == b"its page /jobs"
        scene.master.proxy = "10.0.0.1"  # what it knows is another address of Heddle
        with pytest.raises(UnavailableError, match=f"{ONE} sends whoever looks .* takes heddle:8088 for its proxy"):
            await scene.ask("/jobs", is_redirected=True)
        assert scene.rm.pages == []


async def test_its_own_redirects_are_followed_and_others_are_told():
    async with a_scene() as scene:
        scene.master.moves = {
            "/": f"{scene.master.address}/mapreduce",
            "/relative": "mapreduce?x=1",
            "/away": "http://elsewhere:1/x",
            "/proxied": f"{BASE}/jobs",
            "/loop": "/loop",
            "/odd": "/a b?c d",
        }
        assert (await scene.ask()).body == b"its page /mapreduce"
        assert (await scene.ask("")).body == b"its page /mapreduce"
        assert (await scene.ask("/relative")).body == b"its page /mapreduce?x=1"
        assert (await scene.ask("/away")).header("Location") == "http://elsewhere:1/x"
        assert (await scene.ask("/proxied")).header("Location") == f"{BASE}/jobs"
        assert (await scene.ask("/odd")).body == b"its page /a%20b?c%20d"
        assert (await scene.ask("/loop")).header("Location") == "/loop"
        assert scene.rm.pages == []


async def test_the_address_may_have_a_path_and_no_scheme():
    async with a_scene() as scene:
        scene.rm.url = f"{scene.master.address.removeprefix('http://')}/ui/?tab=1#x"
        assert (await scene.ask("/jobs")).body == b"its page /ui/jobs?tab=1"


@pytest.mark.parametrize("state", ["FINISHED", "FAILED", "KILLED", "LAUNCHED", "FINAL_SAVING", ""])
async def test_one_that_does_not_run_is_asked_by_nobody_but_its_resource_manager(state):
    async with a_scene() as scene:
        scene.rm.state = state
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"
        scene.rm.state = "RUNNING"
        assert (await scene.ask()).body == b"its page /", "it is asked as soon as it runs"


async def test_the_last_attempt_counts():
    async with a_scene() as scene:
        scene.rm.attempts = 3
        await scene.ask()
    assert scene.rm.queries[-1][0].endswith("/appattempt_1700000000000_0006_000003")


async def test_an_attempt_that_cannot_be_read_costs_itself_alone():
    async with a_scene() as scene:
        rows = [None, {"id": 1}, {"id": None}, "x", {"id": "2"}, [], {}]

        async def behave(manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None) -> RestAnswer:
            if request.path.endswith("appattempts"):
                return ok_answer(json.dumps({"appAttempts": {"appAttempt": rows}}).encode())
            answer: RestAnswer = await scene.rm(manager, request, timeout_s)
            return answer

        scene.manager.behave(behave)
        assert (await scene.ask()).body == b"its page /"
    assert scene.rm.queries[-1][0].endswith("_000002")


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 on this machine")
async def test_one_at_an_address_of_version_six_is_asked_too():
    async with a_scene("::1", "::1", manager="http://[::1]:8088", local_address="") as scene:
        scene.master.moves["/"] = f"{scene.master.address}/jobs"
        assert (await scene.ask()).body == b"its page /jobs"
    assert scene.master.asked[-1][1]["host"] == scene.master.address.removeprefix("http://")


async def test_documents_of_older_resource_managers_are_read():
    async with a_scene() as scene:
        attempt = {"appAttemptState": "RUNNING", "originalTrackingUrl": scene.master.address}
        told = {"appattempts": {"appAttempts": {"appAttempt": {"id": "2"}}}, "000002": {"appAttempt": attempt}}

        async def behave(manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None) -> RestAnswer:
            del manager, timeout_s
            end = next(end for end in told if request.path.endswith(end))
            return ok_answer(json.dumps(told[end]).encode())

        scene.manager.behave(behave)
        assert (await scene.ask()).body == b"its page /"


async def test_a_new_attempt_is_found_when_the_old_one_is_gone():
    async with a_scene() as scene:
        there = scene.rm.url
        scene.rm.url = "http://127.0.0.1:1024"  # nobody listens
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"
        scene.rm.url = there
        await scene.clock.advance(11)
        assert (await scene.ask()).body == b"its page /"


async def test_one_that_hangs_takes_the_time_that_there_is_and_no_more():
    async with a_scene() as scene:
        scene.master.hangs = True
        with pytest.raises(NoAnswerError):
            await scene.ask(timeout_s=0.05)
        assert scene.rm.pages == []


@pytest.mark.parametrize(
    "url",
    [
        "N/A",
        "",
        "http://",
        "http://127.0.0.1:22/",
        "http://127.0.0.1/",
        "http://127.0.0.1:99999/",
        "http://user@127.0.0.1:{port}/",
        "ftp://127.0.0.1:{port}/",
        "file:///etc/passwd",
        "http://169.254.169.254:8080/latest/meta-data",
        "http://0.0.0.0:{port}/",
        "http://[::ffff:169.254.169.254]:8080/",
        "http://[::1]:{port}/",
        "http://127.0.0.1:{port}/" + "a" * 2048,
    ],
)
async def test_no_application_sends_heddle_where_no_application_is(url):
    async with a_scene() as scene:
        scene.rm.url = url.format(port=scene.master.address.rpartition(":")[2])
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"
        with pytest.raises(UnavailableError):
            await scene.ask(is_redirected=True)
        assert scene.asked == []


async def test_this_machine_is_asked_only_where_the_cluster_is_on_it():
    async with a_scene(manager="http://10.0.0.1:8088") as scene:
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"
        assert scene.asked == []


async def test_heddles_own_servers_are_no_application_masters():
    async with a_scene() as scene:
        port = int(scene.master.address.rpartition(":")[2])
        source = PageSource("http://127.0.0.1:8088", own_ports=(port,), local_address=HERE)
        pages = MasterPages(scene.manager, usual(RestSettings), source, scene.clock.monotonic_s)
        assert (await pages.forward(RestRequest("GET", f"{BASE}/", is_page=True))).body.startswith(b"by the proxy")
        await pages.close()
        assert scene.asked == []


@pytest.mark.parametrize(
    ("hosts", "is_asked"),
    [((), True), (("127.0.0.1",), True), ((".0.0.1",), True), (("node.east",), False), ((".east",), False)],
)
async def test_hosts_may_be_named(hosts, is_asked):
    async with a_scene(hosts=hosts) as scene:
        await scene.ask()
        assert bool(scene.asked) is is_asked


@pytest.mark.parametrize("document", [{}, {"appAttempts": None}, {"appAttempts": {"appAttempt": 5}}, [], "x"])
async def test_a_resource_manager_that_does_not_tell_is_asked_for_the_page(document):
    async with a_scene() as scene:

        async def behave(manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None) -> RestAnswer:
            if request.is_page:
                shown: RestAnswer = await scene.rm(manager, request, timeout_s)
                return shown
            return RestAnswer(200, (), json.dumps(document).encode())

        scene.manager.behave(behave)
        assert (await scene.ask()).body == b"by the proxy of its ResourceManager"


async def test_a_change_is_sent_once():
    async with a_scene() as scene:
        scene.master.moves = {"/x": "/y"}
        request = RestRequest("PUT", f"{BASE}/x", user="ada", body=b"{}", is_page=True)
        assert (await scene.pages.forward(request)).status == 302
        assert scene.asked == ["PUT /x HTTP/1.1"]


async def test_what_is_no_page_goes_to_the_resource_manager_as_it_is():
    async with a_scene() as scene:
        assert (await scene.pages.query("/ws/v1/cluster/info")).status == 200
        assert scene.asked == []
