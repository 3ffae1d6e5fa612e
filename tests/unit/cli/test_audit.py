"""`heddle audit verify`: its words, its exit codes."""

import json

from typer.testing import CliRunner

from shim.cli.main import app
from shim.telemetry.audit_file import AuditFile


def told(*arguments):
    return CliRunner().invoke(app, ["audit", "verify", *map(str, arguments)])


def a_file(folder, count=3):
    file = folder / "audit.log"
    audit = AuditFile(file)
    for number in range(count):
        audit.append({"operation": "app.submit", "target": f"application_1_{number:04}"})
    audit.close()
    return file, audit.head


def test_whole_files_are_told_with_their_heads(tmp_path):
    file, head = a_file(tmp_path)
    shown = told(file)
    assert shown.exit_code == 0
    assert str(head) in shown.output
    assert told(file, "--head", head).exit_code == 0


def test_a_change_is_told_with_its_place(tmp_path):
    file, _ = a_file(tmp_path)
    file.write_text(file.read_text().replace("application_1_0001", "application_1_0007"))
    shown = told(file)
    assert shown.exit_code == 1
    assert f"{file}:3: the line before it" in shown.output
    document = json.loads(told(file, "-o", "json").stdout)
    assert document["is_whole"] is False
    assert len(document["troubles"]) == 1


def test_a_cut_end_is_told_by_a_kept_head(tmp_path):
    file, head = a_file(tmp_path)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    assert told(file).exit_code == 0
    assert told(file, "--head", head).exit_code == 1


def test_wrong_usage_is_told(tmp_path):
    file, _ = a_file(tmp_path)
    assert told(tmp_path / "none").exit_code == 2
    assert told(file, "--head", "x").exit_code == 2


def test_a_line_without_end_is_read_in_pieces(tmp_path):
    file = tmp_path / "audit.log"
    file.write_bytes(b"x" * (3 * 1024 * 1024))
    assert told(file).exit_code == 1
