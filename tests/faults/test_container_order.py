"""Two spanning applications on two full clusters: who gets what comes free is for the order of their queue to say."""

import asyncio
import getpass
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

from adapters.yarn.rm_rpc import YarnRPC
from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.lab import Lab
from tests.faults.conftest import Client, Federation
from tests.faults.test_matched_asks import AM
from tests.faults.test_passing_on import rpc_to, token_of
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_MIB = 1024
_BEYOND = 6
_SMALL = 2
_FREED = 2
WITHIN_S = 180
_SAMPLES = 4
_LONGER = 2.5
"""Twice as many of those that are shorter by this take less time: whatever a busy machine adds is in both."""

_QUEUE = """
[[queue]]
name = "root.default"
span = true
order = "fifo"
containers = "{order}"
"""

# on a busy machine views may be old and nodes slow to take containers: nothing is given up, and nobody is impatient
_SECTIONS = """
[span]
beat_s = 0.2
move_after_beats = 1000
oldest_view_s = 300
promise_s = 30
starvation_s = 3600
[poll]
interval_s = 0.5
late_after_s = 300
[log]
level = "warning"
"""


@asynccontextmanager
async def a_federation(lab: Lab, folder: Path, order: str, sections: str = "") -> AsyncIterator[tuple[Federation, str]]:
    """A Heddle whose queue has its containers in an order, and the address of its server for ApplicationMasters."""
    secret = folder / "secret"
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    store = folder / "heddle.db"
    text = (
        f'[server]\nallow_remote = true\nrest = "{lab.host}:0"\nclient_rpc = ""\n'
        f'admin_rpc = ""\nscheduler_rpc = "{lab.host}:0"\n'
        f'[store]\nurl = "sqlite:///{store}"\n[security]\nallow_anonymous = true\n'
        f'admins = {[getpass.getuser()]}\nsecret_file = "{secret}"\n'
        + "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{each.conf_dir}"\n' for id_, each in lab.clusters.items())
        + _QUEUE.format(order=order)
        + _SECTIONS
        + sections
    )
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session,
        Heddle(parse(text, source="heddle.toml", environment={})) as heddle,
    ):
        assert heddle.scheduler_rpc is not None
        managers = {id_: Client(session, each.url) for id_, each in lab.clusters.items()}
        yield Federation(lab, Client(session, heddle.url), managers, store), heddle.scheduler_rpc


_AMT = TypeVar("_AMT", bound=AM)


async def begin(
    federation: Federation, server: str, kind: Callable[[YarnRPC], _AMT], tags: Sequence[str] = ()
) -> tuple[str, _AMT]:
    """An application, with its ApplicationMaster registered."""
    client = federation.heddle
    assert (await client.submit(tags=tags)).status == 202
    application = client.acknowledged[-1]

    async def has_a_home() -> bool:
        return bool(await federation.homes(application))

    await until(has_a_home)
    (home,) = await federation.homes(application)
    am = kind(rpc_to(server, await token_of(federation.lab, home, application)))
    await am.register()
    return application, am


async def why(federation: Federation, application: str) -> Any:
    """What is told of the only asks of an application."""
    url = f"{federation.heddle.url}/heddle/v1/apps/{application}/why?user.name=alice"
    async with federation.heddle.session.get(url) as answer:
        asks = (await answer.json())["asks"]
    return asks[0] if asks else {"withheld": 0}


async def room_of(federation: Federation) -> int:
    """How many containers both clusters could hold now."""
    replies = [await manager.ask("metrics") for manager in federation.managers.values()]
    return sum(reply.body["clusterMetrics"]["availableMB"] // _MIB for reply in replies)


async def test_what_comes_free_goes_to_whom_the_order_says(fault_lab: Lab, tmp_path: Path) -> None:
    async with a_federation(fault_lab, tmp_path, "fifo") as (federation, server):
        (large_id, large), (small_id, small) = [await begin(federation, server, AM) for _ in range(2)]
        room = await room_of(federation)
        await large.want(room + _BEYOND)

        async def both_call() -> None:
            await asyncio.gather(large.allocate(), small.allocate())

        async def release(count: int) -> None:
            await large.allocate(releases={large.held.pop() for _ in range(count)})
            await both_hold(room, large, small)

        await both_hold(room, large, small)
        await small.want(_SMALL)
        await all_wait_behind(federation, small_id, large_id, _SMALL, both_call)
        await release(_FREED)
        assert (large.wanted, small.wanted) == (_BEYOND - _FREED, _SMALL), "who came first"

        await apply_order(federation, "fewest-tasks")
        await all_wait_behind(federation, large_id, small_id, _BEYOND - _FREED, both_call)
        await release(_SMALL + 1)
        assert (large.wanted, small.wanted) == (_BEYOND - _FREED - 1, 0), "who wants the fewest, then the other"

        await large.want(0)
        await asyncio.gather(large.give_back(), small.give_back())
        await asyncio.gather(large.finish(), small.finish())


async def test_whose_containers_are_short_goes_first_once_that_is_known(fault_lab: Lab, tmp_path: Path) -> None:
    """By its age and by its numbers the other one would go first."""
    async with a_federation(fault_lab, tmp_path, "learnt-work") as (federation, server):
        (long_id, long), (short_id, short) = [await begin(federation, server, AM) for _ in range(2)]
        room = await room_of(federation)

        async def both_call() -> None:
            await asyncio.gather(long.allocate(), short.allocate())

        began_s = asyncio.get_running_loop().time()
        await use(short, _SAMPLES, 0.0)
        at_most_s = asyncio.get_running_loop().time() - began_s
        await use(long, _SAMPLES, _LONGER * at_most_s)
        await hold(long, _FREED)
        await short.want(room + _FREED)
        await both_hold(room, long, short)
        await long.want(_FREED)
        await all_wait_behind(federation, long_id, short_id, _FREED, both_call)
        told = await why(federation, long_id)
        assert told["expects"]["ended"] == _SAMPLES
        assert told["expects"]["work_s"] > _FREED * _LONGER * at_most_s
        assert "of containers yet" in told["reason"]
        await long.give_back()
        await both_hold(room, long, short)
        assert (long.wanted, short.wanted) == (_FREED, _FREED)

        await asyncio.gather(long.want(0), short.want(0))
        await asyncio.gather(long.give_back(), short.give_back())
        await asyncio.gather(long.finish(), short.finish())


async def hold(am: AM, count: int) -> None:
    """Have so many containers more, and say so in a call: whatever is given back at once was not used."""
    await am.want(count)

    async def has_all() -> bool:
        await am.allocate()
        return not am.wanted

    await until(has_all, within_s=WITHIN_S)
    await am.allocate()


async def use(am: AM, count: int, for_s: float) -> None:
    """Have containers for so long, and give them back."""
    await hold(am, count)
    until_s = asyncio.get_running_loop().time() + for_s

    async def is_over() -> bool:
        await am.allocate()
        return asyncio.get_running_loop().time() >= until_s

    await until(is_over, within_s=for_s + WITHIN_S)
    await am.give_back()


async def both_hold(count: int, *ams: AM) -> None:
    """Wait until they hold so many together."""

    async def do_hold() -> bool:
        await asyncio.gather(*(am.allocate() for am in ams))
        return sum(len(am.held) for am in ams) == count

    await until(do_hold, within_s=WITHIN_S)


async def all_are_withheld(
    federation: Federation, application: str, count: int, call: Callable[[], Awaitable[None]]
) -> Any:
    """Wait until all that an application lacks is asked for nowhere; return what `why` tells then."""

    async def is_withheld() -> bool:
        await call()
        return bool((await why(federation, application))["withheld"] == count)

    await until(is_withheld, within_s=WITHIN_S)
    return await why(federation, application)


async def all_wait_behind(
    federation: Federation, last: str, first: str, count: int, call: Callable[[], Awaitable[None]]
) -> None:
    """Wait until all that an application lacks is asked for nowhere, and it is told why."""

    async def is_behind() -> bool:  # at first it may be that no more can come free soon
        return bool((await all_are_withheld(federation, last, count, call))["behind"] == [first])

    await until(is_behind, within_s=WITHIN_S)
    told = await all_are_withheld(federation, last, count, call)
    assert f"{count} wait in Heddle" in told["reason"]


async def apply_order(federation: Federation, order: str) -> None:
    """Let another order hold from now on."""
    body = {"text": _QUEUE.format(order=order), "source": "order.toml", "note": "the other order"}
    url = f"{federation.heddle.url}/heddle/v1/policy?user.name={getpass.getuser()}"
    async with federation.heddle.session.post(url, json=body) as answer:
        assert answer.status == 200, await answer.text()
