"""`heddle app logs`: from nodes while containers run, then from what was aggregated."""

import httpx
import pytest

from shim.cli.application_logs import LogsWanted, print_logs
from shim.cli.front import ExitCode, Front, FrontError
from shim.domain import MalformedIdError

APPLICATION = "application_1700000000000_0006"
ATTEMPT = "appattempt_1700000000000_0006_000001"
ONE, TWO = (f"container_1700000000000_0006_01_00000{number}" for number in (1, 2))
APP = f"/ws/v1/cluster/apps/{APPLICATION}"
LOGS = f"/heddle/v1/apps/{APPLICATION}/logs"
ATTEMPTS = {f"{APP}/appattempts": {"appAttempts": {"appAttempt": [{"appAttemptId": ATTEMPT}]}}}
RUNNING = {
    **ATTEMPTS,
    f"{APP}/appattempts/{ATTEMPT}/containers": {"container": [{"containerId": ONE}, {"containerId": TWO}]},
    f"/heddle/v1/containers/{ONE}/logs": {"node": "n:1", "cluster": "west", "files": [{"file": "stdout"}]},
    f"/heddle/v1/containers/{ONE}/logs/stdout": {"text": "it runs"},
}
KNOWN = {f"/heddle/v1/apps/{APPLICATION}": {"app": {"user": "ada"}}}
FILES = [{"container": ONE, "file": "stdout"}, {"container": ONE, "file": "a b?"}, {"container": TWO, "file": "stdout"}]
AGGREGATED = {
    LOGS: {
        "nodes": [
            {"node": "n_1", "cluster": "west", "wrong": "", "files": FILES},
            {"node": "n_2", "cluster": "east", "wrong": "it is too short", "files": []},
        ]
    },
    f"{LOGS}/{ONE}/stdout": {"text": "it ran"},
    f"{LOGS}/{ONE}/a b?": {"text": "oddly named"},
    f"{LOGS}/{TWO}/stdout": {"text": "it ran too"},
}


def printed(documents, text=APPLICATION, statuses=None, **wanted):
    """Requests for logs with their parameters, of a Heddle with these documents."""
    asked = []

    def answer(request):
        path = request.url.path
        if "logs" in path:
            asked.append((path, dict(request.url.params)))
        if path in documents:
            return httpx.Response(200, json=documents[path])
        message = {"RemoteException": {"exception": "E", "message": f"no {path}", "javaClassName": "j.E"}}
        return httpx.Response((statuses or {}).get(path, 404), json=message)

    heddle = Front("http://heddle:8088", "ada", transport=httpx.MockTransport(answer))
    print_logs(heddle, LogsWanted.parse(text, **wanted))
    return asked


def test_a_container_alone_and_an_attempt_alone_come_without_their_lists(capsys):
    told = {
        f"{APP}/appattempts": {"appAttempts": {"appAttempt": {"appAttemptId": ATTEMPT}}},
        f"{APP}/appattempts/{ATTEMPT}/containers": {"container": {"containerId": ONE}},
    }
    printed(RUNNING | told)
    assert capsys.readouterr().out.splitlines() == [f"== {ONE} on n:1 of west", "-- stdout", "it runs"]


def test_a_row_without_its_id_costs_itself(capsys):
    told = {
        f"{APP}/appattempts": {"appAttempts": {"appAttempt": [{"id": 1}, {"appAttemptId": ATTEMPT}]}},
        f"{APP}/appattempts/{ATTEMPT}/containers": {"container": [{"id": ONE}, {"containerId": ONE}]},
    }
    printed(RUNNING | told)
    assert capsys.readouterr().out.splitlines() == [f"== {ONE} on n:1 of west", "-- stdout", "it runs"]


def test_of_containers_that_run_the_nodes_tell_the_logs(capsys):
    asked = printed(RUNNING | KNOWN | AGGREGATED)
    assert capsys.readouterr().out.splitlines() == [
        f"== {ONE} on n:1 of west",
        "-- stdout",
        "it runs",
        f"== {TWO}: no /heddle/v1/containers/{TWO}/logs",
    ]
    assert LOGS not in dict(asked)


@pytest.mark.parametrize("known", [{}, KNOWN, ATTEMPTS, KNOWN | ATTEMPTS])
def test_of_what_ended_the_aggregated_logs_are_told(capsys, known):
    asked = printed(known | AGGREGATED, tail=9)
    assert capsys.readouterr().out.splitlines() == [
        f"== {ONE} on n_1 of west, aggregated",
        "-- stdout",
        "it ran",
        "-- a b?",
        "oddly named",
        f"== {TWO} on n_1 of west, aggregated",
        "-- stdout",
        "it ran too",
        "== n_2 of east: it is too short",
    ]
    of = {"of": "ada"} if LOGS.removesuffix("/logs") in known else {}
    assert asked[-1][1] == {"node": "n_1", "tail": "9", "user.name": "ada", **of}


@pytest.mark.parametrize("status", [403, 404])
def test_a_container_is_looked_for_in_both(capsys, status):
    asked = printed(AGGREGATED, TWO, {f"/heddle/v1/containers/{TWO}/logs": status}, of="bob")
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"== {TWO} on n_1 of west, aggregated",
        "-- stdout",
        "it ran too",
    ]
    assert [parameters.get("of") for _, parameters in asked] == [None, "bob", "bob"]


def test_a_file_that_nobody_has_is_not_found():
    with pytest.raises(FrontError, match=rf"nothing of {APPLICATION} syslog runs or is aggregated") as caught:
        printed(AGGREGATED, file="syslog")
    assert caught.value.code is ExitCode.NOT_FOUND


def test_a_container_that_has_not_begun_is_no_failure(capsys):
    documents = {path: told for path, told in RUNNING.items() if ONE not in path}
    printed(documents)
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [f"== {ONE}", f"== {TWO}"]


@pytest.mark.parametrize(("status", "code"), [(403, ExitCode.NOT_ALLOWED), (503, ExitCode.UNAVAILABLE)])
def test_a_refusal_is_told(status, code):
    with pytest.raises(FrontError) as caught:
        printed({}, statuses={LOGS: status})
    assert caught.value.code is code


@pytest.mark.parametrize("text", ["", "job_1_1", "container_x", "application_1_1/.."])
def test_other_texts_are_no_ids(text):
    with pytest.raises(MalformedIdError):
        LogsWanted.parse(text)
