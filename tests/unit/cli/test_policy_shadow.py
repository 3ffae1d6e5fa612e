"""`heddle policy shadow`, in front of a Heddle that is scripted."""

import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.main import app

NEWEST = {
    "at_ms": 3000,
    "kind": "held",
    "application": "application_1_0007",
    "priority": 20,
    "in_force": {"east": 2},
    "in_force_reason": "there is room",
    "shadow": {},
    "shadow_reason": "it waits",
}
QUEUE = {
    "queue": "root.prod",
    "in_force": "fifo",
    "shadow": "delay",
    "since_ms": 2000,
    "cycles": 5,
    "skipped": 4,
    "solved": 0,
    "unsolved": 7,
    "differences": {"held": 31, "granted": 0, "other-cluster": 2, "order": 0},
    "newest": [NEWEST, NEWEST | {"application": "application_1_0008"}],
}


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    seen = []

    def answer(request):
        seen.append(request.url.path)
        return httpx.Response(200, json={"queues": [QUEUE]})

    made = front_module.Front
    monkeypatch.setattr(
        front_module, "Front", lambda *each, **named: made(*each, **named, transport=httpx.MockTransport(answer))
    )
    return seen


def run(*arguments):
    words = ["policy", "shadow", "--server", "http://heddle:8088", "--user", "ada", *arguments]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_line_for_each_queue_and_differences_where_they_are_asked_for(asked):
    assert run().splitlines()[1].split() == ["root.prod", "fifo", "delay", "5", "4", "7", "31", "0", "2", "0"]
    assert asked == ["/heddle/v1/policy/shadow"]
    told = run("--newest", "1")
    assert "application_1_0007" in told
    assert "2 on east: there is room" in told
    assert "application_1_0008" not in told


def test_programs_are_told_everything_of_as_many_as_they_ask_for():
    (row,) = json.loads(run("-o", "json", "-n", "2"))
    assert row["differences"] == QUEUE["differences"]
    assert row["newest"] == QUEUE["newest"]
