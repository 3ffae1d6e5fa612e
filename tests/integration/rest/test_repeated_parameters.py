"""One rule for what stands more than once in a query: the first counts, but for the filters that take many values.

Jersey binds a `String` to the first value, so a ResourceManager does the same; `tests/differential` compares.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from shim.identity.service import IdentityRules
from shim.protocol.rest.filters import MANY_VALUED
from shim.server.rest.endpoints import ENDPOINTS
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

OWN = "/heddle/v1"


CONSOLE_FILTERS = {"where", "shown"}
"""Parameters of the console's list of which every one counts."""


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


async def submitted(server: ScriptedServer) -> None:
    for user, name in (("alice", "one"), ("bob", "two")):
        await server.submit(user, **{"application-name": name})
    await server.poll()


def names(document: Any) -> list[str]:
    apps = document["apps"]
    return [row["name"] for row in (apps["app"] if isinstance(apps, dict) else apps)]


@pytest.mark.parametrize("path", [f"{BASE}/apps", f"{OWN}/apps"])
async def test_both_lists_take_the_first_user(server: ScriptedServer, path: str) -> None:
    await submitted(server)
    assert names(body_of(await server.ask("GET", f"{path}?user=alice&user=bob"))) == ["one"]
    assert names(body_of(await server.ask("GET", f"{path}?user=bob&user=alice"))) == ["two"]


@pytest.mark.parametrize("path", [f"{BASE}/apps", f"{OWN}/apps"])
async def test_both_lists_take_every_type_and_state(server: ScriptedServer, path: str) -> None:
    await submitted(server)
    asked = f"{path}?applicationTypes=none&applicationTypes=YARN&states=KILLED&states=ACCEPTED&states=SUBMITTED"
    assert sorted(names(body_of(await server.ask("GET", asked)))) == ["one", "two"]


async def test_of_two_homes_the_first_counts(server: ScriptedServer) -> None:
    await submitted(server)
    every = body_of(await server.ask("GET", f"{OWN}/apps"))["apps"]
    for first, second in (("east", "west"), ("west", "east")):
        found = body_of(await server.ask("GET", f"{OWN}/apps?home={first}&home={second}"))["apps"]
        assert found == [row for row in every if row["cluster"] == first]


async def test_a_home_that_is_none_is_told_and_one_without_applications_has_none(server: ScriptedServer) -> None:
    refused = await server.ask("GET", f"{OWN}/apps?home=nowhere")
    assert refused.status == 404
    assert "there is no sub-cluster 'nowhere'; there are: east, west" in refused.body.decode()
    for home in ("east", ""):  # "": no home as yet
        assert body_of(await server.ask("GET", f"{OWN}/apps?home={home}"))["apps"] == []


async def test_of_two_dry_runs_the_first_counts(server: ScriptedServer) -> None:
    cordon = f"{OWN}/clusters/east/cordon?user.name=queen"
    assert body_of(await server.ask("POST", f"{cordon}&dryRun=true&dryRun=false"))["dry_run"] is True
    assert server.administration.current == {}
    assert body_of(await server.ask("POST", f"{cordon}&dryRun=false&dryRun=true"))["dry_run"] is False
    assert server.administration.current != {}


@pytest.mark.parametrize("odd", ["dry_run=true", "dryrun=true", "DryRun=true", "dryRun%20=true", "why=kernel"])
@pytest.mark.parametrize("change", ["clusters/east/drain", "clusters/east/retire", "reload", "policy/release"])
async def test_a_change_with_a_parameter_that_nobody_reads_is_not_made(server: ScriptedServer, change, odd) -> None:
    answer = await server.ask("POST", f"{OWN}/{change}?user.name=queen&{odd}")
    assert answer.status == 400
    assert "not a parameter of this; there are" in answer.body.decode()
    assert "dryRun" in answer.body.decode()
    assert server.administration.current == {}


@pytest.mark.parametrize("body", [b'{"dryRun":true}', b"dryRun=true", b"[]", b"\xff", b'{"a":' + b"[" * 100_000])
async def test_a_change_that_reads_no_body_is_not_made_with_one(server: ScriptedServer, body) -> None:
    cordon = f"{OWN}/clusters/east/cordon?user.name=queen&_=1"
    answer = await server.ask("POST", cordon, body=body, content_type="application/json")
    assert answer.status == 400
    assert "body: this reads none" in answer.body.decode()
    assert server.administration.current == {}
    for empty in (b"", b" {}\n"):
        assert (await server.ask("POST", cordon, body=empty, content_type="application/json")).status == 200


async def test_a_semicolon_separates_nothing_at_heddles_own_endpoints(server: ScriptedServer) -> None:
    answer = await server.ask("POST", f"{OWN}/clusters/east/cordon?user.name=queen&reason=1;dryRun=true")
    assert body_of(answer)["dry_run"] is False


async def test_of_two_clusters_the_first_is_asked(server: ScriptedServer) -> None:
    for first, second in (("east", "west"), ("west", "east")):
        asked = await server.ask("GET", f"{BASE}/metrics?cluster={first}&cluster={second}")
        assert asked.body == (await server.ask("GET", f"{BASE}/metrics?cluster={first}")).body


def single_valued(api: Any) -> Iterator[tuple[str, str, str]]:
    """Every endpoint of Heddle's own with each of its query parameters, by the document that it publishes."""
    for path, methods in api._application_of_fastapi.openapi()["paths"].items():
        for method, told in methods.items():
            for parameter in told.get("parameters", ()):
                if parameter["in"] == "query" and parameter["name"] not in MANY_VALUED | CONSOLE_FILTERS:
                    yield method.upper(), path, parameter["name"]


async def test_every_parameter_of_every_own_endpoint_is_read_so(server: ScriptedServer) -> None:
    """A second value that no endpoint could take changes nothing; as the first one it may be refused."""
    rows = list(single_valued(server.api))
    assert ("POST", f"{OWN}/clusters/{{cluster}}/{{verb}}", "dryRun") in rows
    for method, path, name in rows:
        named = {"cluster": "east", "verb": "cordon", "application": "x", "version": "1", "container": "x", "file": "x"}
        target = path.format_map(named)
        await server.ask(method, f"{target}?user.name=queen&{name}=true")  # a change is told as one once
        once = await server.ask(method, f"{target}?user.name=queen&{name}=true")
        twice = await server.ask(method, f"{target}?user.name=queen&{name}=true&{name}=%00{'z' * 500}")
        assert (once.status, once.body) == (twice.status, twice.body), (method, path, name)


def test_filters_of_many_values_are_parameters_of_the_list() -> None:
    (row,) = [row for row in ENDPOINTS if (row.method, row.path) == ("GET", "/apps")]
    assert set(row.query) >= MANY_VALUED
