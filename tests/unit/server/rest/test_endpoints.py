"""The table of endpoints, and paths that try to be something else."""

from pathlib import Path

import pytest

from shim.domain.roles import RIGHT_OF_SCOPE, Right, TokenScope
from shim.server.rest.endpoints import BASE, ENDPOINTS, allowed_methods, find, has_broken_escape
from shim.server.ways import RouteKey, Way
from tests.doubles.recorded import recorded_exchanges

RECORDED = [
    exchange
    for exchange in recorded_exchanges().values()
    if exchange.path.startswith(BASE) and exchange.method in ("GET", "POST", "PUT", "DELETE")
]


def test_every_recorded_path_is_known_or_was_not_found():
    lost = {
        (exchange.path, exchange.status)
        for exchange in RECORDED
        if find(exchange.path.partition("#")[0]) is None and exchange.status not in (307, 404, None)
    }
    assert lost == set()


def test_every_recorded_not_found_page_is_of_an_unknown_path():
    pages = {
        exchange.path
        for exchange in RECORDED
        if exchange.status == 404 and (exchange.header("content-type") or "").startswith("text/html;charset=utf-8")
    }
    assert pages
    assert {path for path in pages if find(path) is not None} == set()


def test_every_recorded_success_has_a_row_of_its_method():
    rows = [
        (exchange.method, exchange.path, found.endpoints)
        for exchange in RECORDED
        if exchange.status in (200, 202) and "op=" not in exchange.query and (found := find(exchange.path)) is not None
    ]
    assert len(rows) > 100
    assert [(method, path) for method, path, methods in rows if method not in methods] == []


def test_rows_are_unique():
    keys = [(row.method, row.path) for row in ENDPOINTS]
    assert len(keys) == len(set(keys)) >= 55


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_a_row_is_found_by_its_own_path(row):
    path = BASE + row.path.replace("{", "x").replace("}", "")
    found = find(path)
    assert found is not None
    assert found.endpoints[row.method] is row
    assert (row.key is not RouteKey.NONE) == (row.way is Way.ROUTE)


def test_recorded_options_name_the_same_methods():
    checked = 0
    for exchange in recorded_exchanges().values():
        found = find(exchange.path)
        if exchange.method == "OPTIONS" and exchange.status == 200 and found is not None:
            assert allowed_methods(found) == exchange.header("allow")
            checked += 1
    assert checked > 8


@pytest.mark.parametrize(
    "path",
    [
        "/ws/v1/cluster//info",
        "//ws/v1/cluster/info",
        "/ws//v1/cluster/info",
        "/ws/v1/cluster//",
        "/ws/v1/cluster/./info",
        "/ws/v1/cluster/nodes/../info",
        "/ws/v1/cluster%2Finfo",
        "/ws/v1/cluster/%69nfo",
        "/ws/v1/cluster/%2e%2e/info",
        "/ws/v1/cluster/apps/%2e%2e/%2e%2e/conf",
        "/ws/v1/cluster/INFO",
        "/WS/v1/cluster/info",
        "/ws/v1/clusterinfo",
        "/ws/v1/cluster/info/x",
        "/ws/v1/cluster/in\u0131fo",
    ],
)
def test_s24_a_path_that_only_resembles_one_is_none(path):
    assert find(path) is None


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/ws/v1/cluster/apps/a%2F..%2Fb", "a/../b"),
        ("/ws/v1/cluster/apps/..;x=y", ".."),
        ("/ws/v1/cluster/apps/%252e", "%2e"),
        ("/ws/v1/cluster/apps/%C3%A9", "é"),
        ("/ws/v1/cluster/apps/%ff", "�"),
    ],
)
def test_s24_tricks_in_a_parameter_are_only_a_value(path, parameter):
    found = find(path)
    assert found is not None
    assert found.parameters == {"application": parameter}


@pytest.mark.parametrize("path", ["/ws/v1/cluster/info", "/ws/v1/cluster/info/", "/ws/v1/cluster/info;jsessionid=1"])
def test_t7_a_slash_at_the_end_and_matrix_parameters_are_ignored(path):
    assert find(path) is not None


@pytest.mark.parametrize(("path", "is_broken"), [("/%zz", True), ("/%2", True), ("/a%00", True), ("/%20", False)])
def test_broken_escapes_are_noticed(path, is_broken):
    assert has_broken_escape(path) is is_broken


def test_there_is_no_other_list_of_paths():
    folder = Path(__file__).resolve().parents[4] / "shim" / "server" / "rest"
    listing = {file.name for file in folder.glob("*.py") if "/appattempts" in file.read_text(encoding="utf-8")}
    assert "endpoints.py" in listing
    assert listing <= {"endpoints.py", "heddle_api.py"}


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_the_scope_of_a_row_is_that_of_its_right(row):
    """Labels of one node took `submit`, as they are found by a host and not by a node."""
    assert row.operates == (row.right is Right.OPERATE_CLUSTERS) == (row.scope is TokenScope.OPERATE)
    assert (row.scope is None) == (row.right is Right.OWN_TOKENS)
    assert row.scope is None or RIGHT_OF_SCOPE[row.scope] is row.right


CHANGES_OF_ONE = {
    "POST /scheduler/logs",
    "POST /reservation/new-reservation",
    "POST /replace-node-to-labels",
    "POST /add-node-labels",
    "POST /remove-node-labels",
    "PUT /scheduler-conf",
    "POST /scheduler-conf/validate",
}


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_reads_and_changes_of_what_each_cluster_has_for_itself_may_be_sent_to_one(row):
    assert row.may_be_carried is (row.method == "GET" or f"{row.method} {row.path}" in CHANGES_OF_ONE)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/apps", "OPTIONS,HEAD,POST,GET"),
        ("/apps/new-application", "OPTIONS,POST"),
        ("/metrics", "OPTIONS,HEAD,GET"),
        ("/apps/application_1_0001/state", "OPTIONS,HEAD,GET,PUT"),
        ("/delegation-token", "OPTIONS,DELETE,POST"),
        ("/scheduler-conf", "OPTIONS,HEAD,GET,PUT"),
    ],
)
def test_the_methods_of_a_path_are_told_in_one_order(path, methods):
    match = find(BASE + path)
    assert match is not None
    assert allowed_methods(match) == methods
