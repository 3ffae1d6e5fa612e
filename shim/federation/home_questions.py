"""Asking a home what it knows of applications, by their ids.

An answer counts only from an ACTIVE ResourceManager that is the same process before and after the question: a
recovering one lists nothing with status 200.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId
from shim.domain.subclusters import HaState
from shim.errors import ResourceManagerError
from shim.federation import rm_questions as ask
from shim.federation.core.federation_view import Part
from shim.ports.resource_manager import ResourceManager
from shim.protocol.rest.documents import read_info

_ASKED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Uncertain:
    """The home may or may not have the application, now or when it wakes.

    Attributes:
        is_answered: Whether the request itself was answered: then nothing of it is on its way any more.
    """

    reason: str
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """One life of an ACTIVE ResourceManager: from one start (or fail-over) to the next."""

    started_on_ms: int


@dataclass(frozen=True, slots=True)
class HomeKnows:
    """Answer of one life of a home about some ids.

    Attributes:
        unanswered: Ids for which the question failed, and why. An id that is in neither is unknown to it.
    """

    life: Life
    applications: Mapping[ApplicationId, ApplicationSummary]
    unanswered: Mapping[ApplicationId, str] = field(default_factory=dict)


async def ask_life(manager: ResourceManager, *, timeout_s: float) -> Life | Uncertain:
    """Present life of the home; `Uncertain` unless it is ACTIVE.

    A recovering ResourceManager lists nothing with status 200, and a submission that reaches it can end it.
    """
    try:
        answer = await ask.ask_part(manager, Part.INFO, timeout_s=timeout_s)
        with ask.readable(manager.subcluster):
            info = read_info(answer.body)
    except ResourceManagerError as exc:
        return Uncertain(str(exc))
    if info.ha_state is not HaState.ACTIVE:
        return Uncertain(f"sub-cluster {manager.subcluster} is {info.ha_state.value}, not ACTIVE")
    return Life(info.started_on_ms)


async def ask_home(
    manager: ResourceManager, application_ids: Collection[ApplicationId], *, timeout_s: float, partly: bool = False
) -> HomeKnows | Uncertain:
    """Ask a home by id which applications it knows.

    An answer counts only if the home was ACTIVE, and the same life of itself, before and after.

    Args:
        timeout_s: Seconds for each exchange.
        partly: Whether the answers for some of the ids are of use though the questions for others failed.
    """
    before = await ask_life(manager, timeout_s=timeout_s)
    if isinstance(before, Uncertain):
        return before
    gate = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def ask_one(application_id: ApplicationId) -> ApplicationSummary | None:
        async with gate:
            return await _ask_summary(manager, application_id, timeout_s)

    ids = list(application_ids)
    found = await asyncio.gather(*(ask_one(application_id) for application_id in ids), return_exceptions=True)
    known: dict[ApplicationId, ApplicationSummary] = {}
    unanswered: dict[ApplicationId, str] = {}
    for application_id, summary in zip(ids, found, strict=True):
        if isinstance(summary, ResourceManagerError):
            unanswered[application_id] = str(summary)
        elif isinstance(summary, BaseException):
            raise summary
        elif summary is not None:
            known[application_id] = summary
    if unanswered and (not partly or len(unanswered) == len(ids)):
        return Uncertain(next(iter(unanswered.values())))
    if await ask_life(manager, timeout_s=timeout_s) != before:
        return Uncertain(f"sub-cluster {manager.subcluster} restarted while it was asked")
    return HomeKnows(before, known, unanswered)


async def _ask_summary(
    manager: ResourceManager, application_id: ApplicationId, timeout_s: float
) -> ApplicationSummary | None:
    """The home's document of an application; None if it does not know it."""
    document = await ask.ask_application(manager, application_id, as_of_s=0.0, timeout_s=timeout_s)
    return None if document is None else document.summary
