"""The audit calls each change by one name, whatever the protocol and the path."""

import re

import pytest

from shim.identity.service import IdentityRules
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rpc.admin_service import ADMIN_METHODS
from shim.server.rpc.client_methods import CLIENT_METHODS
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer

_FORM = re.compile(r"[a-z]+\.[a-z-]+")
_CHANGES = {
    **{f"{row.method} {row.path}": row.audit for row in ENDPOINTS if row.changes},
    **{name: row.audit for name, row in CLIENT_METHODS.items() if row.writes},
    **{name: row.audit for name, row in ADMIN_METHODS.items() if row.writes},
}


@pytest.mark.parametrize(("change", "audit"), _CHANGES.items(), ids=_CHANGES)
def test_every_change_has_a_name(change: str, audit: str) -> None:
    assert _FORM.fullmatch(audit), change


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("POST /apps", "submitApplication"),
        ("PUT /apps/{application}/state", "forceKillApplication"),
        ("PUT /apps/{application}/queue", "moveApplicationAcrossQueues"),
        ("PUT /apps/{application}/priority", "updateApplicationPriority"),
        ("PUT /apps/{application}/timeout", "updateApplicationTimeouts"),
        ("POST /containers/{container}/signal/{command}", "signalToContainer"),
        ("POST /delegation-token", "getDelegationToken"),
        ("DELETE /delegation-token", "cancelDelegationToken"),
        ("POST /reservation/submit", "submitReservation"),
        ("POST /add-node-labels", "addToClusterNodeLabels"),
        ("POST /remove-node-labels", "removeFromClusterNodeLabels"),
        ("POST /nodes/{node}/resource", "updateNodeResource"),
    ],
)
def test_a_change_has_the_same_name_over_rest_and_rpc(path: str, method: str) -> None:
    assert _CHANGES[path] == _CHANGES[method]


@pytest.mark.parametrize(
    ("method", "target", "name"),
    [
        ("POST", f"{BASE}/apps", "app.submit"),
        ("POST", "/heddle/v1/clusters/east/drain?dryRun=true", "cluster.drain"),
        ("POST", "/heddle/v1/clusters/east/undrain?dryRun=true", "cluster.undrain"),
        ("POST", "/heddle/v1/clusters/east/EVIL%0a", "cluster."),
        ("POST", "/heddle/v1/clusters/east/%64rain?dryRun=true", "cluster.drain"),
        ("POST", "/heddle/v1/%63lusters/%65ast/%64%72%61%69%6e/?dryRun=true", "cluster.drain"),
        ("POST", "/heddle/v1/clusters/ea;st/drain?dryRun=true", "cluster.drain"),
        ("POST", "/heddle/v1/clusters/east/%2564rain?dryRun=true", "cluster."),
        ("POST", "/heddle/v1/clusters/east%2fdrain?dryRun=true", ""),
        ("POST", "/heddle/v1/clusters/x/%2e%2e/east/drain?dryRun=true", ""),
        ("POST", "/%68eddle/v1/clusters/east/drain?dryRun=true", ""),
        ("POST", "/heddle/v1/choose-home", "home.choose"),
        ("POST", "/heddle/v1/%63hoose-home", "home.choose"),
        ("POST", "/heddle/v1/nosuch", ""),
        ("POST", "/nosuch", ""),
    ],
)
async def test_the_server_tells_the_name(method: str, target: str, name: str) -> None:
    server = ScriptedServer(rules=usual(IdentityRules, admins=("queen",)))
    await server.poll()
    mark = "&" if "?" in target else "?"
    await server.ask(method, f"{target}{mark}user.name=queen", body=b"{}", content_type="application/json")
    assert (server.exchanges[-1].audit, server.exchanges[-1].is_change) == (name, True)


@pytest.mark.parametrize(
    ("target", "cluster"),
    [
        ("/heddle/v1/clusters/east/drain", "east"),
        ("/heddle/v1/clusters/%65ast/cordon", "east"),
        ("/heddle/v1/clusters/nosuch/drain", "nosuch"),
        ("/heddle/v1/clusters/e%0aast/drain", ""),
        ("/heddle/v1/choose-home", ""),
    ],
)
async def test_the_audit_names_the_cluster_that_is_changed(target: str, cluster: str) -> None:
    server = ScriptedServer(rules=usual(IdentityRules, admins=("queen",)))
    await server.poll()
    await server.ask("POST", f"{target}?user.name=queen", body=b"{}", content_type="application/json")
    assert server.exchanges[-1].subcluster == cluster


async def test_no_spelling_of_a_path_does_what_the_audit_has_no_name_for() -> None:
    """Whatever is written with an escape: who gets through is called by the name of what was done."""
    server = ScriptedServer(rules=usual(IdentityRules, admins=("queen",)))
    await server.poll()
    path = "/heddle/v1/clusters/east/drain"
    spelt = [f"{path[:place]}%{ord(letter):02x}{path[place + 1 :]}" for place, letter in enumerate(path) if place]
    spelt += [path.replace("drain", more) for more in ("drain/", "drain//", "drain;x", "drain%00", "drain%20", "DRAIN")]
    for each in spelt:
        answer = await server.ask("POST", f"{each}?dryRun=true&user.name=queen")
        if answer.status == 200:
            assert server.exchanges[-1].audit == "cluster.drain", each
