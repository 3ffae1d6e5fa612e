"""Background work: the order in which it begins, and the list of what runs until the end."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import structlog

from shim.app.use_cases import UseCases
from shim.concurrency.keep_going import Work
from shim.federation.inspection import ClusterEvents

_FIRST_POLL_S = 3.0
_log = structlog.get_logger("heddle")


async def begin(use_cases: UseCases) -> None:
    """Read what the store remembers, and poll; the first polls are waited for, so that the first answers are whole.

    Ids are issued from the end of this on: what the clusters list may be newer than what a restored store remembers.

    Raises:
        StoreError: The store does not answer.
    """
    view, shares = use_cases.runtime.view, use_cases.shares
    await use_cases.administration.refresh()
    for application_id, at_ms in (await use_cases.backend.store.waited()).items():
        view.applications.submit_times.note(application_id, at_ms)
    await shares.policies.refresh()
    difference = shares.policies.difference()
    if difference is not None:
        _log.warning("the policy in force is not that of the configuration file", reason=str(difference))
    await use_cases.usage.restore()
    use_cases.pollers.start()
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_POLL_S):
            await use_cases.pollers.first_polls()
    await use_cases.backend.ids.begin()
    await use_cases.lost_time.begin()
    access = use_cases.backend.applications.access
    if access.is_on:
        await access.book.refresh()


def lasting_work(use_cases: UseCases) -> Mapping[str, Work]:
    """List the tasks that run from the first polls to the end, by name; each ends only when it is cancelled."""
    access = use_cases.backend.applications.access
    inspection = use_cases.inspection
    events = ClusterEvents(inspection.clusters, use_cases.runtime.clock, inspection.changes)
    return {
        "lost time": use_cases.lost_time.run,
        "reconciliation": use_cases.reconciliation.run,
        "administration": use_cases.administration.run,
        "policies": use_cases.shares.policies.run,
        "shares": use_cases.starting.run,
        "shares over time": use_cases.shares.over_time.run,
        "retirement": use_cases.retirement.run,
        "cluster events": events.run,
        "usage": use_cases.usage.run,
        "credits": use_cases.credits.run,
        "former runs": use_cases.shares.runs.run,
        "cycles of queues": use_cases.matching.run,
        **({"access lists": access.book.run} if access.is_on else {}),
        "decisions on asks": use_cases.asks.run,
        "spans": use_cases.spans.watch.run,
    }
