"""The end of the audit over the web services: for operators, newest first, whatever the file looks like."""

import json
from pathlib import Path
from typing import Any

import pytest

from shim.identity.service import IdentityRules
from shim.telemetry.audit import AuditEntry, AuditTrail, newest_entries
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

RULES = usual(IdentityRules, allow_anonymous=True, admins=("queen",))
KILL = AuditEntry("r1-1", "app.kill", "alice", "alice", "10.0.0.1", "allowed", 200, "east", "application_1_1")
DRAIN = AuditEntry("r1-2", "cluster.drain", "queen", "queen", "10.0.0.2", "refused", 403, "west", "west", "no right")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def write(file: Path, *entries: AuditEntry) -> None:
    trail = AuditTrail(FakeClock(), file)
    for entry in entries:
        trail.record(entry)
    trail.close()


async def told(file: Path | None, query: str = "") -> Any:
    server = ScriptedServer(rules=RULES, audit_file=file)
    answer = await server.ask("GET", f"/heddle/v1/audit?user.name=queen{query}")
    assert answer.status == 200
    return body_of(answer)


async def test_the_newest_line_comes_first(file: Path):
    write(file, KILL, DRAIN)
    first, second = (await told(file))["entries"]
    assert (first["operation"], first["reason"], second["operation"]) == ("cluster.drain", "no right", "app.kill")


@pytest.mark.parametrize(
    ("query", "operations"),
    [
        ("&search=ALICE+kill", ["app.kill"]),
        ("&search=alice+drain", []),
        ("&search=operation", []),
        ("&limit=1", ["cluster.drain"]),
    ],
)
async def test_words_are_looked_for_in_what_was_said(file: Path, query: str, operations: list[str]):
    write(file, KILL, DRAIN)
    assert [each["operation"] for each in (await told(file, query))["entries"]] == operations


@pytest.mark.parametrize("named", ["", "?user.name=alice"])
async def test_only_operators_read_it(file: Path, named: str):
    write(file, KILL)
    server = ScriptedServer(rules=RULES, audit_file=file)
    answer = await server.ask("GET", f"/heddle/v1/audit{named}")
    assert answer.status in (401, 403)
    assert b"app.kill" not in answer.body


async def test_without_a_file_it_says_where_the_lines_are():
    assert await told(None) == {"entries": [], "advice": "log.audit_file is not set: audit lines are in the log"}


async def test_before_the_first_change_and_after_a_rotation_there_is_nothing(file: Path):
    assert await told(file) == {"entries": [], "advice": ""}


async def test_a_file_that_cannot_be_read_is_said_to_be(tmp_path: Path):
    server = ScriptedServer(rules=RULES, audit_file=tmp_path)
    answer = await server.ask("GET", "/heddle/v1/audit?user.name=queen")
    assert (answer.status, b"cannot be read" in answer.body) == (503, True)


def test_cut_lines_and_what_is_no_record_are_passed_over(file: Path):
    lines = [json.dumps({"n": number, "of": "x" * 40}).encode() for number in range(100)]
    file.write_bytes(b"\n".join([*lines, b"[1]", b"", b"{", b"[" * 100_000, b'{"n": 100}', b'{"n": 101']))
    found = newest_entries(file)
    assert [each["n"] for each in found] == [100, *range(99, -1, -1)]


def test_only_the_end_of_a_large_file_is_read(file: Path):
    lines = [json.dumps({"n": number}).encode() for number in range(1000)]
    file.write_bytes(b"\n".join([*lines, b""]))
    found = [each["n"] for each in newest_entries(file, most_bytes=100)]
    assert found == list(range(999, 999 - len(found), -1))
    assert 5 <= len(found) <= 10
