"""Prometheus beside Heddle, as docker/compose.yaml has it with its profile `monitoring`: what it reads and judges."""

import json
from pathlib import Path

import httpx
import pytest
import yaml

from shim.lab.processes import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "operators" / "monitoring"
BOARDS = sorted(FOLDER.glob("*.json"))


def asked(prometheus, path, **parameters):
    answer = httpx.get(f"{prometheus}/api/v1/{path}", params=parameters, timeout=30).json()
    assert answer["status"] == "success", answer
    return answer["data"]


def is_read(prometheus):
    (target,) = asked(prometheus, "targets")["activeTargets"] or [{"health": "unknown"}]
    return target["health"] == "up"


@pytest.fixture(scope="module")
def reading(prometheus):
    assert wait_until(lambda: is_read(prometheus), timeout_s=60), asked(prometheus, "targets")
    return prometheus


def test_it_reads_what_heddle_tells_of_both_clusters(reading):
    def known():
        """What it has kept: it calls a target up a moment before."""
        return asked(reading, "query", query="count(heddle_build_info)")["result"]

    assert wait_until(lambda: bool(known()), timeout_s=60)
    (version,) = known()
    assert version["value"][1] == "1"
    told = asked(reading, "query", query='count by (subcluster) ({__name__=~"heddle_subcluster_.*"})')["result"]
    assert {each["metric"]["subcluster"] for each in told} == {"east", "west"}


def test_it_has_every_alert_rule_and_can_judge_it(reading):
    written = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    names = [rule["alert"] for group in written for rule in group["rules"]]

    def judged():
        groups = asked(reading, "rules")["groups"]
        return {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}

    assert wait_until(lambda: set(judged().values()) == {"ok"}, timeout_s=60), judged()
    assert sorted(judged()) == sorted(names)


@pytest.mark.parametrize("board", BOARDS, ids=lambda path: path.stem)
def test_what_a_board_asks_is_answered(reading, board):
    panels = json.loads(board.read_text("utf-8"))["panels"]
    for expression in (target["expr"] for panel in panels for target in panel["targets"]):
        asked(reading, "query", query=expression)
