"""A ResourceManager dies for good and is retired: what waited for it runs elsewhere, once, also if it comes back."""

import asyncio
from typing import Any

import pytest

from shim.app.host_limits import current_user
from tests.faults.conftest import Client, Federation
from tests.faults.observing import is_whole, until

pytestmark = pytest.mark.lab


async def say(heddle: Client, cluster: str, verb: str) -> tuple[int, Any]:
    """What an operator says to a sub-cluster."""
    url = f"{heddle.url}/heddle/v1/clusters/{cluster}/{verb}"
    async with heddle.session.post(url, params={"user.name": current_user()}) as answer:
        return answer.status, await answer.json()


async def shown(federation: Federation, application_id: str) -> dict[str, Any]:
    reply = await federation.heddle.ask(f"apps/{application_id}")
    return dict(reply.body["app"]) if reply.status == 200 else {}


async def acknowledged_by_west(federation: Federation) -> str:
    """An application that west runs, and Heddle has been told of."""
    assert (await say(federation.heddle, "east", "cordon"))[0] == 200
    application_id = await federation.heddle.new_id()
    assert (await federation.heddle.submit(application_id)).status == 202

    async def is_accepted() -> bool:
        return (await shown(federation, application_id)).get("state") == "ACCEPTED"

    await until(is_accepted)
    return application_id


async def test_what_waited_for_the_dead_runs_once_elsewhere_and_what_it_had_is_lost(federation: Federation) -> None:
    await until(lambda: is_whole(federation))
    had = await acknowledged_by_west(federation)
    waiting = [await federation.heddle.new_id() for _ in range(4)]
    await asyncio.to_thread(federation.lab.pause, "west-rm")
    try:
        replies = await asyncio.gather(*(federation.heddle.submit(application_id) for application_id in waiting))
        assert [reply.status for reply in replies] == [202] * len(waiting)
        assert (await say(federation.heddle, "west", "retire"))[0] == 409  # it may wake, and take them
        await asyncio.to_thread(federation.lab.kill, "west-rm")
        await until(lambda: is_retired(federation, waiting, had))
        await say_undrain(federation, "east")
        await until(lambda: are_at_east(federation, waiting))
        await until(lambda: is_lost(federation, had))
    finally:
        await asyncio.to_thread(federation.lab.start, "west-rm")
        await asyncio.to_thread(federation.lab.wait_ready)
    assert [await federation.homes(application_id) for application_id in waiting] == [["east"]] * len(waiting)
    assert "west" in (await federation.heddle.ask("apps")).missing  # it answers, and is not believed
    assert "yet its ResourceManager answers" in await diagnosis(federation.heddle)
    await federation.managers["west"].ask(f"apps/{had}/state", "PUT", {"state": "KILLED"})
    await until(lambda: is_revived(federation))
    await until(lambda: is_whole(federation))
    assert [await federation.homes(application_id) for application_id in waiting] == [["east"]] * len(waiting)


async def diagnosis(heddle: Client) -> str:
    async with heddle.session.get(f"{heddle.url}/heddle/v1/doctor") as answer:
        return " ".join(found["message"] for found in (await answer.json())["findings"])


async def is_retired(federation: Federation, waiting: list[str], had: str) -> bool:
    status, plan = await say(federation.heddle, "west", "retire")
    if status != 200:
        return False  # a connection that was open when it died is found out
    assert sorted(plan["to_move"]) == sorted(waiting)
    assert had in plan["to_lose"]
    return True


async def say_undrain(federation: Federation, cluster: str) -> None:
    status, told = await say(federation.heddle, cluster, "undrain")
    assert status == 200, told


async def are_at_east(federation: Federation, waiting: list[str]) -> bool:
    replies = [await federation.managers["east"].ask(f"apps/{application_id}") for application_id in waiting]
    return all(reply.status == 200 for reply in replies)


async def is_lost(federation: Federation, application_id: str) -> bool:
    app = await shown(federation, application_id)
    return app.get("state") == "FAILED" and "retired" in app["diagnostics"]


async def is_revived(federation: Federation) -> bool:
    return (await say(federation.heddle, "west", "revive"))[0] == 200
