import json
import stat
from pathlib import Path

import structlog
from structlog.testing import capture_logs

from shim.telemetry import AuditEntry, AuditTrail

ENTRY = AuditEntry(
    request_id="r1",
    operation="PUT /ws/v1/cluster/apps/{appid}/state",
    real_user="knox",
    effective_user="ada",
    address="127.0.0.1",
    result="refused",
    status=403,
    subcluster="east",
    target="application_1_0001",
    reason="not hers\nforged",
)


class StoppedClock:
    """A clock that stands at the start of 2026."""

    def now_s(self):
        return 1767225600.0


def test_a_line_in_a_file_tells_everything_on_one_line(tmp_path):
    file = tmp_path / "audit.log"
    trail = AuditTrail(StoppedClock(), file)
    trail.record(ENTRY)
    trail.close()
    (text,) = file.read_text("utf-8").splitlines()
    line = json.loads(text)
    assert line["time"] == "2026-01-01T00:00:00+00:00"
    assert (line["real_user"], line["effective_user"]) == ("knox", "ada")
    assert line["reason"] == "not hers\\nforged"
    assert set(line) == {"time", *AuditEntry.__slots__, "chain", "number", "previous"}


def test_a_file_is_appended_to_and_only_its_owner_reads_it(tmp_path):
    file = tmp_path / "audit.log"
    for _ in range(2):
        trail = AuditTrail(StoppedClock(), file)
        trail.record(ENTRY)
        trail.close()
    assert len(file.read_text("utf-8").splitlines()) == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_was_rotated_away_is_made_anew(tmp_path):
    file = tmp_path / "audit.log"
    trail = AuditTrail(StoppedClock(), file)
    trail.record(ENTRY)
    file.rename(tmp_path / "audit.log.1")
    trail.record(ENTRY)
    trail.close()
    assert len(file.read_text("utf-8").splitlines()) == 1


def test_without_a_file_it_is_a_line_of_the_log():
    structlog.reset_defaults()
    with capture_logs() as lines:
        AuditTrail(StoppedClock()).record(ENTRY)
    assert [(line["event"], line["effective_user"], line["status"]) for line in lines] == [("audit", "ada", 403)]


def test_a_file_that_cannot_be_written_loses_no_line(monkeypatch):
    structlog.reset_defaults()
    with capture_logs() as lines:
        trail = AuditTrail(StoppedClock(), Path("/dev/full"))
        trail.record(ENTRY)
        trail.close()
    (line,) = [each for each in lines if each["event"] == "audit line not written to its file"]
    assert (line["effective_user"], line["status"]) == ("ada", 403)
