"""Requests that are passed on: containers of applications that span, changes for all, and what is hidden by XML."""

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.identity.service import IdentityRules
from shim.ports.multicluster_store import RegisteredAttempt
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Answer, Request
from shim.server.rest.service import understood
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import ScriptedResourceManager, error_answer, ok_answer
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(1, 1)
AT_HOME, THERE = ApplicationAttemptId(ONE, 2), ApplicationAttemptId(ONE, 1)
BEYOND = ContainerId(THERE, (1000 << 40) | 7)
LIST = f"/apps/{ONE}/appattempts/{AT_HOME}/containers"
XML = "application/xml"


class TellsContainers:
    """Lists some of an attempt, or answers otherwise; for XML what an older version would."""

    def __init__(self, told: Mapping[str, RestAnswer]) -> None:
        self.told = told
        self.asked: list[tuple[str, str, str]] = []

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        path = request.path.partition(f"/apps/{ONE}/appattempts/")[2]
        if not path:
            return manager.take(request)
        accept = next((value for name, value in request.headers if name.lower() == "accept"), "")
        self.asked.append((str(manager.subcluster), path, accept))
        return self.told.get(path, error_answer(404, "NotFoundException", "no such attempt"))


def listed(*numbers: int) -> RestAnswer:
    rows = [{"id": f"c{number}"} for number in numbers]
    return ok_answer(json.dumps({"container": rows} if rows else {}).encode())


async def a_spanning_server(home: RestAnswer, there: RestAnswer | None) -> tuple[ScriptedServer, TellsContainers]:
    """An application whose home is west, with a container on east; None of one that is not reached."""
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    server.federation["west"].add_application(ONE, "RUNNING", user="alice")
    await server.poll()
    await server.spans.save_attempt(RegisteredAttempt(AT_HOME, b"registered"))
    await server.spans.give(ONE, EAST, [BEYOND], "1.1.1")
    tells = TellsContainers({f"{AT_HOME}/containers": home, f"{THERE}/containers": there or listed()})
    server.federation["west"].behave(tells)
    server.federation["east"].behave(IsNeverReached() if there is None else tells)
    return server, tells


def ids(answer: Answer) -> list[str]:
    return [row["id"] for row in body_of(answer).get("container", [])]


def missing(answer: Answer) -> str | None:
    return dict(answer.headers).get("Heddle-Missing")


@pytest.mark.parametrize(
    ("home", "there", "found"),
    [
        (listed(1, 2), listed(3), ["c1", "c2", "c3"]),
        (listed(), listed(3), ["c3"]),
        (listed(1), listed(), ["c1"]),
        (listed(), listed(), []),
        (listed(1), error_answer(404, "NotFoundException", "forgotten"), ["c1"]),
    ],
)
async def test_a_list_of_containers_is_of_all_clusters(home, there, found):
    server, tells = await a_spanning_server(home, there)
    answer = await server.get(LIST)
    assert (answer.status, ids(answer), missing(answer)) == (200, found, None)
    assert [asked[:2] for asked in tells.asked] == [
        ("west", f"{AT_HOME}/containers"),
        ("east", f"{THERE}/containers"),
    ]
    assert tells.asked[1][2] == "application/json"


@pytest.mark.parametrize("there", [None, ok_answer(b"no document"), ok_answer(b"[1]")])
async def test_who_does_not_tell_of_its_containers_is_named(there):
    server, _ = await a_spanning_server(listed(1), there)
    answer = await server.get(LIST)
    assert (answer.status, ids(answer), missing(answer)) == (200, ["c1"], "east")


async def test_as_xml_the_list_is_made_of_what_both_told_as_json():
    server, tells = await a_spanning_server(listed(1), listed(3))
    tells.told = {**tells.told}
    answer = await server.get(LIST, accept=XML)
    assert answer.status == 200
    assert answer.body.count(b"<container>") == 2
    assert answer.body.index(b"c1") < answer.body.index(b"c3")
    asked = [(place, path, accept) for place, path, accept in tells.asked[1:]]
    assert asked == [
        ("west", f"{AT_HOME}/containers", "application/json"),
        ("east", f"{THERE}/containers", "application/json"),
    ]


@pytest.mark.parametrize(
    ("home", "status"), [(ok_answer(b"no document"), 200), (error_answer(404, "NotFoundException", "none"), 404)]
)
async def test_what_the_home_tells_stands_alone_if_it_is_no_list(home, status):
    server, tells = await a_spanning_server(home, listed(3))
    answer = await server.get(LIST)
    assert (answer.status, len(tells.asked)) == (status, 1)


async def test_an_earlier_attempt_and_an_application_that_does_not_span_have_the_homes_list_alone():
    server, tells = await a_spanning_server(listed(1), listed(3))
    await server.spans.take(ONE, EAST, [BEYOND])
    assert ids(await server.get(LIST)) == ["c1"]
    assert len(tells.asked) == 1


@pytest.mark.parametrize(
    ("container", "place", "path"),
    [
        (BEYOND, "east", f"{THERE}/containers/{BEYOND}"),
        (ContainerId(AT_HOME, 9), "west", f"{AT_HOME}/containers/{ContainerId(AT_HOME, 9)}"),
        (
            ContainerId(ApplicationAttemptId(ApplicationId(1, 2), 1), 1),
            "west",
            f"{AT_HOME}/containers/container_1_0002_01_000001",
        ),
    ],
)
async def test_one_container_is_asked_for_where_it_runs_under_its_attempt_there(container, place, path):
    server, tells = await a_spanning_server(listed(), listed())
    tells.told = {**tells.told, path: ok_answer(b'{"container":{"id":"it"}}')}
    answer = await server.get(f"{LIST}/{container}")
    assert (answer.status, body_of(answer)) == (200, {"container": {"id": "it"}})
    assert [asked[:2] for asked in tells.asked] == [(place, path)]


# ---------------------------------------------------------------------- forms of pages


ROW = next(each for each in ENDPOINTS if each.path == "/scheduler/logs")
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("content_type", "body", "sent"),
    [
        (FORM, b"time=5", [("time", "5")]),
        (f"{FORM.upper()}; charset=utf-8", b"time=5", [("time", "5")]),
        (FORM, b"x=1&time=5&time=6", [("time", "5")]),
        (FORM, b"time=", [("time", "")]),
        (FORM, b"time=a%26b%3D", [("time", "a&b=")]),
        (FORM, b"times=5", []),
        (FORM, b"", []),
        ("application/json", b"time=5", []),
        ("", b"time=5", []),
        (FORM, b"time=5" + b"&x=1" * 15, [("time", "5")]),
        (FORM, b"time=5" + b"&x=1" * 16, []),
        (FORM, b"time=" + b"5" * 1019, [("time", "5" * 1019)]),
        (FORM, b"time=" + b"5" * 1020, []),
    ],
)
def test_of_a_form_the_one_field_that_is_read_is_sent(content_type, body, sent):
    headers = (("content-type", content_type), ("content-encoding", "x"), ("x", "y"))
    request = Request("POST", f"{BASE}/scheduler/logs", "", headers, body, "127.0.0.1")
    written, read = understood(request, ROW)
    assert read is None
    assert parse_qsl(written.body.decode(), keep_blank_values=True) == sent
    if body:
        assert ("x", "y") in written.headers
        assert ("content-encoding", "x") not in written.headers


SIGNALLED = ContainerId(ApplicationAttemptId(ONE, 1), 1)


@pytest.mark.parametrize(
    ("user", "admins", "has_acls", "container", "status"),
    [
        ("alice", (), False, SIGNALLED, 200),
        ("eve", (), False, SIGNALLED, 403),
        ("eve", ("eve",), False, SIGNALLED, 200),
        ("alice", ("eve",), False, SIGNALLED, 200),
        ("eve", ("alice",), False, SIGNALLED, 403),
        ("eve", (), False, ContainerId(ApplicationAttemptId(ApplicationId(1, 9), 1), 1), 404),
        ("alice", (), False, ContainerId(ApplicationAttemptId(ApplicationId(1, 9), 1), 1), 404),
        ("alice", (), True, SIGNALLED, 200),
        ("eve", (), True, SIGNALLED, 403),
    ],
)
async def test_a_container_is_signalled_by_its_owner_and_by_operators(user, admins, has_acls, container, status):
    server = ScriptedServer(rules=usual(IdentityRules, admins=admins), has_acls=has_acls)
    server.federation["east"].add_application(ONE, "RUNNING", user="alice")
    await server.poll()
    sent = []

    async def behave(manager, request, timeout_s):
        if request.method != "POST":
            return manager.take(request)
        sent.append((request.path, request.user))
        return ok_answer(b"{}")

    for each in server.federation.managers.values():
        each.behave(behave)
    path = f"{BASE}/containers/{container}/signal/GRACEFUL_SHUTDOWN"
    answer = await server.ask("POST", f"{path}?user.name={user}")
    assert (answer.status, sent) == (status, [(path, user)] if status == 200 else [])
    if not has_acls and status != 200:
        told = {
            403: f"java.lang.Exception: Unauthorized attempt to signal {container} by remote user {user}",
            404: f"java.lang.Exception: Trying to signal an absent container {container}",
        }
        assert body_of(answer)["RemoteException"]["message"] == told[status]


@pytest.mark.parametrize("body", [b"{}", b'{"queue":""}', b'{"queue":"root.default"}'])
async def test_where_all_queues_are_open_a_move_is_the_home_s_to_refuse(body):
    server = ScriptedServer(rules=usual(IdentityRules))
    server.federation["east"].add_application(ONE, "RUNNING", user="alice")
    await server.poll()
    sent = []

    async def behave(manager, request, timeout_s):
        if request.method != "PUT":
            return manager.take(request)
        sent.append((request.path, request.user, request.body))
        return ok_answer(b"{}")

    server.federation["east"].behave(behave)
    path = f"{BASE}/apps/{ONE}/queue"
    answer = await server.ask("PUT", f"{path}?user.name=alice", body=body, content_type="application/json")
    assert (answer.status, sent) == (200, [(path, "alice", body)])
