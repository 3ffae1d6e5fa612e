"""The traps that clients of a ResourceManager set, T1 to T21, each with its test."""

import asyncio
import gc
import json
import sys

import pytest
import structlog

from shim.domain.ids import ApplicationId
from shim.errors import NotFoundError
from shim.identity.service import IdentityRules, ProxyRule
from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.negotiation import Representation
from shim.server.rest.application_lists import ApplicationLists
from shim.server.rest.cache import CacheLimits
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Request
from tests.doubles.misbehaviours import (
    AnswersGarbage,
    FailsInternally,
    IsNeverReached,
    IsPaused,
    IsStandby,
    RejectsSubmissions,
)
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of, context

XML_STATE = b"<?xml version='1.0' encoding='UTF-8'?>\n<appstate><state>RUNNING</state></appstate>"
OLD, NEW = ApplicationId(1_600_000_000_000, 7), ApplicationId(1_600_000_000_000, 8)


@pytest.fixture
async def server():
    """Two clusters with one running application each, seen once."""
    made = ScriptedServer()
    made.federation["east"].add_application(OLD, "RUNNING", user="alice", name="old")
    made.federation["west"].add_application(NEW, "RUNNING", user="bob", name="new", queue="root.prod")
    await made.poll()
    return made


def headers(answer):
    return {name.lower(): value for name, value in answer.headers}


async def test_t1_a_standby_is_never_shown(server):
    server.federation["east"].behave(IsStandby())
    await server.poll()
    for path in ("/info", "/apps", "/metrics", "/nodes", f"/apps/{OLD}"):
        answer = await server.get(path)
        assert answer.status == 200
        assert "refresh" not in headers(answer)
        assert b"standby" not in answer.body.lower()


@pytest.mark.parametrize(
    "path", ["/info", "/apps", "/metrics", "/nodes", "/scheduler", f"/apps/{OLD}", "/appstatistics"]
)
async def test_t2_three_kinds_of_clients_per_path(server, path):
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    for accept, form in (("*/*", Representation.JSON), ("", Representation.JSON), (browser, Representation.XML)):
        answer = await (server.get(path, accept=accept) if accept else server.get(path))
        assert answer.status == 200
        assert headers(answer)["content-type"] == form.value
        assert answer.body.startswith(b"{" if form is Representation.JSON else b"<?xml")


async def test_t3_a_list_of_one_is_a_list(server):
    assert isinstance(body_of(await server.get("/apps?user=alice"))["apps"]["app"], list)


async def test_t4_no_applications_are_an_empty_object(server):
    assert (await server.get("/apps?user=nobody")).body == b'{"apps":{}}'


async def test_t5_quoted_numbers_are_taken(server):
    application_id = await server.submit(resource={"memory": "256", "vCores": "1"}, **{"unmanaged-AM": "false"})
    assert len(server.federation.who_has(application_id)) == 1


async def test_t6_states_and_tags_may_be_lower_case(server):
    await server.submit(**{"application-tags": {"tag": ["Livy-Ab"]}})
    await server.poll()
    assert len(body_of(await server.get("/apps?states=running"))["apps"]["app"]) == 2
    assert body_of(await server.get("/apps?states=accepted,Running"))["apps"]


@pytest.mark.parametrize("path", ["/info/", "/apps/", "/nodes/", f"/apps/{OLD}/", "/apps?_=123&foo=bar", "/metrics/?x"])
async def test_t7_slashes_and_unknown_parameters_are_ignored(server, path):
    assert (await server.get(path)).status == 200


@pytest.mark.parametrize(
    ("path", "status", "exception"),
    [
        ("/apps/application_1_1", 404, "NotFoundException"),
        ("/apps/foo", 400, "BadRequestException"),
        ("/apps?states=FOO", 400, "BadRequestException"),
        ("/nodes/nosuch:1", 404, "NotFoundException"),
    ],
)
async def test_t8_errors_are_remote_exceptions_in_both_forms(server, path, status, exception):
    answer = await server.get(path)
    assert answer.status == status
    assert body_of(answer)["RemoteException"]["exception"] == exception
    written = await server.get(path, accept="application/xml")
    assert written.status == status
    assert f"<exception>{exception}</exception>".encode() in written.body


async def test_t8_who_is_nobody_may_change_nothing():
    closed = ScriptedServer(rules=usual(IdentityRules))
    closed.federation["east"].add_application(OLD, "RUNNING")
    await closed.poll()
    answer = await closed.ask(
        "PUT", f"{BASE}/apps/{OLD}/state", body=b'{"state":"KILLED"}', content_type="application/json"
    )
    assert answer.status == 401
    assert body_of(answer)["RemoteException"]["exception"] == "AuthorizationException"
    assert not [request for request in closed.federation["east"].taken if request.method == "PUT"]


async def test_t9_a_submission_is_202_with_its_address_and_no_body(server):
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=alice"))
    answer = await server.ask(
        "POST",
        f"{BASE}/apps?user.name=alice",
        body=context(made["application-id"]),
        content_type="application/json",
    )
    assert (answer.status, answer.body) == (202, b"")
    assert headers(answer)["location"] == f"http://front:8088{BASE}/apps/{made['application-id']}"


async def test_t9_a_kill_is_202_with_our_address_then_200(server):
    async def kill():
        return await server.ask(
            "PUT",
            f"{BASE}/apps/{OLD}/state?user.name=alice",
            body=b'{"state":"KILLED"}',
            content_type="application/json",
        )

    first = await kill()
    assert first.status == 202
    assert headers(first)["location"] == f"http://front:8088{BASE}/apps/{OLD}/state"
    assert (await kill()).status == 200
    assert body_of(await server.get(f"/apps/{OLD}"))["app"]["state"] == "KILLED"


async def test_t10_the_newest_id_is_the_largest_on_whatever_cluster(server):
    made = [await server.submit() for _ in range(5)]
    assert [str(item) for item in made] == sorted(str(item) for item in made)
    shown = [app["id"] for app in body_of(await server.get("/apps?limit=5"))["apps"]["app"]]
    assert shown == [str(item) for item in reversed(made)]


async def test_t11_members_are_left_out_and_limits_hold_over_all(server):
    shown = body_of(await server.get("/apps?limit=1&deSelects=timeouts"))["apps"]["app"]
    assert [app["id"] for app in shown] == [str(NEW)]
    assert "timeouts" not in shown[0]


async def test_t12_the_front_is_active_and_its_identity_stable(server):
    first = body_of(await server.get("/info"))["clusterInfo"]
    assert (first["haState"], first["state"]) == ("ACTIVE", "STARTED")
    server.federation["east"].restart()
    await server.poll()
    assert body_of(await server.get("/info"))["clusterInfo"]["id"] == first["id"]


async def test_t13_one_tree_of_queues_and_each_clusters_own(server):
    info = body_of(await server.get("/scheduler"))["scheduler"]["schedulerInfo"]
    assert info["type"] == "capacityScheduler"
    own = await server.get("/scheduler?cluster=west")
    assert body_of(own)["scheduler"]["schedulerInfo"]["type"] == "capacityScheduler"
    assert server.federation["west"].requests[-1].path == f"{BASE}/scheduler"


async def test_t14_leaf_queues_have_no_member_queues(server):
    root = body_of(await server.get("/scheduler"))["scheduler"]["schedulerInfo"]
    assert all("queues" not in queue for queue in root["queues"]["queue"])


async def test_t15_addresses_in_documents_are_untouched(server):
    server.federation["east"].applications[OLD]["amHostHttpAddress"] = "node1:8042"
    server.federation["east"].applications[OLD]["trackingUrl"] = "http://rm.east:8088/proxy/x/"
    await server.federation.clock.advance(2.0)
    await server.poll()
    app = body_of(await server.get(f"/apps/{OLD}"))["app"]
    assert (app["amHostHttpAddress"], app["trackingUrl"]) == ("node1:8042", "http://rm.east:8088/proxy/x/")


async def test_t17_changes_come_as_json_and_as_xml_and_nothing_else(server):
    for kind, body in (("application/json", b'{"state":"RUNNING"}'), ("application/xml", XML_STATE)):
        await server.ask("PUT", f"{BASE}/apps/{OLD}/state?user.name=alice", body=body, content_type=kind)
        passed_on = server.federation["east"].taken[-1]
        assert dict(passed_on.headers)["content-type"] == kind
        assert passed_on.body == body
    answer = await server.ask("PUT", f"{BASE}/apps/{OLD}/state?user.name=alice", body=b"x", content_type="text/plain")
    assert answer.status == 503


async def test_t18_simple_auth_gets_a_cookie_and_may_use_it(server):
    answer = await server.get("/userinfo?user.name=alice")
    cookie = headers(answer)["set-cookie"].partition(";")[0]
    assert cookie.startswith("hadoop.auth=")
    assert body_of(await server.get("/userinfo", cookie=cookie))["requestedUser"] == "alice"
    assert "set-cookie" not in headers(await server.get("/userinfo", cookie=cookie))


async def test_t19_what_was_last_known_stays_as_a_whole_while_a_cluster_is_away(server):
    server.federation["east"].behave(IsNeverReached())
    await server.poll()
    app = body_of(await server.get(f"/apps/{OLD}"))["app"]
    assert (app["state"], app["finalStatus"]) == ("RUNNING", "UNDEFINED")
    answer = await server.get("/apps")
    assert headers(answer)["heddle-missing"] == "east"
    assert len(body_of(answer)["apps"]["app"]) == 2


async def test_t20_while_the_home_is_away_a_change_is_503_with_a_time_to_retry(server):
    server.federation["east"].behave(IsPaused())
    answer = await server.ask(
        "PUT", f"{BASE}/apps/{OLD}/state?user.name=alice", body=b'{"state":"KILLED"}', content_type="application/json"
    )
    assert answer.status == 503
    assert int(headers(answer)["retry-after"]) >= 1
    assert body_of(answer)["RemoteException"]["message"]


async def test_t20_nobody_waits_longer_than_two_seconds_for_a_frozen_cluster(server):
    server.federation["east"].behave(IsPaused())
    began_s = server.federation.clock.monotonic_s()
    answer = await server.get(f"/apps/{OLD}/appattempts")
    assert answer.status == 503
    assert server.federation.clock.monotonic_s() - began_s <= 2.5


async def test_t21_pages_beans_and_configuration_exist(server):
    page = await server.ask("GET", "/cluster")
    assert page.status == 200
    assert str(OLD).encode() in page.body
    assert b"<script" not in page.body
    assert "script-src" not in headers(page)["content-security-policy"]
    assert (await server.ask("GET", f"/cluster/app/{OLD}")).status == 200
    assert (await server.ask("GET", "/cluster/nodes")).status == 200
    assert (await server.ask("GET", "/cluster/cluster")).status == 200
    proxy = await server.ask("GET", f"/proxy/{OLD}/ws/v1/mapreduce/jobs")
    assert (proxy.status, headers(proxy)["location"]) == (302, f"http://rm.east:8088/proxy/{OLD}/ws/v1/mapreduce/jobs")
    beans = body_of(await server.ask("GET", "/jmx?qry=Hadoop:service=ResourceManager,name=RMNMInfo"))["beans"]
    assert len(json.loads(beans[0]["LiveNodeManagers"])) == 2
    conf = await server.ask("GET", "/conf", accept="application/json")
    assert b"yarn.resourcemanager.address" in conf.body
    assert b"swordfish" not in conf.body
    one = await server.ask("GET", "/conf?name=yarn.resourcemanager.address", accept="application/json")
    assert json.loads(one.body)["property"]["key"] == "yarn.resourcemanager.address"
    assert (await server.ask("GET", "/conf?name=no.such.property")).status == 404
    assert (await server.ask("GET", "/isActive")).body == b"I am Active!"
    assert (await server.ask("GET", "/metrics")).body == b"heddle_up 1\n"
    assert headers(await server.ask("GET", "/"))["location"] == "http://front:8088/cluster"


# -- identity and hostile values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["remote-user", "x-forwarded-user", "x-remote-user", "sm_user", "authorization"])
async def test_s4_headers_that_claim_an_identity_are_not_believed(server, name):
    answer = await server.get("/userinfo", **{name: "root"})
    assert body_of(answer)["requestedUser"] == "dr.who"


async def test_s9_the_user_of_a_change_is_the_user_at_the_resource_manager(server):
    await server.ask(
        "PUT",
        f"{BASE}/apps/{OLD}/queue?user.name=carol&x=1",
        body=b'{"queue":"prod"}',
        content_type="application/json",
    )
    passed_on = server.federation["east"].requests[-1]
    assert (passed_on.user, passed_on.parameters) == ("carol", ())


async def test_s3_who_may_not_act_for_others_is_told_so(server):
    answer = await server.get("/userinfo?user.name=alice&doAs=bob")
    assert answer.status == 403
    assert body_of(answer)["RemoteException"]["message"] == "User: alice is not allowed to impersonate bob"
    assert answer.body.startswith(b'{\n  "RemoteException" : {\n    "message" : ')


async def test_s20_names_from_outside_are_text_on_pages(server):
    server.federation["east"].add_application(
        ApplicationId(1, 1), "RUNNING", name="<script>alert(1)</script>", user='"><img src=x onerror=y>'
    )
    server.federation["east"].applications[ApplicationId(1, 1)]["trackingUrl"] = "javascript:alert(1)"
    await server.poll()
    for path in ("/cluster", "/cluster/app/application_1_0001"):
        page = await server.ask("GET", path)
        assert b"<script>" not in page.body
        assert b"<img" not in page.body
        assert b'href="javascript' not in page.body


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("origin", "http://evil.example"),
        ("origin", "http://[evil"),
        ("origin", "http://evil.example://localhost"),
        ("sec_fetch_site", "cross-site"),
        ("sec_fetch_site", "same-site"),
        ("origin", "null"),
        ("referer", "http://evil.example/page"),
        ("referer", "http://front:8088@evil.example/"),
    ],
)
async def test_s21_a_page_of_another_site_may_change_nothing(server, name, value):
    answer = await server.ask(
        "PUT",
        f"{BASE}/apps/{OLD}/state?user.name=alice",
        body=b'{"state":"KILLED"}',
        content_type="application/json",
        **{name: value},
    )
    assert answer.status == 403
    assert body_of(await server.get(f"/apps/{OLD}"))["app"]["state"] == "RUNNING"


_BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "sent",
    [
        {"referer": "http://evil.example/page"},
        {"sec_fetch_site": "cross-site"},
        {"origin": "http://evil.example"},
        {"user_agent": _BROWSER},  # over plain HTTP, and the page suppresses the referer
    ],
)
async def test_s21_a_change_by_get_is_a_change(server, method, sent):
    before = len(server.federation["east"].requests)
    target = f"{BASE}/scheduler-conf/format?cluster=east&user.name=alice"
    assert (await server.ask(method, target, **sent)).status == 403
    assert len(server.federation["east"].requests) == before
    assert (await server.ask("GET", f"{BASE}/info", **sent)).status == 200  # what changes nothing is for everybody


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"user_agent": "curl/7.88.1"},
        {"user_agent": _BROWSER, "sec_fetch_site": "none"},
        {"user_agent": _BROWSER, "referer": "http://front:8088/cluster"},
        {"user_agent": _BROWSER, "x_xsrf_header": "1"},
    ],
)
async def test_a_change_by_get_of_programs_and_of_own_pages_is_sent_on(server, sent):
    target = f"{BASE}/scheduler-conf/format?cluster=east&user.name=alice"
    assert (await server.ask("GET", target, **sent)).status != 403


async def test_a_client_cannot_choose_the_id_of_a_record(server):
    body = b'{"state":"KILLED"}'
    sent = {"content_type": "application/json", "x_request_id": "of-somebody-else"}
    for _ in range(2):
        answer = await server.ask("PUT", f"{BASE}/apps/{OLD}/state?user.name=alice", body=body, **sent)
        assert headers(answer)["x-request-id"] == "of-somebody-else"
    told = server.exchanges[-2:]
    assert {each.client_request_id for each in told} == {"of-somebody-else"}
    assert len({each.request_id for each in told} - {"of-somebody-else"}) == 2


async def test_s22_every_answer_forbids_sniffing_and_framing(server):
    for target in (f"{BASE}/info", "/cluster", "/nosuch", "/jmx"):
        answer = headers(await server.ask("GET", target))
        assert answer["x-content-type-options"] == "nosniff"
        assert answer["x-frame-options"] == "SAMEORIGIN"
        assert "access-control-allow-origin" not in answer


async def test_s18_the_location_of_an_answer_never_leaves_for_a_forged_host(server):
    answer = await server.ask("GET", "/", host="evil.example/x\r\nX: y")
    assert headers(answer)["location"] == "http://localhost/cluster"


@pytest.mark.parametrize(
    "target", ["/../../etc/passwd", "/static/../conf", "/cluster/app/%3Cb%3E", "/proxy/http:%2F%2Fevil/"]
)
async def test_s24_odd_paths_of_pages_are_refused(server, target):
    answer = await server.ask("GET", target)
    assert answer.status in (400, 404)
    assert b"<b>" not in answer.body.replace(b"<b>Heddle</b>", b"")


@pytest.mark.parametrize("method", ["OPTIONS", "GET", "POST"])
async def test_s24_a_target_that_is_no_path_is_answered(server, method):
    assert (await server.ask(method, "*")).status in (200, 400, 404)


async def test_every_answer_has_an_age_and_a_request_id(server):
    for target in (f"{BASE}/info", f"{BASE}/apps/application_1_1", "/cluster", "/nosuch", f"{BASE}/nosuch"):
        answer = headers(await server.ask("GET", target))
        assert answer["heddle-as-of"].endswith("Z")
        assert answer["x-request-id"]
    assert headers(await server.get("/info", x_request_id="abc-1"))["x-request-id"] == "abc-1"
    assert headers(await server.get("/info", x_request_id="a b\r\n"))["x-request-id"] != "a b\r\n"


@pytest.mark.parametrize(
    ("error", "is_logged"), [(ZeroDivisionError("a bug"), True), (NotFoundError("no such"), False)]
)
async def test_an_internal_error_is_in_the_log_by_the_id_that_its_answer_bears(server, monkeypatch, error, is_logged):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(ApplicationLists, "applications", fail)
    with structlog.testing.capture_logs() as logs:
        answer = await server.get("/apps")

    assert answer.status == (500 if is_logged else 404)
    told = [(each["request_id"], each["exc_info"]) for each in logs if each["log_level"] == "error"]
    assert told == ([(headers(answer)["x-request-id"], error)] if is_logged else [])


async def test_a_refusal_of_the_home_is_passed_on_in_the_clients_form(server):
    for name in ("east", "west"):
        server.federation[name].behave(RejectsSubmissions())
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application"))
    for accept in ("application/json", "application/xml"):
        answer = await server.ask(
            "POST",
            f"{BASE}/apps?user.name=alice",
            body=context(made["application-id"]),
            content_type="application/json",
            accept=accept,
        )
        assert answer.status == 400
        assert b"RemoteException" in answer.body


async def test_changes_are_reported_with_their_callers(server):
    await server.submit("alice")
    submitted = server.exchanges[-1]
    assert submitted.is_change
    assert submitted.operation == f"POST {BASE}/apps"
    assert submitted.caller is not None
    assert submitted.caller.user == "alice"


# -- the cache ---------------------------------------------------------------------------------------------------------


def at_once(server, path, method="GET", **named):
    target, _, query = f"{BASE}{path}".partition("?")
    shown = tuple({"host": "front:8088", **{name.replace("_", "-"): value for name, value in named.items()}}.items())
    ready = server.server.answer_at_once(Request(method, target, query, shown, b"", "127.0.0.1"))
    return None if ready is None else b"".join(ready)


def kept(server, path, **named):
    """What is given from the cache; None if it had to be made, which is reported."""
    before = len(server.exchanges)
    ready = at_once(server, path, **named)
    return ready if len(server.exchanges) == before else None


NEW_ID = "/apps/new-application?user.name=alice"


async def test_an_id_that_is_there_is_given_at_once_as_any_other(server):
    assert at_once(server, NEW_ID, "POST") is None
    made = await server.ask("POST", BASE + NEW_ID)
    head, _, body = at_once(server, NEW_ID, "POST").partition(b"\r\n\r\n")
    shown, before = json.loads(body), body_of(made)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n")[1:]]
    assert sorted(names) == sorted([*(name for name, _ in made.headers), "Content-Length"])
    assert b"Content-Length: %d" % len(body) in head
    assert shown["maximum-resource-capability"] == before["maximum-resource-capability"]
    first, second = (ApplicationId.parse(told["application-id"]) for told in (before, shown))
    assert second.sequence == first.sequence + 1


async def test_what_is_given_at_once_is_reported_as_a_change(server):
    await server.ask("POST", BASE + NEW_ID)
    before = len(server.exchanges)
    at_once(server, NEW_ID, "POST")
    (told,) = server.exchanges[before:]
    assert (told.operation, told.is_change, told.caller.user, told.status) == (
        f"POST {BASE}/apps/new-application",
        True,
        "alice",
        200,
    )


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (NEW_ID, {"accept": "application/xml"}),
        (NEW_ID, {"accept": "image/png"}),
        (NEW_ID, {"accept_encoding": "gzip"}),
        (NEW_ID, {"origin": "http://evil.example"}),
        ("/apps/new-application?user.name=bad%20name", {}),
        ("/apps/new-application", {}),
    ],
)
@pytest.mark.parametrize("anonymous", [True, False])
async def test_every_guard_stands_before_what_is_given_at_once(path, named, anonymous):
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=anonymous))
    await server.poll()
    await server.ask("POST", BASE + NEW_ID)
    made = await server.ask("POST", BASE + path, **named)
    head, _, body = at_once(server, path, "POST", **named).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % made.status)
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n")[1:]]
    assert names == [*(name for name, _ in made.headers), "Content-Length"]
    assert body[:2] == made.body[:2]


async def test_nothing_else_is_made_at_once(server):
    await server.ask("POST", BASE + NEW_ID)
    posts = [endpoint for endpoint in ENDPOINTS if endpoint.method == "POST" and "new-application" not in endpoint.path]
    assert posts
    for endpoint in posts:
        assert at_once(server, endpoint.path.replace("{", "").replace("}", ""), "POST") is None


@pytest.mark.parametrize(
    "path", ["/apps", "/metrics", "/nodes", "/scheduler", "/info", "/appstatistics", "/apps?user=alice"]
)
async def test_a_repeated_read_is_answered_at_once_and_the_same(server, path):
    made = await server.get(path)
    ready = kept(server, path)
    assert ready is not None
    head, _, body = ready.partition(b"\r\n\r\n")
    assert body == made.body
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n")[1:]]
    assert sorted(names) == sorted([*(name for name, _ in made.headers), "Content-Length"])


@pytest.mark.parametrize("path", ["/apps", "/metrics", "/nodes", "/scheduler", "/appstatistics", f"/apps/{OLD}"])
async def test_a_read_for_which_nothing_has_to_be_fetched_costs_no_task(server, path):
    ready = at_once(server, path)
    assert ready is not None
    assert ready.endswith(b"\r\n\r\n" + (await server.get(path)).body)


NAMED = [
    ("?user.name=alice", {}),
    ("?user.name=bob&deSelects=timeouts", {}),
    ("?deSelects=timeouts&user.name=alice", {}),
    ("?user.name=oozie&doAs=alice", {}),
    ("?user.name=oozie&DOAS=bob", {"accept": "application/xml"}),
    ("?user.name=alice", {"accept": "application/xml", "accept_encoding": "gzip, deflate"}),
    ("?user.name=bob", {"accept": "text/html, image/gif, */*; q=.2", "accept_encoding": "gzip"}),
]


@pytest.mark.parametrize(("query", "named"), NAMED)
@pytest.mark.parametrize("path", ["/apps", "/metrics", "/nodes", f"/apps/{OLD}"])
async def test_what_one_user_asked_for_is_kept_for_all(path, query, named):
    rules = usual(
        IdentityRules, proxy_users={"oozie": ProxyRule(hosts=("*",), users=("alice", "bob"))}, allow_anonymous=True
    )
    server = ScriptedServer(rules=rules)
    server.federation["east"].add_application(OLD, "RUNNING")
    await server.poll()
    of_carol = query.replace("user.name=alice", "user.name=carol").replace("user.name=bob", "user.name=carol")
    made = await server.get(f"{path}{of_carol}", **named)
    ready = kept(server, f"{path}{query}", **named)
    assert made.status == 200
    assert ready is not None
    head, _, body = ready.partition(b"\r\n\r\n")
    assert body == made.body
    shown = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n")[1:]]
    assert sorted(names) == sorted([*(name for name, _ in made.headers), "Content-Length"])
    asker = query.partition("user.name=")[2].partition("&")[0]
    assert shown[b"Set-Cookie"].startswith(f'hadoop.auth="u={asker}&p={asker}&'.encode())


async def test_what_is_kept_is_given_for_a_cookie_and_no_other_comes_with_it(server):
    made = await server.get("/apps?user.name=alice")
    cookie = headers(made)["set-cookie"].partition(";")[0]
    ready = kept(server, "/apps", cookie=f"a=b; {cookie}")
    assert ready is not None
    assert b"Set-Cookie" not in ready


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?user.name=%40x", {}),
        ("?user.name=", {}),
        ("?user.name=alice&doAs=bob", {}),
        ("?user.name=alice;doAs=bob", {}),
        ("?x=1;doAs=bob&user.name=alice", {}),
        ("?delegation=abc", {}),
        ("", {"x_hadoop_delegation_token": "abc"}),
        ("?user.name=%ff", {}),
    ],
)
async def test_who_asks_is_checked_before_what_is_kept_is_given(server, query, named):
    await server.get("/apps")
    refused = await server.get(f"/apps{query}", **named)
    assert refused.status in (400, 403)
    assert kept(server, f"/apps{query}", **named) is None
    assert at_once(server, f"/apps{query}", **named).startswith(b"HTTP/1.1 %d " % refused.status)


async def test_a_name_within_a_value_is_part_of_the_question(server):
    await server.get("/apps?name=a%26user.name%3Dalice")
    assert kept(server, "/apps?name=a") is None
    assert kept(server, "/apps?name=a%26user.name=bob") is None


async def test_nothing_is_kept_where_a_cluster_has_access_lists():
    server = ScriptedServer(guarded=["east"])
    await server.poll()
    await server.get("/metrics?user.name=alice")
    assert kept(server, "/metrics?user.name=alice") is None


def calls_of(work):
    """How many calls of functions, in Python or in C, it makes."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    gc.collect()
    gc.disable()  # what it ends may be anybody's, and calls functions
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize(
    "query",
    ["limit=3", "user=alice&limit=3", "states=NEW", "startedTimeBegin=99999999999999", "applicationTags=x", "name=y"],
)
async def test_a_list_that_differs_costs_no_more_work_for_a_thousand_applications_that_it_does_not_show(query):
    counts = []
    for number_of_others in (10, 1000):
        server = ScriptedServer()
        for number in range(number_of_others):
            server.federation["east"].add_application(ApplicationId(2, number), "RUNNING", user=f"u{number % 5}")
        await server.poll()
        at_once(server, f"/apps?{query}&x=1")  # after this what is made but once is there
        counts.append(calls_of(lambda server=server: at_once(server, f"/apps?{query}&x=2")))
    assert counts[1] <= counts[0] + 10


async def test_a_time_that_moves_on_past_no_application_is_answered_from_what_is_kept(server):
    started_ms = [app["startedTime"] for app in body_of(await server.get("/apps"))["apps"]["app"]]
    before, after = min(started_ms) - 10, max(started_ms) + 10
    made = await server.get(f"/apps?user.name=alice&startedTimeBegin={before}")
    assert kept(server, f"/apps?user.name=bob&startedTimeBegin={before + 5}").endswith(made.body)
    assert kept(server, f"/apps?user.name=bob&startedTimeBegin={before + 5}&limit=1") is None
    assert kept(server, f"/apps?startedTimeBegin={after}") is None
    assert kept(server, f"/apps?startedTimeEnd={after}") is None
    assert kept(server, f"/apps?startedTimeBegin={after + 1}") is not None


@pytest.mark.parametrize("skew_s", [-5, 5])
async def test_where_a_clock_is_wrong_a_time_that_moves_on_is_another_question(server, skew_s):
    told = a_report("east", 1000, polled_at_s=server.federation.clock.now_s(), incarnation=2**62, clock_skew_s=skew_s)
    server.view.apply(told)
    await server.get("/apps?startedTimeBegin=5")
    assert kept(server, "/apps?startedTimeBegin=6") is None
    assert kept(server, "/apps?startedTimeBegin=5") is not None


async def test_a_long_answer_that_is_kept_goes_out_whole(server):
    for number in range(1, 300):
        server.federation["east"].add_application(ApplicationId(2, number), "RUNNING")
    await server.poll()
    made = await server.get("/apps")
    assert len(made.body) > 64 * 1024
    assert kept(server, "/apps").endswith(b"\r\n\r\n" + made.body)


async def test_one_asks_no_resource_manager_for_what_is_kept(server):
    await server.get("/apps")
    before = [len(manager.requests) for manager in server.federation.managers.values()]
    assert kept(server, "/apps") is not None
    assert [len(manager.requests) for manager in server.federation.managers.values()] == before


async def test_what_many_ask_for_meanwhile_is_made_once(server):
    made = [await server.get("/scheduler") for _ in range(5)]
    assert [told.operation for told in server.exchanges] == [f"GET {BASE}/scheduler"]
    assert len({answer.body for answer in made}) == 1
    assert len({frozenset(name for name, _ in answer.headers) for answer in made}) == 1
    assert len({headers(answer)["x-request-id"] for answer in made}) == 5


async def test_a_kept_answer_ends_with_what_it_was_made_of(server):
    await server.get("/apps")
    server.federation["east"].add_application(ApplicationId(2, 2), "RUNNING")
    await server.poll()
    assert kept(server, "/apps") is None
    assert len(body_of(await server.get("/apps"))["apps"]["app"]) == 3


async def test_a_kept_answer_ends_when_a_cluster_goes_missing(server):
    await server.get("/nodes")
    server.federation["west"].behave(IsNeverReached())
    await server.poll()
    assert kept(server, "/nodes") is None
    assert headers(await server.get("/nodes"))["heddle-missing"] == "west"


async def test_ones_own_write_is_visible_at_once(server):
    await server.get("/apps?states=RUNNING")
    await server.ask(
        "PUT", f"{BASE}/apps/{OLD}/state?user.name=alice", body=b'{"state":"KILLED"}', content_type="application/json"
    )
    assert at_once(server, "/apps?states=RUNNING") is None
    shown = body_of(await server.get("/apps?states=RUNNING"))["apps"]["app"]
    assert [app["id"] for app in shown] == [str(NEW)]


async def test_s12_who_names_himself_is_given_a_cookie_of_his_own(server):
    await server.get("/apps?user.name=alice")
    ready = kept(server, "/apps?user.name=bob")
    assert ready.count(b"Set-Cookie") == 1
    assert b'Set-Cookie: hadoop.auth="u=bob&p=bob&' in ready
    assert b"Set-Cookie" not in kept(server, "/apps")


async def test_a_live_application_is_kept_no_longer_than_the_bound(server):
    await server.get(f"/apps/{OLD}")
    assert kept(server, f"/apps/{OLD}") is not None
    await server.federation.clock.advance(1.1)
    assert at_once(server, f"/apps/{OLD}") is None


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (usual(CacheLimits, answers=2), ["/nodes", "/scheduler"]),
        (usual(CacheLimits, answers=0), []),
        (usual(CacheLimits, answers_bytes=8), []),
    ],
)
async def test_no_more_answers_are_kept_than_configured(limits, expected):
    server = ScriptedServer(kept=limits)
    await server.poll()
    paths = ["/metrics", "/nodes", "/scheduler"]
    for path in paths:
        await server.get(path)
    found = [path for path in reversed(paths) if kept(server, path) is not None]
    assert [path for path in paths if path in found] == expected


async def test_what_was_asked_for_least_lately_gives_way_first():
    server = ScriptedServer(kept=usual(CacheLimits, answers=2))
    await server.poll()
    for path in ("/metrics", "/nodes", "/metrics", "/scheduler"):
        await server.get(path)
    assert kept(server, "/metrics") is not None
    assert kept(server, "/nodes") is None


async def test_a_compressed_answer_is_kept_apart(server):
    await server.get("/apps", accept_encoding="gzip")
    assert kept(server, "/apps") is None
    ready = kept(server, "/apps", accept_encoding="gzip")
    assert ready is not None
    assert b"Content-Encoding: gzip" in ready


# -- clusters that fail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", [AnswersGarbage(), FailsInternally(), IsNeverReached(), IsPaused()])
async def test_s28_a_cluster_that_fails_is_named_and_the_others_are_served(server, failing):
    server.federation["east"].behave(failing)
    await server.poll()
    for path in ("/apps", "/nodes", "/metrics", "/scheduler", "/appstatistics"):
        answer = await server.get(path)
        assert answer.status == 200
        assert headers(answer)["heddle-missing"] == "east"


async def test_naming_a_cluster_never_goes_around_a_right(server):
    container = f"container_{OLD.cluster_timestamp}_{OLD.sequence:04d}_01_000001"
    target = f"{BASE}/containers/{container}/signal/GRACEFUL_SHUTDOWN?user.name=eve"
    for suffix in ("", "&cluster=east"):
        answer = await server.ask("POST", target + suffix)
        assert answer.status == 403
    assert not [request for request in server.federation["east"].taken if request.method == "POST"]


async def test_naming_a_cluster_does_not_move_an_application(server):
    await server.ask(
        "PUT",
        f"{BASE}/apps/{OLD}/state?user.name=alice&cluster=west",
        body=b'{"state":"KILLED"}',
        content_type="application/json",
    )
    assert body_of(await server.get(f"/apps/{OLD}"))["app"]["state"] == "KILLED"


async def test_a_change_of_labels_is_told_to_all_or_to_none(server):
    body = b'{"nodeLabelInfo":[{"name":"gpu"}]}'

    def told():
        return [
            name
            for name, manager in server.federation.managers.items()
            if any(request.path.endswith("/add-node-labels") for request in manager.requests)
        ]

    server.federation["west"].behave(IsNeverReached())
    await server.poll()
    answer = await server.ask("POST", f"{BASE}/add-node-labels", body=body, content_type="application/json")
    assert answer.status == 503
    assert told() == []
    await server.ask("POST", f"{BASE}/add-node-labels?cluster=east", body=body, content_type="application/json")
    assert told() == ["east"]


@pytest.mark.parametrize("query", ["cluster=east", "%63luster=east", "user.name=alice&cluster=west"])
async def test_what_another_cluster_has_to_be_asked_for_is_not_answered_without_a_task(server, query):
    request = Request("GET", f"{BASE}/metrics", query, (("host", "front:8088"),), b"", "127.0.0.1")
    found = asyncio.get_running_loop().create_future()
    # as a connection calls it: in a callback, where no task is
    asyncio.get_running_loop().call_soon(lambda: found.set_result(server.server.answer_at_once(request)))
    assert await found is None
    assert (await server.server.answer(request)).status == 200


async def test_a_change_for_all_is_answered_by_the_first_that_refuses_or_else_by_the_first():
    body = b'{"nodeLabelInfo":[{"name":"gpu"}]}'

    class Answers:
        def __init__(self, status):
            self.status = status

        async def __call__(self, manager, request, timeout_s):
            del timeout_s
            if not request.path.endswith("/add-node-labels"):
                return manager.take(request)
            body = json.dumps({"by": manager.subcluster}).encode()
            return RestAnswer(self.status, (("Content-Type", "application/json"),), body)

    async def told(**statuses):
        server = ScriptedServer(list(statuses))
        await server.poll()
        for name, status in statuses.items():
            server.federation[name].behave(Answers(status))
        answer = await server.ask("POST", f"{BASE}/add-node-labels", body=body, content_type="application/json")
        return answer.status, body_of(answer)["by"]

    assert await told(east=200) == (200, "east")
    assert await told(east=200, west=200) == (200, "east")
    assert await told(east=200, west=400) == (400, "west")
    assert await told(east=403, west=400) == (403, "east")


async def test_a_container_of_another_application_is_asked_for_at_the_home_of_the_one_that_is_named(server):
    attempt = f"appattempt_{OLD.cluster_timestamp}_{OLD.sequence:04d}_000001"
    other = f"container_{OLD.cluster_timestamp}_{OLD.sequence + 1:04d}_01_000001"
    await server.get(f"/apps/{OLD}/appattempts/{attempt}/containers/{other}")
    asked = {name: [each.path for each in manager.requests] for name, manager in server.federation.managers.items()}
    tail = f"/appattempts/{attempt}/containers/{other}"
    assert {name: any(path.endswith(tail) for path in paths) for name, paths in asked.items()} == {
        "east": True,
        "west": False,
    }
