"""Rates at the whole server: 429 as a ResourceManager's clients read it, also for answers that are ready."""

import json

import httpx
import pytest

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.identity.rates import CallRates, Rate, RateLimits
from shim.identity.service import Caller, IdentityRules
from shim.server.rest.callers import BelievedCallers, RatedCallers
from shim.server.rest.messages import Request
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer

METRICS = f"{BASE}/metrics"


async def a_server(user=None, address=None):
    clock = FakeClock()
    rates = CallRates(RateLimits(user or Rate(0.0, 1), address or Rate(0.0, 1)), clock)
    made = ScriptedServer(
        rules=usual(IdentityRules, admins=("queen",)),
        callers=lambda identity: RatedCallers(rates, BelievedCallers(identity)),
    )
    await made.poll()
    return made, clock


def statuses_at_once(server, count, query, peer="10.0.0.1"):
    """Statuses of answers that are ready; None where there is none."""
    ready = [
        server.server.answer_at_once(Request("GET", METRICS, query, (("host", "h"),), b"", peer)) for _ in range(count)
    ]
    return [None if each is None else int(each[0][9:12]) for each in ready]


@pytest.mark.parametrize("target", [METRICS, f"{BASE}/apps", "/cluster", "/heddle/v1/clusters", "/nosuch"])
async def test_a_user_who_calls_too_fast_is_429_and_others_are_not(target):
    server, clock = await a_server(user=Rate(1.0, 3))
    answers = [await server.ask("GET", f"{target}?user.name=alice") for _ in range(5)]
    assert [each.status == 429 for each in answers] == [False] * 3 + [True] * 2
    told = json.loads(answers[-1].body)["RemoteException"]
    assert told["javaClassName"] == "org.apache.hadoop.ipc.RetriableException"
    assert "the user alice calls more than 1 times a second" in told["message"]
    assert dict(answers[-1].headers)["Retry-After"] == "1"
    assert (await server.ask("GET", f"{target}?user.name=bob")).status != 429
    await clock.advance(1.0)
    assert (await server.ask("GET", f"{target}?user.name=alice")).status != 429


async def test_answers_that_are_kept_count_too():
    server, _ = await a_server(user=Rate(1.0, 4))
    assert (await server.ask("GET", f"{METRICS}?user.name=alice")).status == 200
    assert statuses_at_once(server, 3, "user.name=alice") == [200] * 3
    assert set(statuses_at_once(server, 3, "user.name=alice")) <= {None, 429}
    assert (await server.ask("GET", f"{METRICS}?user.name=alice")).status == 429
    assert statuses_at_once(server, 1, "user.name=bob") == [200]


async def test_made_up_users_of_one_address_count_for_it():
    server, _ = await a_server(address=Rate(1.0, 10))
    answers = [(await server.ask("GET", f"{METRICS}?user.name=u{number}")).status for number in range(12)]
    assert answers == [200] * 10 + [429] * 2
    assert statuses_at_once(server, 1, "user.name=u1", peer="10.0.0.2") == [200]


async def test_bad_names_count_for_their_address_before_anybody_reads_them():
    server, _ = await a_server(address=Rate(1.0, 3))
    answers = [(await server.ask("POST", f"{BASE}/apps/new-application?user.name=a:b")).status for _ in range(5)]
    assert answers == [400] * 3 + [429] * 2


async def test_probes_are_not_counted():
    server, _ = await a_server(user=Rate(1.0, 1), address=Rate(1.0, 1))
    assert {(await server.ask("GET", "/healthz")).status for _ in range(20)} == {200}


async def test_a_change_that_is_refused_is_not_done():
    server, clock = await a_server(user=Rate(1.0, 1))
    cordon = "/heddle/v1/clusters/east/cordon?user.name=queen"
    assert (await server.ask("GET", f"{METRICS}?user.name=queen")).status == 200
    assert (await server.ask("POST", cordon)).status == 429
    assert not server.administration.current
    await clock.advance(1.0)
    assert (await server.ask("POST", cordon)).status == 200
    assert server.administration.current


async def test_a_whole_heddle_counts_by_its_configuration(tmp_path):
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{tmp_path}/heddle.db"
        [limits]
        user_per_s = 0.01
        user_burst = 3
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """
    async with (
        Heddle(parse(text, source="heddle.toml", environment={})) as heddle,
        httpx.AsyncClient(base_url=heddle.url, trust_env=False) as web,
    ):
        told = [await web.get(f"{BASE}/info?user.name=alice") for _ in range(4)]
        assert [each.status_code for each in told] == [200, 200, 200, 429]
        assert 90 <= int(told[-1].headers["Retry-After"]) <= 100
        web.cookies.clear()
        assert 'heddle_rate_limited_total{by="user"} 1.0' in (await web.get("/metrics?user.name=bob")).text


async def test_too_many_calls_of_a_user_at_one_time_are_429_and_others_are_not():
    rates = CallRates(RateLimits(user_calls=1), FakeClock())
    server = ScriptedServer(rates=rates)
    await server.poll()
    with rates.under_way(Caller("alice", "alice")):
        refused = await server.ask("GET", f"{BASE}/apps?user.name=alice")
        assert (refused.status, dict(refused.headers)["Retry-After"]) == (429, "1")
        assert (
            "1 calls of the user alice are under way already" in json.loads(refused.body)["RemoteException"]["message"]
        )
        assert (await server.ask("GET", f"{BASE}/apps?user.name=bob")).status == 200
    assert [(await server.ask("GET", f"{BASE}/apps?user.name=alice")).status for _ in range(3)] == [200] * 3
