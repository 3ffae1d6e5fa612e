"""Pages and servlets beside the web services: each answer as a whole."""

import json

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import IdentityRules
from shim.server.rest.messages import Answer
from tests.doubles.reports import a_node_report, a_report
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

EAST = SubClusterId("east")
ADDRESS, PASSWORD = "yarn.resourcemanager.address", "x.password"
SHOWN = {ADDRESS: "127.0.0.1:8032", PASSWORD: "<redacted>"}
"""The settings of `ScriptedServer`, as they may be seen."""
AN_ID = ApplicationId(1_700_000_000_000, 7)


@pytest.fixture
async def server() -> ScriptedServer:
    made = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    await made.poll()
    return made


def header(answer: Answer, name: str) -> str | None:
    return dict(answer.headers).get(name)


def row(name: str) -> dict[str, object]:
    return {"key": name, "value": SHOWN[name], "isFinal": False, "resource": "heddle.toml"}


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("", {"properties": [row(PASSWORD), row(ADDRESS)]}),
        ("?name=", {"properties": [row(PASSWORD), row(ADDRESS)]}),
        (f"?name={ADDRESS}", {"property": row(ADDRESS)}),
        (f"?name={PASSWORD}", {"property": row(PASSWORD)}),
    ],
)
async def test_the_configuration_is_told_as_json_as_hadoop_does_without_secrets(server, query, document):
    answer = await server.ask("GET", f"/conf{query}", accept="text/html, application/json")
    assert (answer.status, json.loads(answer.body)) == (200, document)
    assert header(answer, "Content-Type") == "application/json;charset=utf-8"


@pytest.mark.parametrize(("query", "names"), [("", [PASSWORD, ADDRESS]), (f"?name={ADDRESS}", [ADDRESS])])
async def test_the_configuration_is_told_as_xml_otherwise(server, query, names):
    answer = await server.ask("GET", f"/conf{query}", accept="text/html")
    rows = "\n".join(
        f"<property><name>{name}</name><value>{SHOWN[name].replace('<', '&lt;').replace('>', '&gt;')}</value>"
        "<final>false</final><source>heddle.toml</source></property>"
        for name in names
    )
    head, _, rest = answer.body.decode().partition("<configuration>")
    assert head.startswith("<?xml")
    assert (answer.status, rest) == (200, f"\n{rows}\n</configuration>")
    assert header(answer, "Content-Type") == "text/xml;charset=utf-8"


async def test_a_setting_that_there_is_not_is_not_found_and_its_name_is_no_markup(server):
    for accept in ("application/json", "text/html"):
        answer = await server.ask("GET", "/conf?name=%3Cb%3E", accept=accept)
        page = "<html>\n  <h1>Property &lt;b&gt; not found</h1>\n</html>\n"
        assert (answer.status, answer.body.decode()) == (404, page)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"/proxy/{AN_ID}/", f"/proxy/{AN_ID}/"),
        (f"/proxy/{AN_ID}", f"/proxy/{AN_ID}/"),
        (f"/proxy/{AN_ID}/a/b?x=1&y=2", f"/proxy/{AN_ID}/a/b?x=1&y=2"),
        (f"/proxy/redirect/{AN_ID}/a", f"/proxy/{AN_ID}/a"),
        ("/proxy/application_1700000000000_7/", f"/proxy/{AN_ID}/"),
    ],
)
@pytest.mark.parametrize("pages", ["", "https://pages:8443"])
async def test_a_page_of_an_application_is_at_its_homes_proxy_or_at_the_host_of_pages(path, place, pages):
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), pages=lambda _: pages)
    server.federation["west"].add_application(AN_ID, "RUNNING", user="alice")
    await server.poll()
    answer = await server.ask("GET", path)
    web = server.use_cases.runtime.clusters.descriptions[SubClusterId("west")].web[0].rstrip("/")
    kept = f"/proxy/redirect{place.removeprefix('/proxy')}" if "redirect" in path else place
    assert answer.status == 302
    assert header(answer, "Location") == (f"{pages}{kept}" if pages else f"{web}{place}")


async def test_a_page_of_an_application_that_nobody_knows_is_not_found_and_one_that_waits_has_a_page_here(server):
    answer = await server.ask("GET", f"/proxy/{AN_ID}/")
    told = f"Application {AN_ID} could not be found in RM or history server"
    assert (answer.status, answer.body.decode()) == (404, f"<html>\n  <h1>\n    {told}\n  </h1>\n</html>\n")


async def test_labels_are_told_of_each_cluster_with_the_nodes_that_run_and_what_they_have():
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    gpu = a_node_report("n1:1", labels=["gpu"])
    nodes = (a_node_report("n0:1"), gpu, a_node_report("n2:1", labels=["gpu"], state="LOST"))
    server.view.apply(a_report("east", 99, polled_at_s=server.federation.clock.now_s(), nodes=nodes, labels=("gpu",)))
    answer = await server.ask("GET", "/cluster/nodelabels")
    assert answer.status == 200
    cells = [each.partition("</td>")[0].partition(">")[2] for each in answer.body.decode().split("<td")[1:]]
    assert [cells[at : at + 5] for at in range(0, 15, 5)] == [
        ["&lt;DEFAULT_PARTITION&gt;", "east", "1", "8192", "8"],
        ["gpu", "east", "1", "8192", "8"],
        ["&lt;DEFAULT_PARTITION&gt;", "west", "0", "0", "0"],
    ]
