"""Pages of a real ApplicationMaster through Heddle, while it runs and when it has ended."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from shim.app.bootstrap import Heddle
from shim.testing.free_ports import free_port
from tests.e2e.conftest import HeddleThread, config_text
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_MOST_S = 240


@pytest.fixture(scope="module")
def front(lab, tmp_path_factory) -> Iterator[Heddle]:
    """A Heddle with a server for pages, whose address tracking URLs name."""
    port = free_port()
    lines = f'proxy = "127.0.0.1:{port}"\n        proxy_url = "http://127.0.0.1:{port}"'
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


def _unless_running(answer: httpx.Response) -> httpx.Response | None:
    """An answer that is not the ApplicationMaster's own, nor one of while it goes."""
    where = answer.headers.get("location", "")
    is_masters = "/mapreduce" in where or answer.status_code >= 400
    return None if is_masters else answer
