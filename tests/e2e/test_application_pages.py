"""Pages of a real ApplicationMaster through Heddle, while it runs and when it has ended."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from shim.app.bootstrap import Heddle
from shim.lab import Lab
from shim.lab.daemons import hosts_of
from shim.lab.host_networks import on_host
from tests.doubles.postgresql import free_addresses
from tests.e2e.conftest import HeddleThread, config_text
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_MOST_S = 240


@pytest.fixture(scope="module")
def front(lab, tmp_path_factory) -> Iterator[Heddle]:
    """A Heddle with a server for pages, whose address tracking URLs name."""
    (address,) = free_addresses(1, lab.host)
    lines = f'proxy = "{address}"\n        proxy_url = "http://{address}"'
    with HeddleThread(config_text(lab, tmp_path_factory.mktemp("pages"), server=lines)) as running:
        yield running


@pytest.fixture(scope="module")
def client(lab, front, tmp_path_factory):
    return StockClient(lab, tmp_path_factory.mktemp("yarn"), front, admin_address=front.admin_rpc)


def soon(look: Callable[[], Any]) -> Any:
    """What `look` finds in the end."""
    ends_s = time.monotonic() + _MOST_S
    while time.monotonic() < ends_s:
        if found := look():
            return found
        time.sleep(0.3)
    raise AssertionError("it never came")


def test_a_masters_pages_and_services_are_read_through_heddle(client, front):
    web = httpx.Client(trust_env=False, timeout=30, follow_redirects=False)
    jar = client.jar("hadoop-mapreduce-examples")

    def running_app() -> dict[str, Any] | None:
        listed = web.get(f"{front.url}/ws/v1/cluster/apps?states=RUNNING&user=ada&user.name=ada").json()["apps"] or {}
        return next((app for app in listed.get("app", []) if app["trackingUrl"].startswith("http")), None)

    def page(path: str) -> httpx.Response | None:
        answer = web.get(f"{front.pages_url}/proxy/{app['id']}{path}?user.name=ada")
        return answer if answer.status_code == 200 else None

    with client.running(_RUN_JAR, jar, "pi", "30", "10", user="ada") as process:
        app = soon(running_app)
        assert app["trackingUrl"] == f"{front.pages_url}/proxy/{app['id']}/"
        info = soon(lambda: page("/ws/v1/mapreduce/info")).json()["info"]
        assert (info["appId"], info["user"]) == (app["id"], "ada")
        shown = soon(lambda: page("/mapreduce")).text
        links = set(re.findall(r'href="(/proxy/[^"]+)"', shown))
        assert links
        assert all(link.startswith(f"/proxy/{app['id']}/") for link in links)
        through_front = web.get(f"{front.url}/proxy/{app['id']}/mapreduce")
        assert through_front.headers["location"] == f"{front.pages_url}/proxy/{app['id']}/mapreduce"
        code = process.wait(_MOST_S)
        assert process.stdout is not None
        printed = process.stdout.read()
        # a client that asks after its master has gone needs a history server
        assert code == 0 or "ClientServiceDelegate" in printed, printed
        assert f"The url to track the job: {app['trackingUrl']}\n" in printed  # told over Hadoop RPC

    ended = soon(lambda: _unless_running(web.get(f"{front.pages_url}/proxy/{app['id']}/?user.name=ada")))
    where = ended.headers.get("location", "")
    assert ended.status_code in (200, 302)
    assert where.startswith(f"{front.url}/cluster/app/") or "Its pages are elsewhere" in ended.text
    web.close()


def test_pages_of_a_job_that_knows_its_cluster_alone_come_by_the_proxy_of_that(lab, front, tmp_path):
    east = lab.cluster("east")
    client = StockClient(lab, tmp_path / "client", east)
    web = httpx.Client(trust_env=False, timeout=30)
    with client.running(_RUN_JAR, client.jar("hadoop-mapreduce-examples"), "pi", "30", "10", user="ada"):

        def info() -> dict[str, Any] | None:
            listed = web.get(f"{east.url}/ws/v1/cluster/apps?states=RUNNING&user=ada").json()["apps"] or {}
            for app in listed.get("app", []):
                answer = web.get(f"{front.pages_url}/proxy/{app['id']}/ws/v1/mapreduce/info?user.name=ada")
                if answer.status_code == 200:
                    return {"listed": app["id"], **answer.json()["info"]}
            return None

        told = soon(info)
        assert told["appId"] == told["listed"]
    web.close()


def test_a_drivers_pages_and_its_own_port_lead_to_heddle(lab, front, tmp_path):
    if not lab.has_hosts:
        pytest.skip("where all are one host, everybody is the driver's proxy")
    spark, gate = Spark(lab, tmp_path / "spark", front), tmp_path / "gate"
    program = compile_program("SleepingSpark", [spark_jars()], tmp_path)
    arguments = ("with pages", "1", "10", "1", "10", str(gate))
    web = httpx.Client(trust_env=False, timeout=30)
    with ThreadPoolExecutor(1) as pool:
        (web_proxy,) = lab.cluster("east").jars.glob(
            "hadoop-yarn-server-web-proxy-*.jar"
        )  # Spark's distribution has it
        options = {"staging": tmp_path, "more": {"spark.ui.enabled": "true"}, "class_path": str(web_proxy)}
        job = pool.submit(lambda: spark.submit("client", program, *arguments, **options))
        try:

            def executors() -> str | None:
                listed = web.get(f"{front.url}/ws/v1/cluster/apps?states=RUNNING&user.name=ada").json()["apps"] or {}
                for id_ in [app["id"] for app in listed.get("app", []) if app["name"] == "with pages"]:
                    path = f"/proxy/{id_}/api/v1/applications/{id_}/executors?user.name=ada"
                    answer = web.get(f"{front.pages_url}{path}")
                    if answer.status_code == 200 and '"driver"' in answer.text:
                        return str(id_)
                return None

            id_ = soon(executors)
            driver = _original_url(lab, id_)
            assert driver.startswith(f"http://{lab.host}:")
            # the driver learns of its proxy a moment after its master has registered
            page = f"200 {front.pages_url}/proxy/redirect/{id_}/jobs/"
            soon(lambda: _seen_from_a_node(lab, f"{driver}/jobs/") == page)
        finally:
            gate.touch()
        assert "joined 1" in job.result()
    web.close()


def _original_url(lab: Lab, application: str) -> str:
    """Where an application has its web server, as its ResourceManager was told."""
    for cluster in lab.clusters.values():
        name = f"appattempt_{application.removeprefix('application_')}_000001"
        path = f"/ws/v1/cluster/apps/{application}/appattempts/{name}"
        answer = httpx.get(f"{cluster.url}{path}", trust_env=False, timeout=30)
        if answer.status_code == 200:
            return str(answer.json()["originalTrackingUrl"])
    raise AssertionError(f"nobody knows {application}")


_GET = "import sys, urllib.request as r; told = r.urlopen(sys.argv[1], timeout=30); print(told.status, told.url)"


def _seen_from_a_node(lab: Lab, url: str) -> str:
    """Status and address of a page as a browser on another host gets it, which follows redirects."""
    node = lab.cluster("west").record.layout.nodes[0]
    words = on_host(node.rpc, node.name, hosts_of(lab.folder), [sys.executable, "-c", _GET, url])
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or done.stderr


def _unless_running(answer: httpx.Response) -> httpx.Response | None:
    """An answer that is not the ApplicationMaster's own, nor one of while it goes."""
    where = answer.headers.get("location", "")
    is_masters = "/mapreduce" in where or answer.status_code >= 400
    return None if is_masters else answer
