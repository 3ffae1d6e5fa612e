"""The pages, alert rules and boards of docs/operators/monitoring, against the metrics that Heddle has."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from scripts import metrics_page
from shim.domain.credits import Credits
from shim.multicluster.splitters import MatchingStatus
from shim.peers.overview import MastersStatus
from shim.server.peers import MastersCollector, MatchingCollector
from shim.telemetry.metrics import (
    FindingCollector,
    Metrics,
    PollProcessCollector,
    ProcessFacts,
    RepairCollector,
    SubClusterGauges,
)
from shim.telemetry.shares import QueueGauges, ShareCollector
from tests.doubles.clock import FakeClock

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "operators" / "monitoring"
ALERTS = FOLDER / "alerts.yaml"
BOARDS = sorted(FOLDER.glob("*.json"))
DEFINED = {each.exposed: each for defined in metrics_page.subjects().values() for each in defined}
SERIES = DEFINED.keys() | {
    f"{name}{suffix}"
    for name, each in DEFINED.items()
    if each.kind == "histogram"
    for suffix in ("_bucket", "_sum", "_count")
}
NAME = re.compile(r"\bheddle_[a-z_]+")


def a_scrape():
    """Every collector that some server registers, in one text."""
    east = SubClusterGauges("east", 1.0, "RUNNING", "open", 2, 3)
    metrics = Metrics(FakeClock(), version="1", subclusters=lambda: [east])
    metrics.register(
        ShareCollector(
            lambda: [QueueGauges("root.a", 1, {"share": 0.5}, {"released": 1})], lambda: {"root.a": Credits(1.0, 2.0)}
        )
    )
    metrics.register(RepairCollector(lambda: 0, lambda: 0))
    metrics.register(PollProcessCollector(lambda: [ProcessFacts(0, os.getpid(), 1), ProcessFacts(1, None, 2)]))
    metrics.register(FindingCollector(lambda: {("clocks", "error"): 1}, lambda: {("the web services", "tls.pem"): 1e6}))
    metrics.register(MatchingCollector(MatchingStatus))
    metrics.register(MastersCollector(lambda: MastersStatus(name="gm/a", masters=(), queues=(), links=())))
    return metrics.scrape().decode()


def expressions_of(board):
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def run_promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_the_page_says_what_the_definitions_say():
    assert metrics_page.PAGE.read_text() == metrics_page.page()


def test_a_scrape_has_every_metric_that_is_defined_and_no_other():
    families = {family.name: family for family in text_string_to_metric_families(a_scrape())}
    ours = {name: family for name, family in families.items() if name.startswith("heddle_")}
    defined = {each.name: each for each in DEFINED.values()}
    assert ours.keys() == defined.keys()
    for name, family in ours.items():
        assert (family.type, family.documentation) == (defined[name].kind, defined[name].meaning)
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(defined[name].labels), name


def test_names_follow_the_conventions_of_prometheus():
    told = subprocess.run(
        ["promtool", "check", "metrics"], input=a_scrape(), capture_output=True, text=True, check=False, timeout=60
    )
    assert (told.returncode, told.stdout + told.stderr) == (0, "")
    for name, each in DEFINED.items():
        assert re.fullmatch(r"heddle_[a-z0-9_]+", name)
        assert each.kind != "histogram" or name.endswith("_seconds")
        assert each.meaning[0].isupper() or each.meaning[0].isdigit()
        assert not each.meaning.endswith(".")


def test_rules_are_sound_and_fire_when_they_should_and_only_then(tmp_path):
    code, told = run_promtool("check", "rules", str(ALERTS))
    assert code == 0, told
    histories = tmp_path / "histories.yaml"
    histories.write_text((Path(__file__).parent / "alerts_history.yaml").read_text().replace("RULES", str(ALERTS)))
    code, told = run_promtool("test", "rules", str(histories))
    assert code == 0, told


def test_every_alert_has_a_history():
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    tested = yaml.safe_load((Path(__file__).parent / "alerts_history.yaml").read_text())["tests"]
    fired = {each["alertname"] for test in tested for each in test["alert_rule_test"] if each["exp_alerts"]}
    assert fired == {rule["alert"] for rule in rules}
    for rule in rules:
        assert set(NAME.findall(rule["expr"])) <= SERIES
        assert {"summary", "description"} == rule["annotations"].keys()


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_boards_ask_for_metrics_that_there_are_in_sound_queries(path, tmp_path):
    board = json.loads(path.read_text())
    queries = expressions_of(board)
    for query in queries:
        assert set(NAME.findall(query)) <= SERIES, query
    assert all(panel["description"] and panel["title"] for panel in board["panels"])
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    written = tmp_path / "queries.yaml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    code, told = run_promtool("check", "rules", str(written))
    assert code == 0, told


def test_every_metric_is_on_a_board_or_in_an_alert():
    shown = {
        name
        for path in BOARDS
        for query in expressions_of(json.loads(path.read_text()))
        for name in NAME.findall(query)
    }
    shown |= set(NAME.findall(ALERTS.read_text()))
    unseen = {name for name in DEFINED if not any(each.startswith(name) for each in shown)}
    assert unseen == {"heddle_build_info", "heddle_subcluster_admission"}


def test_grafana_of_the_compose_file_finds_the_boards_and_prometheus():
    compose = ROOT / "docker" / "compose.yaml"
    services = yaml.safe_load(compose.read_text())["services"]
    mounts = dict(reversed(each.removesuffix(":ro").split(":")) for each in services["grafana"]["volumes"])
    provisioned = "/etc/grafana/provisioning"
    read = {
        kind: yaml.safe_load((compose.parent / mounts[f"{provisioned}/{kind}/heddle.yaml"]).read_text())
        for kind in ("datasources", "dashboards")
    }
    (source,) = read["datasources"]["datasources"]
    assert source["type"] == "prometheus"
    assert source["isDefault"]
    host, _, port = source["url"].removeprefix("http://").partition(":")
    assert services["prometheus"]["hostname"] == host
    assert f"127.0.0.1:{port}:{port}" in services["prometheus"]["ports"]
    (boards,) = read["dashboards"]["providers"]
    assert (compose.parent / mounts[boards["options"]["path"]]).resolve() == FOLDER
    assert services["prometheus"]["profiles"] == services["grafana"]["profiles"] == ["monitoring"]
