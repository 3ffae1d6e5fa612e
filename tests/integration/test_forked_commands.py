"""What the tests' own forked processes of the command line are given."""

from pathlib import Path

import pytest

from tests.support.heddle_process import until
from tests.support.nursery import Nursery, is_running

THEN, NOW = "http://127.0.0.1:1", "http://127.0.0.1:2"


def test_a_command_has_the_variables_of_its_start_and_not_those_of_the_nurserys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_SERVER", THEN)
    log = tmp_path / "log"
    with Nursery() as nursery:
        monkeypatch.delenv("HEDDLE_SERVER")
        pid = nursery.start(log, "app", "list")
        until(lambda: not is_running(pid), "it has said that nobody is there")
        assert THEN not in log.read_text()
        pid = nursery.start(log, "app", "list", HEDDLE_SERVER=NOW)
        until(lambda: not is_running(pid), "it has said that nobody is there")
        assert NOW in log.read_text()
