"""Retries and errors of the client, which ask twice only what may be asked twice."""

import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from heddle.client import (
    AddressError,
    Client,
    ClientError,
    CredentialsError,
    ForeignAnswerError,
    Freshness,
    NoAnswerError,
    NoSuchThingError,
    NotReachedError,
    NotSucceededError,
    Patience,
    ServerFaultError,
    SubmissionUnknownError,
    Ticket,
    Token,
    TryLaterError,
    UntrustedServerError,
    User,
)
from heddle.client.calls import Call
from heddle.client.workflows import CALLS, MANAGER_CALLS

ROOT = Path(__file__).resolve().parents[4]
SERVER = "http://heddle:8088"
EXIT = {"RemoteException": {"exception": "E", "message": "java.lang.Exception: no", "javaClassName": "j.E"}}
NEW_ID = {"application-id": "application_1_0001"}
Outcome = httpx.Response | Exception


def refused(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=EXIT, headers={name.replace("_", "-"): value for name, value in headers.items()})


def told(document: Any) -> httpx.Response:
    return httpx.Response(200, json=document)


class Scripted:
    """A client of a server that does one thing after the other, the last one for ever."""

    def __init__(self, *outcomes: Outcome, **settings: Any) -> None:
        self.requests: list[httpx.Request] = []
        self.shown: list[str | None] = []
        self._outcomes = list(outcomes)
        settings = {"auth": User("ada"), "patience": Patience(retries=3, first_s=0.0, longest_s=0.0), **settings}
        self.client = Client(settings.pop("server", SERVER), transport=httpx.MockTransport(self._answer), **settings)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.shown.append(request.headers.get("Authorization"))
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


LOST = httpx.ReadTimeout("slow")
CUT = httpx.RemoteProtocolError("cut")
AWAY = httpx.ConnectError("refused")


@pytest.mark.parametrize("trouble", [LOST, CUT, AWAY, refused(503), refused(429, Retry_After="0"), httpx.Response(502)])
def test_a_read_is_asked_again(trouble: Outcome) -> None:
    heddle = Scripted(trouble, trouble, told({"clusters": []}))
    assert heddle.client.clusters().clusters == []
    assert len(heddle.requests) == 3


@pytest.mark.parametrize(
    ("trouble", "asked"),
    [(LOST, 1), (CUT, 1), (AWAY, 4), (refused(503), 1), (refused(429), 4), (httpx.Response(502), 1)],
)
def test_a_change_is_asked_again_only_where_it_cannot_have_been_done(trouble: Outcome, asked: int) -> None:
    heddle = Scripted(trouble)
    with pytest.raises(ClientError):
        heddle.client.create_token("ci")
    assert len(heddle.requests) == asked


@pytest.mark.parametrize("last", [AWAY, refused(503), LOST])
def test_of_a_submission_that_may_have_arrived_nobody_says_that_it_has_not(last: Outcome) -> None:
    heddle = Scripted(told(NEW_ID), LOST, last)
    with pytest.raises(SubmissionUnknownError) as caught:
        heddle.client.submit({"application-name": "n"})
    assert caught.value.application == "application_1_0001"
    sent = [request for request in heddle.requests if request.url.path.endswith("/apps")]
    assert {request.content for request in sent} == {b'{"application-name":"n","application-id":"application_1_0001"}'}
    assert len(sent) == 4


@pytest.mark.parametrize(("trouble", "kind"), [(AWAY, NotReachedError), (refused(503), TryLaterError)])
def test_of_a_submission_that_cannot_have_arrived_it_is_said(trouble: Outcome, kind: type[ClientError]) -> None:
    with pytest.raises(kind) as caught:
        Scripted(told(NEW_ID), trouble).client.submit({})
    assert not isinstance(caught.value, SubmissionUnknownError)


@pytest.mark.parametrize(
    ("told_as", "why"),
    [
        ("[Errno 111] Connection refused", "Connection refused"),
        ("[Errno -2] Name unknown.", "Name unknown"),
        ("", "it does not answer"),
    ],
)
def test_where_no_heddle_is_reached_the_cause_is_in_words(told_as: str, why: str) -> None:
    with pytest.raises(NotReachedError) as caught:
        Scripted(httpx.ConnectError(told_as)).client.clusters()
    assert f"no Heddle at {SERVER}: {why}. Start one" in str(caught.value)


@pytest.mark.parametrize("call", [CALLS.retire("east"), MANAGER_CALLS.format_scheduler_configuration()])
def test_what_does_harm_twice_is_never_asked_twice(call: Call[Any]) -> None:
    heddle = Scripted(LOST)
    with pytest.raises(NoAnswerError):
        heddle.client.send(call)
    assert len(heddle.requests) == 1


def untrusted() -> httpx.ConnectError:
    problem = httpx.ConnectError("x")
    problem.__cause__ = ssl.SSLCertVerificationError("x")
    problem.__cause__.verify_message = "self-signed certificate"
    return problem


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        (refused(404), NoSuchThingError, "^no$"),
        (refused(500), ServerFaultError, "^no$"),
        (httpx.Response(404, text="<html>"), ForeignAnswerError, "Is it a Heddle"),
        (httpx.Response(200, text="<html>"), ForeignAnswerError, "Is it a Heddle"),
        (told({"clusters": 5}), ForeignAnswerError, "not what is expected"),
        (httpx.Response(401, headers={"WWW-Authenticate": "Negotiate"}), CredentialsError, "does not take the ticket"),
        (LOST, NoAnswerError, "did not answer within 30 s"),
        (CUT, NoAnswerError, "write https://"),
        (AWAY, NotReachedError, "heddle serve"),
        (untrusted(), UntrustedServerError, "does not prove who it is: self-signed"),
    ],
)
def test_every_trouble_has_a_kind_and_says_what_and_where(
    outcome: Outcome, kind: type[ClientError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        Scripted(outcome, patience=Patience(retries=0)).client.clusters()
    assert caught.value.where == "GET /heddle/v1/clusters"
    assert str(caught.value).startswith(caught.value.what)


@pytest.mark.parametrize(
    ("name", "sent"), [("..", b"%2E%2E"), (".", b"%2E"), ("../x", b"..%2Fx"), ("a?b#c", b"a%3Fb%23c")]
)
def test_a_name_is_one_segment_of_a_path_whatever_is_in_it(name: str, sent: bytes) -> None:
    heddle = Scripted(told({"container": "c", "file": "f", "text": "", "start": 0, "size": 0}))
    heddle.client.container_log("c", name)
    (request,) = heddle.requests
    assert request.url.raw_path.partition(b"?")[0] == b"/heddle/v1/containers/c/logs/" + sent


def test_an_empty_name_asks_nobody() -> None:
    heddle = Scripted(told({}))
    with pytest.raises(ValueError, match="application is empty"):
        heddle.client.kill("")
    assert heddle.requests == []


def test_the_client_brings_none_of_the_daemons_packages() -> None:
    program = "import sys, heddle.client; print(*sorted({each.partition('.')[0] for each in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"heddle", "httpx", "msgspec"} <= loaded
    assert loaded & {"shim", "adapters", "fairness", "altruism", "fastapi", "gssapi", "sqlalchemy"} == set()


@pytest.mark.parametrize("server", ["127.0.0.1:8088", "heddle.example.com", "ftp://heddle:8088", "http://[::1"])
def test_an_address_that_is_none_is_said(server: str) -> None:
    with pytest.raises(AddressError, match="Write http://host:port"):
        Client(server, patience=Patience(retries=0)).clusters()


def test_the_age_of_an_answer_is_told() -> None:
    seen: list[tuple[str, Freshness]] = []
    headers = {"Heddle-As-Of": "2026-11-28T10:22:29.000Z", "Heddle-Missing": "east, west"}
    heddle = Scripted(
        httpx.Response(200, json={"clusters": []}, headers=headers),
        on_answer=lambda call, age: seen.append((call.template, age)),
    )
    heddle.client.clusters()
    assert seen == [("/heddle/v1/clusters", Freshness("2026-11-28T10:22:29.000Z", ("east", "west")))]


def test_who_calls_is_said_as_it_is_wanted() -> None:
    for auth, query, header in (
        (User("ada"), {"user.name": "ada"}, None),
        (Token("t0ken"), {}, "Bearer t0ken"),
        (Ticket("ada"), {"user.name": "ada"}, None),
        (httpx.BasicAuth("ada", "x"), {}, "Basic YWRhOng="),
        (None, {}, None),
    ):
        heddle = Scripted(told({"clusters": []}), auth=auth)
        heddle.client.clusters()
        (request,) = heddle.requests
        assert (dict(request.url.params), request.headers.get("Authorization")) == (query, header)
    with pytest.raises(CredentialsError):
        Token("two words")


def test_a_ticket_is_shown_when_it_is_asked_for_and_never_printed() -> None:
    asked = httpx.Response(401, headers={"WWW-Authenticate": "Negotiate"})
    heddle = Scripted(asked, told({"clusters": []}), auth=Ticket(proof=lambda host: host.encode()))
    heddle.client.clusters()
    assert heddle.shown == [None, "Negotiate aGVkZGxl"]

    def none(_: str) -> bytes:
        raise CredentialsError("no cache", next_="Run kinit")

    with pytest.raises(CredentialsError, match="http://heddle:8088 asks for a Kerberos ticket: no cache"):
        Scripted(asked, auth=Ticket(proof=none)).client.clusters()
    assert "s3cret" not in repr(vars(Token("s3cret")).keys()) + repr(Token("s3cret"))


def a_look(state: str, final: str = "UNDEFINED", progress: float = 0.0) -> httpx.Response:
    app = {"id": "a", "cluster": "east", "state": state, "finalStatus": final, "progress": progress}
    return told({"app": app})


def waiting(*looks: Outcome) -> Callable[..., Any]:
    client = Scripted(*looks, patience=Patience(retries=0)).client
    return lambda **named: client.wait("a", every_s=0.0, **named)


def test_a_wait_tells_progress_once_each_and_outlasts_an_outage() -> None:
    seen: list[tuple[str, float]] = []
    wait = waiting(
        a_look("ACCEPTED"),
        a_look("ACCEPTED"),
        AWAY,
        refused(503),
        LOST,
        a_look("RUNNING", progress=40.0),
        a_look("RUNNING", progress=40.0),
        a_look("FINISHED", "SUCCEEDED", 100.0),
    )
    ended = wait(progress=lambda app: seen.append((app["state"], app["progress"])))
    assert ended["finalStatus"] == "SUCCEEDED"
    assert seen == [("ACCEPTED", 0.0), ("RUNNING", 40.0), ("FINISHED", 100.0)]


def test_a_wait_ends_with_an_error_where_the_application_failed_or_nobody_is_there_for_long() -> None:
    with pytest.raises(NotSucceededError, match="FINISHED, FAILED"):
        waiting(a_look("FINISHED", "FAILED"))()
    with pytest.raises(NotReachedError):
        waiting(AWAY)(outage_s=0.0)
    with pytest.raises(NoSuchThingError):
        waiting(refused(404))()


def test_the_environment_says_where_who_and_whom_to_trust() -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return told({"clusters": []})

    transport = httpx.MockTransport(answer)
    for environment in (
        {"HEDDLE_SERVER": "http://there:1", "HADOOP_USER_NAME": "bob"},
        {"HEDDLE_TOKEN": "t0ken", "HADOOP_USER_NAME": "bob"},
    ):
        with Client.from_environment(environment, transport=transport) as client:
            client.clusters()
    assert str(requests[0].url) == "http://there:1/heddle/v1/clusters?user.name=bob"
    assert requests[1].headers["Authorization"] == "Bearer t0ken"
    with pytest.raises(CredentialsError, match="HEDDLE_CA_FILE=/none"):
        Client.from_environment({"HEDDLE_CA_FILE": "/none", "HADOOP_USER_NAME": "bob"})


def lines(*events: tuple[str, str]) -> bytes:
    return "".join(f"event: {kind}\ndata: {data}\n\n" for kind, data in events).encode()


def test_events_are_whole_documents_with_patches_done_and_a_stream_that_ends_is_begun_anew() -> None:
    patch = [
        {"op": "remove", "path": "/a~1b/2"},
        {"op": "replace", "path": "/a~1b/0", "value": 9},
        {"op": "add", "path": "/a~1b/-", "value": 4},
        {"op": "remove", "path": "/c/d"},
    ]
    first = lines(
        ("state", '{"watch": "w", "document": {"a/b": [1, 2, 3], "c": {"d": 1}}}'),
        ("alive", "{}"),
        ("change", json.dumps({"watch": "w", "patch": patch})),
        ("change", '{"watch": "w", "patch": [{"op": "replace", "path": "", "value": []}]}'),
    )
    second = lines(("trouble", '{"watch": "w", "message": "not now"}'))
    broken = lines(("change", '{"watch": "w", "patch": []}'))
    heddle = Scripted(*(httpx.Response(200, content=each) for each in (first, second, broken)))
    events: Iterator[Any] = heddle.client.events("w")
    seen = [next(events) for _ in range(4)]
    assert [each.document for each in seen] == [
        {"a/b": [1, 2, 3], "c": {"d": 1}},
        {"a/b": [9, 2, 4], "c": {}},
        [],
        None,
    ]
    assert seen[3].trouble == "not now"
    with pytest.raises(ForeignAnswerError):
        next(events)


def test_logs_are_those_of_containers_that_run_else_what_was_aggregated() -> None:
    attempts = {"appAttempts": {"appAttempt": [{"appAttemptId": "t_1"}]}}
    part = {"container": "c_1", "file": "stdout", "text": "it runs", "start": 0, "size": 7}
    listed = {"container": "c_1", "cluster": "east", "node": "n", "files": [{"file": "stdout", "bytes": 7}]}
    running = Scripted(told(attempts), told({"container": {"containerId": "c_1"}}), told(listed), told(part))
    assert [each.text for each in running.client.logs("a")] == ["it runs"]
    node = {"cluster": "east", "node": "n", "wrong": "", "files": [{"container": "c_1", "file": "x", "bytes": 1}]}
    ended = Scripted(refused(404), told({"application": "a", "nodes": [node]}), told(part))
    assert [each.container for each in ended.client.logs("a")] == ["c_1"]
