"""Watching a lab that starts, where nothing answers yet."""

import os
from pathlib import Path

import pytest

from shim.errors import LabError
from shim.lab.boot import BootProgress, BootWatch
from shim.lab.handles import Cluster
from shim.lab.layout import lay_out
from shim.lab.processes import identity_of
from shim.lab.spec import LabSpec
from shim.lab.state import ClusterRecord, DaemonRecord
from tests.doubles.postgresql import free_addresses


class EnoughError(Exception):
    """What the caller does meanwhile may fail."""


@pytest.fixture
def watched(tmp_path):
    """Watches a cluster whose one daemon, this process, answers nothing; with the messages of its steps."""
    spec = LabSpec.of(clusters=1, nodes=1)
    (layout,) = lay_out(spec, base_port=1, first_octet=10)
    cluster = Cluster("east", ClusterRecord(spec.clusters[0], layout, str(tmp_path)), tmp_path)
    (nobody,) = free_addresses(1)
    daemon = DaemonRecord("east-rm", "east", "Main", str(tmp_path), nobody, identity_of(os.getpid()))
    told: list[str] = []
    progress = BootProgress(lambda step: told.append(step.message), total=1)
    return BootWatch({"east": cluster}, (daemon,), progress, lambda _: None), told


def test_the_caller_has_its_turn_again_and_again_before_anything_is_ready(watched):
    watch, told = watched
    turns = iter(range(3))

    def meanwhile(say):
        turn = next(turns)
        say(f"turn {turn}")
        if turn == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        watch.wait(meanwhile, timeout_s=60)
    assert told == ["turn 0", "turn 1", "turn 2"]


def test_a_lab_that_is_not_ready_in_time_is_named(watched, tmp_path):
    watch, _ = watched
    Path(tmp_path / "daemon.log").write_text("still thinking")
    with pytest.raises(LabError, match=r"east has no active ResourceManager(.|\n)*still thinking"):
        watch.wait(lambda _: None, timeout_s=0)
