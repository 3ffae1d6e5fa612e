"""`heddle usage`, in front of a Heddle that is scripted."""

import csv
import io
import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.main import app

ROW = {"applications": 2, "memory_mib_s": 300, "vcore_s": 7, "preempted_memory_mib_s": 0, "preempted_vcore_s": 0}
TOLD = {"by": ["queue", "user"], "usage": [{"queue": "root.prod", "user": "=cmd()", **ROW}], "is_cut": False}


@pytest.fixture
def asked(monkeypatch):
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(200, json=TOLD)

    made = front_module.Front
    monkeypatch.setattr(
        front_module, "Front", lambda *each, **named: made(*each, **named, transport=httpx.MockTransport(answer))
    )
    return seen


def run(*arguments):
    done = CliRunner().invoke(app, ["usage", "--server", "http://heddle:8088", "--user", "ada", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_usage_is_asked_for_and_written_for_a_spreadsheet(asked):
    printed = run("--by", "queue,user", "--from", "2026-11-01", "--to", "2026-12-01", "-o", "csv")
    (request,) = asked
    assert request.url.path == "/heddle/v1/usage"
    assert dict(request.url.params) == {
        "by": "queue,user",
        "from": "2026-11-01",
        "to": "2026-12-01",
        "user.name": "ada",
    }
    heading, row = csv.reader(io.StringIO(printed))
    assert dict(zip(heading, row, strict=True)) == {
        "queue": "root.prod",
        "user": "'=cmd()",
        **{name: str(value) for name, value in ROW.items()},
    }, "a name that a spreadsheet would run is a text"


def test_usage_for_programs_and_for_people(asked):
    assert json.loads(run("-o", "json")) == TOLD["usage"]
    table = run()
    assert "MiB-SECONDS" in table
    assert "root.prod" in table
    assert dict(asked[0].url.params) == {"by": "queue", "user.name": "ada"}
