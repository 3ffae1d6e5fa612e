"""Heddle's own web service for usage, below `/heddle/v1/`.

    GET   usage[?by=queue,user,cluster][&from=TIME][&to=TIME]     sums of what applications have used

A time is a date (2026-11-01), a date with a time (2026-11-01T12:00:00Z), UTC without a zone, or milliseconds since the
epoch. With `from`, `share` is the part of what the federation has in that time.

Administrators are told of everybody, other callers of their own applications.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query, Response

from heddle import models
from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.identity.service import IdentityService
from shim.ports.queue_stores import UsageQuestion, UsageTotal
from shim.queues.usage import UsageReports
from shim.server.rest.own_endpoints import READ, Asker, OwnEndpoint, as_json

_LATEST_MS = 253_402_300_799_000
"""End of the year 9999."""


@dataclass(frozen=True, slots=True)
class UsageAPI:
    """Answers the endpoint of usage; raises what the server makes error bodies of.

    Attributes:
        capacity: What all clusters have now, for the part that was used of it.
    """

    reports: UsageReports
    identity: IdentityService
    capacity: Callable[[], ResourceVector] = ResourceVector

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (OwnEndpoint("GET", "usage", READ, self.usage, models.Usage),)

    async def usage(
        self,
        asker: Asker,
        by: Annotated[str, Query(max_length=64)] = "queue",
        begin: Annotated[str, Query(alias="from", max_length=40)] = "",
        end: Annotated[str, Query(alias="to", max_length=40)] = "",
    ) -> Response:
        """Use by applications, by queue, user and cluster."""
        caller = self.identity.require_user(asker)
        groups = [name for name in by.split(",") if name]
        found, question, is_cut = await self.reports.totals(caller, groups, _time_ms(begin), _time_ms(end))
        given = await self.reports.credits(question)
        rows = [
            models.UsageRow(
                **_shown_group(question, total),
                applications=total.applications,
                memory_mib_s=total.memory_mib_s,
                vcore_s=total.vcore_s,
                preempted_memory_mib_s=total.preempted_memory_mib_s,
                preempted_vcore_s=total.preempted_vcore_s,
                **shown_share(total, question, self.capacity()),
                **_shown_credits(given, total.group),
            )
            for total in found
        ]
        whose = question.user or "*"
        told = models.Usage(question.by, question.from_ms, question.to_ms, whose, is_cut=is_cut, usage=rows)
        return as_json(told)


def _shown_group(question: UsageQuestion, total: UsageTotal) -> dict[str, Any]:
    return dict(zip(question.by, total.group, strict=True))


def shown_share(total: UsageTotal, question: UsageQuestion, capacity: ResourceVector) -> dict[str, Any]:
    """Part of the federation's memory, or of its cores if that is more, over the time that was asked for.

    By what the clusters have now; nothing where no beginning was named, or no cluster has told what it has.
    """
    time_s = (question.to_ms - question.from_ms) / 1000
    if question.from_ms <= 0 or time_s <= 0 or not (capacity.memory_mib and capacity.vcores):
        return {}
    parts = (total.memory_mib_s / (capacity.memory_mib * time_s), total.vcore_s / (capacity.vcores * time_s))
    return {"share": round(max(parts), 6)}


def _shown_credits(given: Mapping[tuple[str, ...], Credits] | None, group: tuple[str, ...]) -> dict[str, Any]:
    """Credits of a group's jobs; nothing where that is not known by such groups."""
    if given is None:
        return {}
    total = given.get(group, NO_CREDITS)
    return {"given_mib_s": round(total.given_mib_s), "received_mib_s": round(total.received_mib_s)}


def _time_ms(text: str) -> int | None:
    """A time in milliseconds since the epoch; None for none.

    Raises:
        BadRequestError: If it is no time.
    """
    if not text:
        return None
    try:
        if text.isascii() and text.isdecimal():
            value = int(text)
        else:
            found = datetime.fromisoformat(text)
            value = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as exc:
        raise _no_time(text) from exc
    if not 0 <= value <= _LATEST_MS:
        raise _no_time(text)
    return value


def _no_time(text: str) -> BadRequestError:
    return BadRequestError(
        f"{text!r} is no time: give a date, 2026-11-01, a time, 2026-11-01T12:00:00Z, or milliseconds"
    )
