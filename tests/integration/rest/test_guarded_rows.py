"""S1 for every row of the tables: whoever names nobody changes nothing, at Heddle or behind it."""

import re

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.roles import NEEDED_WITHOUT_ROLES, Role
from shim.identity.service import IdentityRules, ProxyRule
from shim.server.rest.endpoints import BASE, ENDPOINTS, Endpoint
from shim.server.rights import OWN
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

OLD = ApplicationId(1_600_000_000_000, 7)
CHANGES = [each for each in ENDPOINTS if each.method != "GET"]


def target(endpoint: Endpoint) -> str:
    """A path of the row that names things that there are."""
    path = re.sub(r"\{application\}", str(OLD), endpoint.path)
    return BASE + re.sub(r"\{\w+\}", "default", path)


@pytest.mark.parametrize("admins", [(), ("*",)], ids=["", "all administer"])
@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row.method} {row.path}")
async def test_s1_no_row_is_changed_by_nobody(row: Endpoint, admins: tuple[str, ...]):
    server = ScriptedServer(rules=usual(IdentityRules, admins=admins))
    server.federation["east"].add_application(OLD, "RUNNING")
    await server.poll()
    asked = {name: len(server.federation[name].taken) for name in ("east", "west")}
    answer = await server.ask(row.method, target(row), body=b'{"state":"KILLED"}', content_type="application/json")
    assert answer.status == 401
    assert body_of(answer)["RemoteException"]["exception"] == "AuthorizationException"
    assert {name: len(server.federation[name].taken) for name in asked} == asked, "nobody behind was asked"
    (told,) = server.exchanges
    assert told.is_change
    assert told.status == 401


TAKE_A_NAME = {
    "GET apps/{application}/logs",
    "GET apps/{application}/logs/{container}/{file}",
    "GET containers/{container}/logs",
    "GET containers/{container}/logs/{file}",
    "GET usage",
    "POST policy/validate",
    "POST shares/whatif",
}
"""Rows whose right a viewer has, and nobody has not: they tell one user's own, or work for him."""
FOR_VIEWERS = [row for row, right in OWN.items() if NEEDED_WITHOUT_ROLES[right] <= Role.VIEWER]
GIVEN = {"application": OLD, "container": ContainerId(ApplicationAttemptId(OLD, 1), 1), "file": "stdout", "version": 0}


@pytest.mark.parametrize("row", FOR_VIEWERS)
async def test_s1_nobody_is_told_what_is_one_users_own(row: str):
    server = ScriptedServer(rules=usual(IdentityRules))
    server.federation["east"].add_application(OLD, "RUNNING", user=server.identity.anonymous.user)
    await server.poll()
    method, _, path = row.partition(" ")
    answer = await server.ask(
        method, f"/heddle/v1/{path.format_map(GIVEN)}", body=b"{}", content_type="application/json"
    )
    assert (answer.status == 401) is (row in TAKE_A_NAME), answer.body


WILDCARD = usual(
    IdentityRules, admins=("root",), proxy_users={"knox": ProxyRule(hosts=("*",), users=("*",), groups=("*",))}
)
OPERATORS = [row for row in CHANGES if row.operates] + [row for row in ENDPOINTS if row.path.endswith("/format")]


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: f"{row.method} {row.path}")
async def test_a_proxy_user_for_everybody_operates_no_resource_manager_as_somebody_else(row: Endpoint):
    server = ScriptedServer(rules=WILDCARD)
    await server.poll()
    asked = {name: len(server.federation[name].taken) for name in ("east", "west")}
    path = f"{target(row)}?user.name=knox&doAs=yarn&cluster=east"
    answer = await server.ask(row.method, path, body=b"{}", content_type="application/json")
    assert (answer.status, body_of(answer)["RemoteException"]["exception"]) == (403, "AuthorizationException")
    assert {name: len(server.federation[name].taken) for name in asked} == asked


@pytest.mark.parametrize("verb", ["cordon", "drain", "undrain"])
async def test_a_proxy_user_for_everybody_does_not_operate_heddle(verb: str):
    server = ScriptedServer(rules=WILDCARD)
    answer = await server.ask("POST", f"/heddle/v1/clusters/east/{verb}?user.name=knox&doAs=root")
    assert answer.status == 403


def test_the_rows_of_operators_are_those_of_labels_nodes_queues_and_logs():
    assert {row.path.split("/")[1] for row in ENDPOINTS if row.operates} == {
        *("add-node-labels", "nodes", "remove-node-labels", "replace-node-to-labels", "scheduler", "scheduler-conf")
    }
