"""A whole Heddle whose sub-clusters are away: it starts, tells so, and ends without a trace."""

import asyncio
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.errors import AddressTakenError, ConfigError, InvariantViolationError, StoreUnavailableError
from shim.queues.usage import UsageKeeping
from tests.support.client_calls import every_call

ROOT = Path(__file__).resolve().parents[2]


def configuration(folder, *, rest="127.0.0.1:0", store="heddle.db", more=""):
    return f"""
        [server]
        rest = "{rest}"
        client_rpc = ""
        [store]
        url = "sqlite:///{folder}/{store}"
        {more}
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """


def a_heddle(folder, **changes):
    return Heddle(parse(configuration(folder, **changes), source="heddle.toml", environment={}))


async def get(url, path):
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(f"{url}{path}")


async def post(url, path):
    """A call of its own: with the last answer's cookie it would be the last caller's."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{url}{path}")


@pytest.mark.parametrize(("more", "made"), [("", 1), ("[history]\nanswers = 0", 2)])
async def test_as_many_answers_are_kept_as_is_configured(tmp_path, more, made):
    async with a_heddle(tmp_path, more=more) as heddle:
        for _ in range(2):
            assert (await get(heddle.url, "/ws/v1/cluster/apps")).status_code == 200
        told = (await get(heddle.url, "/metrics")).text
    counted = f'heddle_http_requests_total{{endpoint="/ws/v1/cluster/apps",method="GET",status="200"}} {made}.0'
    assert counted in told


async def test_it_serves_though_its_only_cluster_is_away_and_says_so(tmp_path):
    async with a_heddle(tmp_path) as heddle:
        answer = await get(heddle.url, "/heddle/v1/clusters")
        (cluster,) = answer.json()["clusters"]
        assert (cluster["id"], cluster["state"]) == ("east", "NEW")
        assert cluster["age_s"] >= 0  # since the start: it never answered
        assert "was not reached (connection refused)" in cluster["failure"]
        assert answer.headers["Heddle-Missing"] == "east"
        findings = (await get(heddle.url, "/heddle/v1/doctor")).json()["findings"]
        found = {(f["check"], f["level"], f["cluster"]): f["message"] for f in findings}
        assert ("reachable", "error", "east") in found
        assert "no scheduler_rpc, admin_rpc: what comes" in found["addresses", "warning", "east"]
        assert (
            b'heddle_subcluster_state{state="NEW",subcluster="east"} 1.0' in (await get(heddle.url, "/metrics")).content
        )


async def test_it_leaves_no_task_and_no_socket_behind(tmp_path):
    before = asyncio.all_tasks()
    async with a_heddle(tmp_path) as heddle:
        url = heddle.url
    assert asyncio.all_tasks() == before
    with pytest.raises(httpx.ConnectError):
        await get(url, "/")


async def test_it_has_an_address_only_while_it_runs(tmp_path):
    with pytest.raises(InvariantViolationError):
        _ = a_heddle(tmp_path).url


async def test_a_taken_port_is_said_and_everything_is_closed_again(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        before = asyncio.all_tasks()
        with pytest.raises(AddressTakenError, match=r"server\.rest.*cannot be listened on: Address already in use\."):
            await a_heddle(tmp_path, rest=f"127.0.0.1:{taken.getsockname()[1]}").__aenter__()
        assert asyncio.all_tasks() == before


async def test_certificates_that_are_none_stop_the_start(tmp_path):
    file = tmp_path / "ca.pem"
    file.write_text("not a certificate")
    for named in (file, tmp_path / "none.pem"):
        more = f'[[subcluster]]\nid = "west"\nweb = "https://127.0.0.1:9"\nca_file = "{named}"'
        with pytest.raises(ConfigError, match=rf"{named.name}: subcluster\.ca_file: cannot be used"):
            await a_heddle(tmp_path, more=more).__aenter__()


async def test_a_file_that_is_no_database_stops_the_start_and_is_called_that(tmp_path):
    (tmp_path / "heddle.db").write_text("something else entirely, " * 50)
    with pytest.raises(StoreUnavailableError, match="is not SQLite's"):
        await a_heddle(tmp_path).__aenter__()


async def test_a_store_that_cannot_be_opened_stops_the_start(tmp_path):
    with pytest.raises(StoreUnavailableError):
        await a_heddle(tmp_path, store="no/such/folder/heddle.db").__aenter__()


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [("a" * 32, 0o644, "chmod 600"), ("short", 0o600, "at least 16"), (None, None, "cannot be read")],
)
async def test_a_secret_that_is_none_stops_the_start(tmp_path, content, mode, words):
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
        file.chmod(mode)
    with pytest.raises(ConfigError, match=words):
        await a_heddle(tmp_path, more=f'[security]\nsecret_file = "{file}"').__aenter__()


async def test_a_changing_call_without_a_user_is_refused_by_default(tmp_path):
    async with a_heddle(tmp_path) as heddle:
        assert (await post(heddle.url, "/heddle/v1/clusters/east/drain")).status_code == 401
        assert (await post(heddle.url, "/heddle/v1/clusters/east/drain?user.name=eve")).status_code == 403
        assert (await post(heddle.url, "/ws/v1/cluster/apps/new-application")).status_code == 401


async def test_s35_whatever_changes_something_of_heddle_needs_an_operator(tmp_path):
    """Also an endpoint that is new: none is named here but those that only answer."""
    harmless = {"choose-home", "shares/whatif", "policy/validate"}
    of_users = {"tokens", "tokens/{token}"}  # each has its own: tests/integration/rest/test_api_tokens.py
    values = {"cluster": "east", "verb": "drain", "application": "application_1_0001"}
    body = {"text": '[[queue]]\nname = "root.eve"\nweight = 9\n'}
    async with a_heddle(tmp_path) as heddle, httpx.AsyncClient(trust_env=False, base_url=heddle.url) as client:
        paths = (await client.get("/heddle/v1/openapi.json")).json()["paths"]
        own = {path: methods for path, methods in paths.items() if path.startswith("/heddle/v1/")}
        changing = {path for path, methods in own.items() if methods.keys() - {"get"}}
        changing -= {f"/heddle/v1/{path}" for path in harmless | of_users}
        assert len(changing) >= 3
        for path in changing:
            filled = re.sub(r"\{(\w+)\}", lambda named: values.get(named[1], "0"), path)
            for user, status in ((None, 401), ("eve", 403)):
                client.cookies.clear()
                takes = body if "requestBody" in own[path].get("post", {}) else {}
                answer = await client.post(filled, params={"user.name": user} if user else {}, json=takes)
                assert answer.status_code == status, f"{path} by {user}: {answer.text}"
        (cluster,) = (await client.get("/heddle/v1/clusters")).json()["clusters"]
        assert cluster["admission"] == "open"
        assert (await client.get("/heddle/v1/policy")).json()["version"] == 0


async def test_programs_have_a_method_for_every_operation_that_is_served(tmp_path):
    """Also for one that is new."""
    async with a_heddle(tmp_path) as heddle:
        paths = (await get(heddle.url, "/heddle/v1/openapi.json")).json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    made = {f"{call.method} {call.template}" for call in every_call()}
    order = "POST /heddle/v1/clusters/{cluster}/{verb}"
    assert served - {"GET /heddle/v1/live"} == made
    assert order in made


async def test_what_an_operator_said_survives_and_is_audited(tmp_path):
    audit = tmp_path / "audit.log"
    more = f'[security]\nadmins = ["ada"]\n[log]\naudit_file = "{audit}"'
    for expected in ("open", "draining"):
        async with a_heddle(tmp_path, more=more) as heddle:
            told = await post(heddle.url, "/heddle/v1/clusters/east/drain?user.name=ada")
            assert told.json()["was"] == expected
            await post(heddle.url, "/heddle/v1/clusters/east/undrain?user.name=eve")
    lines = audit.read_text("utf-8").splitlines()
    assert len(lines) == 4
    assert '"effective_user":"ada"' in lines[0]
    assert '"result":"refused"' in lines[1]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_well(tmp_path, stop):
    config = tmp_path / "heddle.toml"
    config.write_text(configuration(tmp_path), "utf-8")
    command = [sys.executable, "-m", "shim", "serve", "-c", str(config)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serves east at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(stop)
        assert process.wait(timeout=60) == 0
        assert "ending" in process.stdout.read()


async def test_work_that_fails_ends_nothing_begins_again_and_is_counted(tmp_path, monkeypatch):
    begun = asyncio.Event()

    async def fails(_):
        if begun.is_set():
            await asyncio.Event().wait()
        begun.set()
        raise OverflowError("int too big to convert")

    monkeypatch.setattr(UsageKeeping, "run", fails)
    async with a_heddle(tmp_path) as heddle:
        await begun.wait()
        await asyncio.sleep(0)
        told = (await get(heddle.url, "/metrics")).text
        assert (await get(heddle.url, "/ws/v1/cluster/apps")).status_code == 200
    assert 'heddle_background_failures_total{part="usage"} 1.0' in told


async def test_rows_that_no_heddle_wrote_do_not_keep_it_from_starting(tmp_path):
    async with a_heddle(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "heddle.db")) as database:
        database.execute(
            "INSERT INTO usage_parts (cluster_timestamp, sequence, subcluster, is_home, user_name, queue,"
            " started_at_ms, ended_at_ms, memory_mib_s, vcore_s, preempted_memory_mib_s, preempted_vcore_s,"
            " rm_started_ms, part_started_ms, seen, lost, as_of_ms) VALUES"
            " (1, 1, 'elsewhere', 0, '', '', 9223372036854775807, -5, -1, -1, -1, -1, -1, -1, '[7]', 'no JSON', -1)"
        )
        database.commit()
    async with a_heddle(tmp_path) as heddle:
        assert (await get(heddle.url, "/ws/v1/cluster/apps")).status_code == 200
