"""What fault tests wait for, and what they look at in the end."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.faults.conftest import Federation


async def until(holds: Callable[[], Awaitable[bool]], *, within_s: float = 300.0) -> None:
    """Wait for something that must come to hold; nothing is said about how soon."""
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110 - a server in another process tells nobody by itself
            await asyncio.sleep(0.1)


async def is_whole(federation: Federation) -> bool:
    return not (await federation.heddle.ask("apps")).missing


async def everything_runs_once(federation: Federation) -> None:
    acknowledged = federation.heddle.acknowledged
    assert acknowledged
    for application_id in acknowledged:

        async def has_a_home(application_id: str = application_id) -> bool:
            return bool(await federation.homes(application_id))

        await until(has_a_home)
        assert len(await federation.homes(application_id)) == 1
    assert set(acknowledged) <= await federation.heddle.ids()
