"""Verbs that read, in front of a scripted Heddle whose cluster east has fallen silent."""

import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.completeness import ClusterAge, ages_of, told_of_missing
from shim.cli.front import ExitCode
from shim.cli.main import app

LOST = {"id": "east", "state": "LOST", "age_s": 62.4, "is_heard": True, "failure": "connection refused at e:1"}
WELL = {"id": "west", "state": "RUNNING", "age_s": 0.42, "is_heard": True, "failure": ""}
ROWS = [
    {"id": "application_1_0001", "state": "RUNNING", "cluster": "east"},
    {"id": "application_1_0002", "state": "ACCEPTED", "cluster": "west"},
]
FINDING = {"level": "warning", "check": "reach", "cluster": "east", "message": "silent", "advice": "look"}
BODIES = {
    "/heddle/v1/apps": {"apps": ROWS},
    "/heddle/v1/apps/application_1_0001": {"app": ROWS[0]},
    "/heddle/v1/apps/application_1_0001/why": {"candidates": []},
    "/heddle/v1/clusters": {"clusters": [LOST, WELL]},
    "/heddle/v1/queues": {"queues": [{"queue": "root.a", "parts": []}]},
    "/heddle/v1/shares": {"queues": []},
    "/heddle/v1/usage": {"by": ["queue"], "usage": []},
    "/heddle/v1/doctor": {"findings": [FINDING]},
    "/heddle/v1/policy": {"text": "[[queue]]", "version": 1},
}
VERBS = [
    ("app", "list"),
    ("app", "status", "application_1_0001"),
    ("app", "why", "application_1_0001"),
    ("cluster", "list"),
    ("queue", "list"),
    ("queue", "status", "a"),
    ("usage",),
    ("doctor",),
]


@pytest.fixture
def missing(monkeypatch):
    """Names of clusters in `Heddle-Missing`; what a test puts into it is missing."""
    names = []

    def answer(request):
        headers = {"Heddle-As-Of": "2026-11-28T10:22:29.000Z"}
        if names:
            headers["Heddle-Missing"] = ", ".join(names)
        return httpx.Response(200, json=BODIES[request.url.path], headers=headers)

    made = front_module.Front
    monkeypatch.setattr(
        front_module, "Front", lambda *each, **named: made(*each, **named, transport=httpx.MockTransport(answer))
    )
    return names


def run(*arguments):
    return CliRunner().invoke(app, [*arguments, "--server", "http://heddle:8088", "--user", "ada"])


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_is_missing_is_said_on_standard_error_and_has_a_code_of_its_own_if_one_wants(missing, verb):
    whole = run(*verb, "--strict")
    assert (whole.exit_code, whole.stderr) == (0, "")
    missing.append("east")
    told = run(*verb)
    assert told.exit_code == 0
    assert "east is missing, or old: LOST, last reported 62 s ago: connection refused at e:1" in told.stderr
    assert "the rest is at most 0.4 s old (of 2026-11-28T10:22:29.000Z)" in told.stderr
    strict = run(*verb, "--strict")
    assert strict.exit_code == ExitCode.INCOMPLETE
    assert strict.stdout == told.stdout, "it is printed all the same"


def test_standard_output_for_programs_stays_a_document(missing):
    missing.append("east")
    assert json.loads(run("app", "list", "-o", "json", "--strict").stdout) == ROWS


def test_a_row_of_a_silent_cluster_says_how_old_it_is(missing):
    missing.append("east")
    silent, well = run("app", "list").stdout.splitlines()[1:]
    assert "RUNNING (62 s ago, east is LOST)" in silent
    assert "ACCEPTED" in well
    assert "ago" not in well


def test_a_policy_is_whole_whichever_clusters_are_there(missing):
    missing.append("east")
    assert run("policy", "show").stderr == ""


def test_a_list_of_clusters_says_what_is_wrong_with_each(missing):
    assert "connection refused at e:1" in run("cluster", "list").stdout


def test_a_drain_is_listed_with_who_said_it_since_when_and_why(missing, monkeypatch):
    said = {"said_by": "root", "said_at_ms": 1_795_861_206_214, "said_why": "kernel", "admission": "draining"}
    monkeypatch.setitem(BODIES, "/heddle/v1/clusters", {"clusters": [{**WELL, **said}]})
    assert "draining since 2026-11-28T10:20Z by root: kernel" in run("cluster", "list").stdout


def test_the_morning_after_tells_when_a_cluster_was_lost_and_came_back(missing, monkeypatch):
    lost = {"at_ms": 1_795_861_206_214, "was": "RUNNING", "state": "LOST", "reason": "connection refused"}
    back = {"at_ms": 1_795_861_266_214, "was": "LOST", "state": "RUNNING", "reason": ""}
    monkeypatch.setitem(BODIES, "/heddle/v1/clusters", {"clusters": [{**WELL, "changes": [lost, back]}, LOST]})
    newest, older = run("cluster", "list", "--changes").stdout.splitlines()[1:]
    assert newest.split() == ["2026-11-28T10:21:06Z", "west", "LOST", "RUNNING", "-"]
    assert older.split() == ["2026-11-28T10:20:06Z", "west", "RUNNING", "LOST", "connection", "refused"]


def test_a_drain_tells_whose_what_is_left_is(missing, monkeypatch):
    one, other = ROWS[0]["id"], "application_1700000000000_0099"
    order = {
        "id": "west",
        "was": "open",
        "admission": "draining",
        "dry_run": True,
        "still_running": [one, other],
        "spanning": {other: 3},
    }
    monkeypatch.setitem(BODIES, "/heddle/v1/clusters/west/drain", order)
    monkeypatch.setitem(BODIES, "/heddle/v1/apps", {"apps": [{**ROWS[0], "user": "carol", "name": "nightly"}]})
    lines = run("cluster", "drain", "west", "--dry-run").stdout.splitlines()
    assert [line.split() for line in lines if line.startswith("still_running")] == [["still_running", "2"]]
    (named,) = [line for line in lines if line.startswith(one)]
    assert named.split()[1:3] == ["carol", "nightly"]
    (spanning,) = [line for line in lines if line.startswith(other)]
    assert spanning.split()[-1] == "3"
    assert json.loads(run("cluster", "drain", "west", "--dry-run", "-o", "json").stdout) == order


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (LOST, "LOST, last reported 62 s ago: connection refused at e:1"),
        ({**LOST, "state": "NEW", "is_heard": False}, "NEW, no report in the 62 s since Heddle began"),
        ({"id": "east", "state": "NEW", "age_s": None}, "NEW, never reported"),
        ({"id": "east", "state": "RETIRED", "age_s": None, "is_heard": True, "failure": None}, "RETIRED"),
        ({"id": "east"}, "never reported"),
    ],
)
def test_age_of_a_cluster_in_words(row, words):
    told = ages_of([row])["east"].told
    assert told.startswith(words)


def test_without_ages_the_names_are_told():
    assert told_of_missing(["east"], {}, "2026-11-28T10:22:29.000Z") == [
        "east is missing, or old",
        "the rest is of 2026-11-28T10:22:29.000Z",
    ]
    assert told_of_missing(["east"], {"east": ClusterAge("LOST", 3.0)}, "x") == [
        "east is missing, or old: LOST, last reported 3 s ago"
    ], "nothing else is there to be old"
