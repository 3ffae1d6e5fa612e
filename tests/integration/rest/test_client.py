"""The client over the whole server, and against the description that the server publishes."""

import asyncio
import logging
import re
import sys
import types
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from heddle.client import (
    AsyncClient,
    Client,
    Event,
    NoSuchThingError,
    NotAllowedError,
    NotSucceededError,
    OtherContentError,
    Patience,
    RefusedError,
    SubmissionUnknownError,
    Token,
    User,
    WaitedTooLongError,
)
from heddle.client.calls import Call
from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules
from shim.server.rest.messages import Request
from tests.doubles.settings import usual
from tests.support.client_calls import every_call
from tests.support.scripted_server import BASE, ScriptedServer

POLICY = '[[queue]]\nname = "root.default"\nweight = 2\n'
SERVER = "http://front:8088"
CONTEXT = {"application-name": "n", "am-container-spec": {"commands": {"command": "x"}}, "resource": {"memory": 256}}


class ToTheServer(httpx.AsyncBaseTransport):
    """Carries requests of a client to a scripted server; loses answers, or requests, as a test wants.

    Attributes:
        lost: How many answers of submissions are lost from now on.
        sent: Every request that has arrived.
    """

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.lost = 0
        self.sent: list[tuple[str, str]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raw_path, _, query = request.url.raw_path.decode().partition("?")
        headers = tuple((name.lower(), value) for name, value in request.headers.items())
        asked = Request(request.method, raw_path, query, headers, await request.aread(), "127.0.0.1")
        self.sent.append((request.method, raw_path))
        answer = await self.server.federation.wait_for(self.server.server.answer(asked))
        if self.lost and request.method == "POST" and raw_path.endswith("/apps"):
            self.lost -= 1
            raise httpx.ReadTimeout("lost", request=request)
        if answer.later is not None:
            return httpx.Response(answer.status, headers=list(answer.headers), content=_pieces(answer.later))
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


async def _pieces(later: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in later:
        yield piece


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


@pytest.fixture
def way(server: ScriptedServer) -> ToTheServer:
    return ToTheServer(server)


@pytest.fixture
async def heddle(way: ToTheServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(SERVER, auth=User("queen"), transport=way, patience=Patience(first_s=0.0)) as opened:
        yield opened


# -- it covers every operation -----------------------------------------------------------------------------------------


def test_every_operation_of_the_description_has_a_method_with_each_of_its_parameters(server: ScriptedServer) -> None:
    described = dict(server.description.operations)
    del described["GET /heddle/v1/live"]  # `events`
    made: dict[str, list[Call[Any]]] = {}
    for call in every_call():
        name = f"{call.method} {call.template}"
        name = server.description.operation(call.method, call.path) or name
        made.setdefault(name, []).append(call)
    assert set(described) - set(made) == set()
    assert set(made) - set(described) == set()
    for name, calls in made.items():
        told = described[name]
        wanted = {each["name"] for each in told.get("parameters", ()) if each["in"] == "query"} - {"user.name"}
        assert all(set(call.parameters) == wanted for call in calls), (name, wanted, calls)
        has_body = any(call.body is not None or call.form is not None for call in calls)
        assert has_body == ("requestBody" in told), name
        headers = {each["name"] for each in told.get("parameters", ()) if each["in"] == "header"}
        assert {header for call in calls for header in call.headers} == headers, name


def test_what_a_client_sends_fits_the_description(server: ScriptedServer) -> None:
    sent = [(server.description.operation(call.method, call.path), call.body) for call in every_call()]
    bodies = [(str(name), msgspec.to_builtins(body)) for name, body in sent if body is not None]
    assert len(bodies) > 15
    for name, body in bodies:
        assert server.description.body_faults(name, body) == [], name


def test_both_clients_have_the_same_methods() -> None:
    own = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    assert own == {name for name in dir(AsyncClient) if not name.startswith("_")} - {"aclose"}
    assert all(getattr(Client, name).__doc__ for name in own)


# -- it asks a server --------------------------------------------------------------------------------------------------


async def test_answers_are_models(heddle: AsyncClient) -> None:
    clusters = (await heddle.clusters()).clusters
    assert [each.id for each in clusters] == ["east", "west"]
    assert clusters[0].age_s is not None
    assert (await heddle.caller()).is_operator
    assert (await heddle.rm.info())["clusterInfo"]["state"] == "STARTED"
    assert (await heddle.rm.applications(states="RUNNING", limit=3))["apps"] is not None
    order = await heddle.cordon("east", reason="it rains")
    assert (order.was, order.admission) == ("open", "cordoned")
    assert (await heddle.clusters()).clusters[0].said_why == "it rains"
    assert (await heddle.validate_policy(POLICY)).queues == ["root.default"]
    token = await heddle.create_token("nightly", scopes=["submit"])
    assert [each.id for each in (await heddle.tokens()).tokens] == [token.id]
    assert (await heddle.revoke_token(token.id)).revoked


async def test_an_application_is_submitted_watched_and_ended(heddle: AsyncClient, server: ScriptedServer) -> None:
    id_ = await heddle.submit(CONTEXT)
    why = await heddle.why(id_)
    assert (why.home, [each.cluster for each in why.candidates]) == ("east", ["east", "west"])
    await server.poll()
    with pytest.raises(WaitedTooLongError, match="after 0 s") as late:
        await heddle.wait(id_, timeout_s=0.0)
    assert late.value.application["state"] == "ACCEPTED"
    seen: list[str] = []
    await heddle.kill(id_)
    await server.poll()
    with pytest.raises(NotSucceededError, match="KILLED") as caught:
        await heddle.wait(id_, progress=lambda app: seen.append(app["state"]))
    assert (caught.value.application["cluster"], seen) == ("east", ["KILLED"])
    assert (await heddle.wait(id_, must_succeed=False))["id"] == id_
    await heddle.kill(id_)


async def test_a_submission_whose_answers_are_lost_is_started_once(
    heddle: AsyncClient, way: ToTheServer, server: ScriptedServer
) -> None:
    way.lost = 3
    id_ = await heddle.submit(CONTEXT)
    assert way.sent.count(("POST", "/ws/v1/cluster/apps")) == 4
    assert way.sent.count(("POST", "/ws/v1/cluster/apps/new-application")) == 1
    started = [each for manager in server.federation.managers.values() for each in manager.applications]
    assert started == [ApplicationId.parse(id_)]


async def test_whoever_does_not_know_if_it_arrived_is_told_the_id_and_submits_that_again(
    heddle: AsyncClient, way: ToTheServer, server: ScriptedServer
) -> None:
    way.lost = 99
    with pytest.raises(SubmissionUnknownError) as caught:
        await heddle.submit(CONTEXT)
    way.lost = 0
    id_ = caught.value.application
    assert id_ in str(caught.value)
    assert await heddle.submit(CONTEXT, application=id_) == id_
    started = [each for manager in server.federation.managers.values() for each in manager.applications]
    assert started == [ApplicationId.parse(id_)]
    with pytest.raises(OtherContentError):
        await heddle.submit({**CONTEXT, "application-name": "other"}, application=id_)


async def test_refusals_say_what_and_where(heddle: AsyncClient, way: ToTheServer) -> None:
    with pytest.raises(NoSuchThingError) as caught:
        await heddle.application("application_1_0001")
    assert caught.value.where == "GET /heddle/v1/apps/application_1_0001"
    with pytest.raises(RefusedError, match="limit"):
        await heddle.audit(limit=0)
    async with AsyncClient(SERVER, auth=User("eve"), transport=way) as eve:
        with pytest.raises(NotAllowedError):
            await eve.cordon("east")
    async with AsyncClient(SERVER, auth=Token("heddle_0123456789abcdef_" + "A" * 43), transport=way) as unknown:
        with pytest.raises(NotAllowedError):
            await unknown.clusters()


async def _next(events: AsyncIterator[Event]) -> list[Any]:
    told: list[Any] = (await anext(events)).document["clusters"]
    return told


async def test_documents_are_told_as_they_change(heddle: AsyncClient, server: ScriptedServer) -> None:
    events = heddle.events("clusters")
    first = await anext(events)
    assert [each["admission"] for each in first.document["clusters"]] == ["open", "open"]
    await heddle.cordon("west")
    west = first.document["clusters"][1]
    while west["admission"] == "open":
        (west,) = (each for each in (await server.federation.wait_for(_next(events))) if each["id"] == "west")
    assert west["admission"] == "cordoned"
    with pytest.raises(RefusedError, match="cannot be watched"):
        await anext(heddle.events("tokens"))


# -- programs of the pages --------------------------------------------------------------------------------------------


class FromAThread(httpx.BaseTransport):
    """Carries requests of a program that waits to the loop of the server."""

    def __init__(self, way: ToTheServer) -> None:
        self._way = way
        self._loop = asyncio.get_running_loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def answered() -> httpx.Response:
            answer = await self._way.handle_async_request(request)
            await self._way.server.poll()
            headers = [(name, value) for name, value in answer.headers.items() if name != "content-encoding"]
            return httpx.Response(answer.status_code, headers=headers, content=answer.content)

        return asyncio.run_coroutine_threadsafe(answered(), self._loop).result()


def program(page: str) -> str:
    text = (Path(__file__).resolve().parents[3] / "docs" / "clients" / page).read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
async def sync_clients(way: ToTheServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that programs make ask the server."""
    made, transport = httpx.Client, FromAThread(way)
    monkeypatch.setattr(httpx, "Client", lambda **named: made(**{**named, "transport": transport}))


@pytest.mark.usefixtures("sync_clients")
async def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    await asyncio.to_thread(exec, program("heddle-client.md"), {})
    told = capsys.readouterr().out
    assert "goes to east because" in told
    assert told.endswith("KILLED\n")


class BaseOperator:
    """Airflow's, as far as an operator of the page needs it."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.log = logging.getLogger("airflow")


@pytest.mark.usefixtures("sync_clients")
async def test_an_operator_whose_worker_dies_starts_its_application_once(
    server: ScriptedServer, way: ToTheServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = types.ModuleType("airflow.sdk")
    sdk.BaseOperator = BaseOperator  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "airflow", types.ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", sdk)
    monkeypatch.setenv("HADOOP_USER_NAME", "ada")
    names: dict[str, Any] = {}
    exec(program("airflow.md"), names)  # noqa: S102 - the page's own
    id_ = await asyncio.to_thread(names["HeddleNewApplication"](task_id="take_id").execute, {})
    operator = names["HeddleSubmit"](task_id="run", application=id_, submission=CONTEXT, timeout_s=0.0)
    for _ in range(2):  # the worker dies, and the next try goes on
        with pytest.raises(WaitedTooLongError):
            await asyncio.to_thread(operator.execute, {})
    managers = server.federation.managers.values()
    (manager,) = (each for each in managers if each.applications)
    assert [*manager.applications] == [ApplicationId.parse(id_)]
    manager.move(ApplicationId.parse(id_), "FINISHED")
    await server.poll()
    assert await asyncio.to_thread(operator.execute, {}) == id_
    await asyncio.to_thread(operator.on_kill)
    assert way.sent.count(("POST", f"{BASE}/apps")) == 3
