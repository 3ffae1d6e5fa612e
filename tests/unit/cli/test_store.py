"""`heddle store`: what it prints, and what its exit codes say."""

import json
import sqlite3
from dataclasses import replace

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from typer.testing import CliRunner

from shim.cli.front import ExitCode
from shim.cli.main import app
from shim.cli.store import findings_of
from shim.domain.ids import ApplicationId, SubClusterId
from shim.ports.history_store import StoreHistory
from shim.store.copies import StoreFacts
from shim.store.schema import HEAD, MIGRATIONS

EAST = SubClusterId("east")
IN_ORDER = StoreFacts(HEAD, "", (), StoreHistory(frozenset({5}), 0, 0), 11, {"submitted": 2}, (), {}, ())


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "heddle.toml"
    file.write_text(
        f'[store]\nurl = "sqlite:///{tmp_path}/heddle.db"\n[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:1"\n'
    )
    return lambda *words: CliRunner().invoke(app, ["store", *words, "-c", str(file)])


def a_store(folder):
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(f"sqlite:///{folder}/heddle.db")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    engine.dispose()


def test_a_store_goes_there_and_back(run, tmp_path):
    a_store(tmp_path)
    done = run("backup", str(tmp_path / "copy"), "-o", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["revision"] == HEAD
    refused = run("restore", str(tmp_path / "copy"))
    assert refused.exit_code == ExitCode.FAILED
    assert "--force" in refused.stderr
    done = run("restore", str(tmp_path / "copy"), "--force", "-o", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kept"]


def test_resealing_needs_a_secret_and_a_store(run, tmp_path, monkeypatch):
    result = run("reseal")
    assert (result.exit_code, "security.secret_file is missing" in result.stderr) == (ExitCode.USAGE, True)
    monkeypatch.setenv("HEDDLE_SECURITY_SECRET_FILE", "env:HEDDLE_TEST_SECRET")
    monkeypatch.setenv("HEDDLE_TEST_SECRET", "0123456789abcdef")
    result = run("reseal")
    assert (result.exit_code, "there is no store" in result.stderr) == (ExitCode.FAILED, True)
    a_store(tmp_path)
    result = run("reseal", "--dry-run", "-o", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"done": False, "sealed": 0, "kept": 0, "unreadable": 0, "places": []}


def test_no_store_and_no_copy_are_said(run, tmp_path):
    for words in (("backup", str(tmp_path / "copy")), ("restore", str(tmp_path / "copy")), ("check", "--offline")):
        result = run(*words)
        assert result.exit_code == ExitCode.FAILED
        assert "there is no" in result.stderr
        assert "Traceback" not in result.output


def test_a_wrong_configuration_is_wrong_usage(tmp_path):
    result = CliRunner().invoke(app, ["store", "check", "-c", str(tmp_path / "missing.toml")])
    assert result.exit_code == ExitCode.USAGE


def test_a_check_without_clusters_names_those_that_are_silent(run, tmp_path):
    a_store(tmp_path)
    (tmp_path / "heddle.db").chmod(0o600)
    result = run("check", "-o", "json")
    assert result.exit_code == 0, result.output
    found = {(row["level"], row["check"]) for row in json.loads(result.stdout)}
    assert ("warning", "clusters") in found
    assert ("ok", "integrity") in found


def test_a_check_of_a_newer_store_fails(run, tmp_path):
    a_store(tmp_path)
    with sqlite3.connect(tmp_path / "heddle.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert run("check", "--offline").exit_code == ExitCode.FAILED


@pytest.mark.parametrize(
    ("changed", "level", "told"),
    [
        ({"damage": "page 3 is never used"}, "error", "page 3"),
        ({"readable_by_others": ("heddle.db",)}, "warning", "heddle.db"),
        ({"lost": {EAST: (ApplicationId(5, 2),)}}, "error", "application_5_0002"),
        ({"above": (ApplicationId(5, 20),)}, "error", "old copy"),
        ({"revision": "0001"}, "ok", f"upgrades it to {HEAD}"),
        ({"revision": "9999"}, "error", "newer Heddle"),
        ({"holders": ("gm/a",)}, "ok", "gm/a"),
    ],
)
def test_what_is_found_is_told(changed, level, told):
    rows = findings_of(replace(IN_ORDER, **changed), {})
    assert [row["level"] for row in rows if told in row["message"]] == [level]


def test_a_store_in_order_has_no_error():
    assert {row["level"] for row in findings_of(IN_ORDER, {})} == {"ok"}


def test_tables_go_back_and_the_verb_tells_from_where(run, tmp_path):
    a_store(tmp_path)
    dry = run("downgrade", "0013", "--dry-run", "-o", "json")
    assert (dry.exit_code, json.loads(dry.stdout)["done"]) == (0, False)
    done = json.loads(run("downgrade", "0013", "-o", "json").stdout)
    assert (done["done"], done["revision"], done["target"]) == (True, HEAD, "0013")
    again = run("downgrade", "0013")
    assert again.exit_code == ExitCode.FAILED
    assert "is at revision 0013, and cannot go back to 0013" in again.stderr
