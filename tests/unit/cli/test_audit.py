"""`heddle audit verify`: its words, its exit codes."""

import hashlib
import json

from typer.testing import CliRunner

from shim.cli.main import app
from shim.telemetry.audit_chain import ChainHead
from shim.telemetry.audit_file import AuditFile, head_file_of


def told(*arguments):
    return CliRunner().invoke(app, ["audit", "verify", *map(str, arguments)])


def a_file(folder, count=3, key=b""):
    file = folder / "audit.log"
    audit = AuditFile(file, key=key)
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
    shown = told(file)
    assert (shown.exit_code, "the line whose hash was kept is not there" in shown.output) == (1, True)
    head_file_of(file).unlink()
    shown = told(file)
    assert (shown.exit_code, "no FILE.head is there" in shown.output) == (0, True)
    assert told(file, "--head", head).exit_code == 1


def test_a_rotated_file_and_the_next_have_one_head(tmp_path):
    file, _ = a_file(tmp_path)
    older = file.rename(tmp_path / "audit.log.1")
    audit = AuditFile(file)
    assert told(older, file).exit_code == 0, "nothing was written since"
    audit.append({"operation": "app.kill"})
    audit.close()
    assert told(older, file).exit_code == 0
    file.write_text("")
    assert told(older, file).exit_code == 1


def a_key(folder, text="k" * 32):
    file = folder / f"key-{text[0]}"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_with_a_key_nobody_else_writes_a_chain_anew(tmp_path):
    key = a_key(tmp_path)
    file, _ = a_file(tmp_path, key=b"k" * 32)
    assert told(file).exit_code == told(file, "--key", key).exit_code == 0
    assert told(file, "--key", a_key(tmp_path, "x" * 32)).exit_code == 1
    key.chmod(0o644)
    assert told(file, "--key", key).exit_code == 2
    key.chmod(0o600)
    for forged_by in (b"", b"x" * 32):
        folder = tmp_path / f"by-{forged_by.decode()[:1]}"
        folder.mkdir()
        forged, _ = a_file(folder, key=forged_by)
        assert told(forged).exit_code == 0, "each line fits the one before"
        shown = told(forged, "--key", key)
        assert (shown.exit_code, "seal" in shown.output) == (1, True)
        head_file_of(forged).unlink()
        assert told(forged, "--key", key).exit_code == 1, "nor without a head"


def test_an_older_head_goes_with_a_cut_only_if_it_was_sealed_too(tmp_path):
    key = a_key(tmp_path)
    file, _ = a_file(tmp_path, key=b"k" * 32)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]))
    forged = ChainHead(json.loads(lines[1])["chain"], 2, hashlib.sha256(lines[1].rstrip(b"\n")).hexdigest())
    head_file_of(file).write_text(str(forged))
    assert told(file).exit_code == 0
    assert told(file, "--key", key).exit_code == 1


def test_a_line_of_before_there_was_a_key_is_a_note_and_one_after_it_a_trouble(tmp_path):
    key = a_key(tmp_path)
    file, _ = a_file(tmp_path)
    audit = AuditFile(file, key=b"k" * 32)
    audit.append({"operation": "app.kill"})
    audit.close()
    shown = told(file, "--key", key)
    assert (shown.exit_code, "3 lines before the first sealed one" in shown.output) == (0, True)
    audit = AuditFile(file)
    audit.append({"operation": "app.kill"})
    audit.close()
    assert "the line has no seal, and lines before it have one" in told(file, "--key", key).output


def test_wrong_usage_is_told(tmp_path):
    file, _ = a_file(tmp_path)
    assert told(tmp_path / "none").exit_code == 2
    assert told(file, "--head", "x").exit_code == 2


def test_a_line_without_end_is_read_in_pieces(tmp_path):
    file = tmp_path / "audit.log"
    file.write_bytes(b"x" * (3 * 1024 * 1024))
    assert told(file).exit_code == 1
