"""Pages of ApplicationMasters through Heddle's proxy: what travels, what does not, and who may."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.roles import TokenScope
from shim.identity.service import Caller, IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.proxy import ApplicationPages, PageSettings
from shim.server.rest.bearer_tokens import BearerCallers
from shim.server.rest.callers import BelievedCallers
from shim.server.rest.messages import Answer, Request
from tests.doubles.misbehaviours import IsPaused
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

ONE = ApplicationId(1_700_000_000_000, 6)
BASE = f"/proxy/{ONE}"


class ShowsAPage:
    """A ResourceManager whose web proxy answers every page alike."""

    def __init__(self, status: int = 200, *headers: tuple[str, str], body: bytes = b"<h1>page</h1>") -> None:
        self.answer = RestAnswer(status, (("Content-Type", "text/html"), *headers), body)
        self.asked: list[RestRequest] = []

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """A page; all else as ever."""
        del timeout_s
        if not request.is_page:
            return manager.take(request)
        self.asked.append(request)
        return self.answer


class Pages:
    """The proxy before a scripted federation."""

    def __init__(self, *, guarded: tuple[str, ...] = (), histories: tuple[str, ...] = (), own_host: str = "") -> None:
        self.server = ScriptedServer(
            guarded=guarded, rules=usual(IdentityRules, allow_anonymous=not guarded, admins=("queen",))
        )
        self.server.federation["west"].add_application(ONE, user="bob")
        self.shown = ShowsAPage()
        self.told: list[str] = []
        self.pages = ApplicationPages(
            self.server.backend,
            self.server.identity,
            BearerCallers(self.server.api_tokens, BelievedCallers(self.server.identity)),
            PageSettings({SubClusterId("west"): histories}, 8088, own_host=own_host),
            report=lambda record: self.told.append(f"{record.operation} {record.subcluster} {record.status}"),
        )

    def show(self, status: int = 200, *headers: tuple[str, str], body: bytes = b"<h1>page</h1>") -> ShowsAPage:
        """Answer so from now on."""
        self.shown = ShowsAPage(status, *headers, body=body)
        self.server.federation["west"].behave(self.shown)
        return self.shown

    async def ask(self, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """A request at the proxy's own address."""
        path, _, query = target.partition("?")
        named = {"host": "heddle:8089", **{name.replace("_", "-"): value for name, value in headers.items()}}
        request = Request(method, path, query, tuple(named.items()), body, "127.0.0.1")
        return await self.server.federation.wait_for(self.pages.answer(request))


@pytest.fixture
async def pages() -> Pages:
    made = Pages(histories=("http://history:19888",))
    await made.server.poll()
    made.show()
    return made


def named(answer: Answer) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers}


async def test_a_page_is_asked_of_the_homes_own_proxy_as_whoever_looks(pages):
    answer = await pages.ask(
        f"{BASE}/ws/v1/mapreduce/info?a=b&user.name=alice", accept="text/html", cookie="JSESSION=1"
    )
    assert (answer.status, answer.body) == (200, b"<h1>page</h1>")
    (asked,) = pages.shown.asked
    assert (asked.method, asked.path, asked.user) == ("GET", f"{BASE}/ws/v1/mapreduce/info", "alice")
    assert ("a", "b") in asked.parameters
    assert {name.lower() for name, _ in asked.headers} == {"accept"}
    assert pages.told == ["GET proxy west 200"]


async def test_neither_credentials_go_on_nor_cookies_or_wider_rights_come_back(pages):
    pages.show(
        200,
        ("Set-Cookie", "hadoop.auth=stolen"),
        ("Access-Control-Allow-Origin", "*"),
        ("Clear-Site-Data", '"*"'),
        ("Strict-Transport-Security", "max-age=1"),
        ("Refresh", "0; url=http://evil"),
        ("Link", "<http://evil>; rel=preload"),
    )
    answer = await pages.ask(
        f"{BASE}/?user.name=alice", authorization="Negotiate abc", cookie="hadoop.auth=x", x_forwarded_for="10.0.0.1"
    )
    sent = {name.lower() for name, _ in pages.shown.asked[0].headers}
    assert not sent & {"authorization", "cookie", "x-forwarded-for"}
    got = named(answer)
    assert "stolen" not in str(answer.headers)
    assert not {"access-control-allow-origin", "clear-site-data", "strict-transport-security", "refresh", "link"} & set(
        got
    )
    assert got["x-content-type-options"] == "nosniff"


async def test_head_is_a_page_without_its_body(pages):
    answer = await pages.ask(f"{BASE}/", "HEAD")
    assert (answer.status, answer.body, pages.shown.asked[0].method) == (200, b"", "GET")


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "TRACE"])
async def test_methods_that_yarns_proxy_has_not_are_refused(pages, method):
    assert (await pages.ask(f"{BASE}/?user.name=bob", method)).status == 405
    assert pages.shown.asked == []


async def test_a_change_is_not_sent_by_another_site(pages):
    assert (await pages.ask(f"{BASE}/x?user.name=bob", "PUT", b"{}", origin="http://evil")).status == 403
    assert (await pages.ask(f"{BASE}/x?user.name=bob", "PUT", b"{}", origin="http://heddle:8088")).status == 403
    assert pages.shown.asked == []
    assert (await pages.ask(f"{BASE}/x?user.name=bob", "PUT", b"{}", content_type="application/json")).status == 200
    assert (pages.shown.asked[0].method, pages.shown.asked[0].body) == ("PUT", b"{}")


async def test_s1_a_change_needs_a_name():
    pages = Pages(guarded=("west",))
    await pages.server.poll()
    pages.show()
    assert (await pages.ask(f"{BASE}/x", "PUT", b"{}", content_type="application/json")).status == 401
    assert pages.shown.asked == []


@pytest.mark.parametrize(
    ("told", "place"),
    [
        (f"http://rm.west:8088{BASE}/jobs", f"{BASE}/jobs"),
        (f"http://rm.west:8088/cluster/app/{ONE}", f"http://heddle:8088/cluster/app/{ONE}"),
        ("http://history:19888/jobhistory/job/job_1_6", "http://history:19888/jobhistory/job/job_1_6"),
    ],
)
async def test_redirects_lead_here_or_to_the_named_history(pages, told, place):
    pages.show(302, ("Location", told))
    answer = await pages.ask(f"{BASE}/")
    assert (answer.status, named(answer)["location"]) == (302, place)


async def test_a_redirect_to_anywhere_else_is_shown_and_not_followed(pages):
    pages.show(302, ("Location", 'http://evil/"><script>x</script>'))
    answer = await pages.ask(f"{BASE}/")
    assert answer.status == 200
    assert "location" not in named(answer)
    assert b"http://evil/&quot;&gt;&lt;script&gt;" in answer.body
    assert "script-src" not in named(answer)["content-security-policy"] or b"<script>" not in answer.body


@pytest.mark.parametrize("told", ["javascript:alert(1)", "file:///etc/passwd", "", "gopher://x"])
async def test_a_redirect_that_no_browser_should_go_to_is_no_page(pages, told):
    pages.show(302, ("Location", told))
    assert (await pages.ask(f"{BASE}/")).status == 404


@pytest.mark.parametrize(
    "path", [f"{BASE}/../../ws/v1/cluster/apps", f"{BASE}/%2e%2e/x", f"{BASE}/a;b", f"{BASE}/a%2f..%2fb"]
)
async def test_no_path_leaves_the_page(pages, path):
    assert (await pages.ask(path)).status == 400
    assert pages.shown.asked == []


async def test_web_services_and_pages_of_heddle_are_not_here(pages):
    for path in ("/ws/v1/cluster/apps", "/heddle/v1/clusters", "/console/", "/cluster", "/metrics", "/conf"):
        assert (await pages.ask(path)).status == 404
    assert named(await pages.ask("/"))["location"] == "http://heddle:8088/console/"


async def test_an_unknown_application_is_a_404_and_an_odd_name_a_404_or_400(pages):
    assert (await pages.ask("/proxy/application_1_1/")).status == 404
    assert (await pages.ask("/proxy/http:%2F%2Fevil/")).status in (400, 404)


async def test_where_applications_are_guarded_others_see_no_page():
    pages = Pages(guarded=("west",))
    await pages.server.poll()
    pages.show()
    assert (await pages.ask(f"{BASE}/?user.name=alice")).status == 403
    assert pages.shown.asked == []
    assert (await pages.ask(f"{BASE}/?user.name=bob")).status == 200
    assert (await pages.ask(f"{BASE}/?user.name=queen")).status == 200
    assert (await pages.ask(f"{BASE}/")).status == 403


async def test_a_cluster_that_hangs_is_named_and_only_so_many_wait_for_it(pages):
    pages.server.federation["west"].behave(IsPaused())
    answers = await asyncio.gather(*(pages.ask(f"{BASE}/") for _ in range(40)))
    told = [body_of(answer)["RemoteException"]["message"] for answer in answers]
    assert {answer.status for answer in answers} == {503}
    assert sum("too many pages" in each for each in told) == 8
    assert sum("west does not answer" in each for each in told) == 32


async def test_the_web_services_send_browsers_to_the_proxy():
    server = ScriptedServer(pages=lambda _: "http://heddle:8089")
    server.federation["west"].add_application(ONE)
    await server.poll()
    for path in (f"{BASE}/jobs?x=1", f"/proxy/redirect/{ONE}/jobs?x=1"):
        answer = await server.ask("GET", path)
        assert (answer.status, named(answer)["location"]) == (302, f"http://heddle:8089{path}")


async def test_a_reader_whom_an_application_master_has_sent_here_is_not_sent_to_the_resource_manager(pages):
    assert (await pages.ask(f"/proxy/redirect/{ONE}/jobs?a=b")).status == 200
    (asked,) = pages.shown.asked
    assert (asked.path, asked.is_redirected) == (f"{BASE}/jobs", True)
    await pages.ask(f"{BASE}/jobs")
    assert not pages.shown.asked[1].is_redirected
    assert (await pages.ask("/proxy/redirect/")).status in (400, 404)


async def test_where_pages_have_no_address_of_their_own_they_are_read_and_nothing_in_them_acts(pages):
    server = ScriptedServer(read_alone=pages.pages.read_alone)
    server.federation["west"].add_application(ONE)
    await server.poll()
    pages.show(body=b"<script>x</script>")
    answer = await server.ask("GET", f"/proxy/redirect/{ONE}/jobs?a=b&user.name=bob")
    assert (answer.status, answer.body) == (200, b"<script>x</script>")
    policy = named(answer)["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none';")
    assert "allow" not in policy
    assert "script-src" not in policy
    (asked,) = pages.shown.asked
    assert (asked.path, asked.user, asked.is_redirected) == (f"{BASE}/jobs", "bob", True)
    pages.shown.answer = RestAnswer(200, (("Content-Type", "application/javascript"),), b"x()")
    assert named(await server.ask("GET", f"/proxy/redirect/{ONE}/x.js"))["content-type"] == "text/plain;charset=utf-8"
    pages.show(302, ("Location", "http://evil/x"))
    assert b"http://evil/x" in (await server.ask("GET", f"/proxy/redirect/{ONE}/jobs")).body
    assert (await server.ask("GET", f"/proxy/redirect/{ONE}/x", service_worker="script")).status == 403
    assert (await server.ask("PUT", f"/proxy/redirect/{ONE}/x?user.name=bob")).status in (404, 405)
    assert (await server.ask("GET", f"{BASE}/jobs")).status == 302, "a reader who comes by himself goes to the home"


@pytest.mark.parametrize(
    ("scope", "changes"), [(TokenScope.READ, 403), (TokenScope.OPERATE, 403), (TokenScope.SUBMIT, 200)]
)
async def test_an_api_token_looks_and_changes_by_its_scope_and_stays_here(pages, scope, changes):
    made = await pages.server.api_tokens.create(
        Caller("bob", "bob"), name="ci", owner="", scopes={scope}, lifetime_s=60.0
    )
    shown = f"Bearer {made.text}"
    looked = await pages.ask(f"{BASE}/", authorization=shown)
    assert (looked.status, "set-cookie" in named(looked)) == (200, False)
    assert (await pages.ask(f"{BASE}/kill", "PUT", b"{}", authorization=shown)).status == changes
    asked = pages.shown.asked
    assert [each.method for each in asked] == ["GET", *(["PUT"] if changes == 200 else [])]
    assert {each.user for each in asked} == {"bob"}
    assert made.text not in repr(asked) + repr(looked)
    refused = await pages.ask(f"{BASE}/?user.name=bob", authorization=shown[:-1])
    assert (refused.status, named(refused)["www-authenticate"].partition(" ")[0]) == (401, "Bearer")


async def test_no_page_begins_a_service_worker(pages):
    answer = await pages.ask(f"{BASE}/worker.js", service_worker="script")
    assert (answer.status, pages.shown.asked) == (403, [])


@pytest.mark.parametrize(
    ("host", "has_origin"),
    [
        ("pages.example.org:8089", True),
        ("PAGES.example.org", True),
        ("heddle:8089", False),
        ("127.0.0.1:8089", False),
        ("x.pages.example.org", False),
        ("pages.example.org@evil", False),
        ("", False),
    ],
)
async def test_pages_have_an_origin_at_the_host_that_is_theirs_alone(host, has_origin):
    pages = Pages(own_host="pages.example.org")
    await pages.server.poll()
    pages.show()
    policy = named(await pages.ask(f"{BASE}/", host=host))["content-security-policy"]
    assert ("allow-same-origin" in policy) is has_origin


@pytest.mark.parametrize("status", [401, 407, 421])
async def test_no_page_asks_for_a_password(pages, status):
    pages.show(status, ("WWW-Authenticate", "Basic realm=Heddle"), ("Retry-After", "9"))
    answer = await pages.ask(f"{BASE}/")
    assert answer.status == 502
    assert not {"www-authenticate", "retry-after", "proxy-authenticate"} & set(named(answer))
