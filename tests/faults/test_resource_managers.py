"""A ResourceManager is frozen, killed, started again: with Heddle in front, nothing is lost, doubled, or kept waiting.

The rows are those at which Hadoop's Router was measured. "Nobody waits for a frozen one" is tested without a watch:
every answer is there before the frozen one is woken. How long that took is in docs/operators/reliability.md.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.faults.conftest import Federation, Reply
from tests.faults.observing import everything_runs_once, is_whole, until

pytestmark = pytest.mark.lab

WHOLE_LISTS = ("apps", "metrics", "nodes", "scheduler", "info")


async def is_missing(federation: Federation, name: str) -> bool:
    return name in (await federation.heddle.ask("apps")).missing


@asynccontextmanager
async def frozen(federation: Federation, daemon: str) -> AsyncIterator[None]:
    await asyncio.to_thread(federation.lab.pause, daemon)
    try:
        yield
    finally:
        await asyncio.to_thread(federation.lab.resume, daemon)


@asynccontextmanager
async def killed(federation: Federation, daemon: str) -> AsyncIterator[None]:
    await asyncio.to_thread(federation.lab.kill, daemon)
    try:
        yield
    finally:
        await asyncio.to_thread(federation.lab.start, daemon)
        await asyncio.to_thread(federation.lab.wait_ready)


async def one_of_each(federation: Federation) -> dict[str, str]:
    """An application on each sub-cluster, by name, submitted through Heddle."""
    found: dict[str, str] = {}
    while len(found) < 2:
        application_id = await federation.heddle.new_id()

        async def is_at_home(application_id: str = application_id) -> bool:
            if application_id not in federation.heddle.acknowledged:
                await federation.heddle.submit(application_id)
            return bool(await federation.homes(application_id))

        await until(is_at_home)
        (home,) = await federation.homes(application_id)
        found[home] = application_id
    for application_id in found.values():

        async def is_accepted(application_id: str = application_id) -> bool:
            app = (await federation.heddle.ask(f"apps/{application_id}")).body["app"]
            return bool(app["state"] == "ACCEPTED")

        await until(is_accepted)
    await until(lambda: is_whole(federation))
    await federation.heddle.ids()
    return found


async def test_while_one_is_frozen_everybody_is_answered_and_its_part_is_named(federation: Federation) -> None:
    apps = await one_of_each(federation)
    async with frozen(federation, "west-rm"):
        first = await asyncio.gather(
            *(federation.heddle.ask(path) for path in WHOLE_LISTS),
            *(federation.heddle.ask(f"apps/{application_id}") for application_id in apps.values()),
            federation.heddle.ask("apps/new-application", "POST"),
        )
        assert {reply.status for reply in first} == {200}
        await until(lambda: is_missing(federation, "west"))
        later = await asyncio.gather(*(federation.heddle.ask(path) for path in WHOLE_LISTS))
        for path, reply in zip(WHOLE_LISTS, later, strict=True):
            assert reply.status == 200
            assert "west" in reply.missing, path
        assert set(apps.values()) <= await federation.heddle.ids()
        of_the_frozen = await federation.heddle.ask(f"apps/{apps['west']}")
        assert (of_the_frozen.status, of_the_frozen.body["app"]["state"]) == (200, "ACCEPTED")
        assert "west" in of_the_frozen.missing
        nodes = (await federation.heddle.ask("nodes")).body["nodes"]["node"]
        assert len(nodes) == 2
    await until(lambda: is_whole(federation))


async def test_what_is_submitted_while_one_is_frozen_runs_once(federation: Federation) -> None:
    ids = [await federation.heddle.new_id() for _ in range(12)]
    async with frozen(federation, "west-rm"):
        replies = await asyncio.gather(*(federation.heddle.submit(application_id) for application_id in ids))
        assert {reply.status for reply in replies} == {202}
        later = [await federation.heddle.submit() for _ in range(4)]  # by now it is known to be silent
        assert {reply.status for reply in later} == {202}
        listed = await federation.heddle.ids()
        assert set(federation.heddle.acknowledged) <= listed
    await everything_runs_once(federation)


async def test_a_kill_of_what_a_frozen_one_may_have_is_refused_until_it_wakes(federation: Federation) -> None:
    ids = [await federation.heddle.new_id() for _ in range(8)]
    async with frozen(federation, "west-rm"):
        await asyncio.gather(*(federation.heddle.submit(application_id) for application_id in ids))
        replies = {application_id: await kill(federation, application_id) for application_id in ids}
        refused = [an_id for an_id, reply in replies.items() if reply.status == 503]
        assert all("retry-after" in replies[an_id].headers for an_id in refused)
        assert {reply.status for reply in replies.values()} <= {200, 202, 503}
    for application_id in refused:

        async def is_taken(application_id: str = application_id) -> bool:
            return (await kill(federation, application_id)).status in (200, 202)

        await until(is_taken)
    await everything_runs_once(federation)


async def kill(federation: Federation, application_id: str) -> Reply:
    return await federation.heddle.ask(f"apps/{application_id}/state", "PUT", {"state": "KILLED"})


async def test_while_one_is_dead_submissions_go_to_the_other_and_its_applications_stay_listed(
    federation: Federation,
) -> None:
    apps = await one_of_each(federation)
    async with killed(federation, "west-rm"):
        replies = await asyncio.gather(*(federation.heddle.submit() for _ in range(12)))
        assert {reply.status for reply in replies} == {202}
        await until(lambda: is_missing(federation, "west"))
        document = await federation.heddle.ask(f"apps/{apps['west']}")
        assert (document.status, document.body["app"]["state"]) == (200, "ACCEPTED")
        assert set(apps.values()) <= await federation.heddle.ids()
        assert (await kill(federation, apps["west"])).status == 503
        assert (await federation.heddle.submit()).status == 202
    await until(lambda: is_whole(federation))
    await everything_runs_once(federation)


async def test_what_was_acknowledged_just_before_a_restart_is_there_afterwards(federation: Federation) -> None:
    """Its 202 may come before its own store has the application."""
    for _ in range(2):
        ids = [await federation.heddle.new_id() for _ in range(10)]
        submissions = [asyncio.create_task(federation.heddle.submit(application_id)) for application_id in ids]
        await asyncio.wait(submissions, return_when=asyncio.FIRST_COMPLETED)
        async with killed(federation, "east-rm"):
            await asyncio.wait(submissions)
        assert {submission.result().status for submission in submissions} == {202}
    await until(lambda: is_whole(federation))
    await everything_runs_once(federation)
