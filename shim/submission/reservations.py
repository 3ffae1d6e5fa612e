"""Submissions that are to run in a reservation: they go to the ResourceManager that issued it, with its deadline.

A ResourceManager rejects an application whose reservation it does not know. And what the reservation was made for says
by when the application should have ended: policies that look at deadlines read that from its tags, as they do of
others.

Source: Hadoop's `ReservationSystem`, `RMWebServices.listReservation`; TetriSched (EuroSys 2016), section 3.2, where
jobs with a reservation are those with a deadline.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission
from shim.domain.wishes import DEADLINE_TAG, deadline_of
from shim.errors import ResourceManagerError
from shim.federation.rm_questions import reservation_lists
from shim.ports.resource_manager import ResourceManager
from shim.protocol.rest import submission_context
from shim.protocol.wire_values import UNREADABLE
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION

_OK = 200
_LONGEST_LIST = 4 * 1024 * 1024
_MILLISECONDS = re.compile(r"[0-9]{1,13}", re.ASCII)
"""Since the epoch, up to the year 2286."""
_MOST_TAGS = 10
"""`yarn.resourcemanager.application.max-tags`: with more a ResourceManager refuses the application."""


class Reservations:
    """Knows reservations by asking their issuers.

    Args:
        answer_within_s: Seconds for one question.
    """

    def __init__(
        self,
        issuer_of: Callable[[str], SubClusterId | None],
        managers: Mapping[SubClusterId, ResourceManager],
        *,
        name_at: Callable[[SubClusterId, str], str] = lambda _, queue: queue,
        answer_within_s: float = 2.0,
    ) -> None:
        self._issuer_of = issuer_of
        self._managers = managers
        self._name_at = name_at
        self._answer_within_s = answer_within_s

    def issuer_of(self, submission: Submission) -> SubClusterId | None:
        """The sub-cluster of a submission's reservation; None if it names none, or one of nobody's."""
        reservation = reservation_of(submission)
        return self._issuer_of(reservation) if reservation else None

    async def with_deadline(
        self, submission: Submission, queue_of: Callable[[Submission], str] = lambda submission: submission.queue
    ) -> Submission:
        """The submission with a tag for the deadline of its reservation.

        As it came, if it has a deadline or as many tags as a ResourceManager takes, or if the issuer does not tell one.

        Args:
            queue_of: The queue in which it will run: a policy may map it to another than it names.
        """
        reservation = reservation_of(submission)
        issuer = self._issuer_of(reservation) if reservation else None
        if issuer is None or deadline_of(submission.tags) is not None or len(submission.tags) >= _MOST_TAGS:
            return submission
        deadline_ms = await self._deadline_ms(issuer, self._name_at(issuer, queue_of(submission)), reservation)
        if deadline_ms is None:
            return submission
        instant = datetime.fromtimestamp(deadline_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return _with_tag(submission, f"{DEADLINE_TAG}={instant}".lower())

    async def _deadline_ms(self, issuer: SubClusterId, queue: str, reservation: str) -> int | None:
        manager, timeout_s = self._managers[issuer], self._answer_within_s
        with suppress(ResourceManagerError):
            async for answer in reservation_lists(manager, queue, reservation, timeout_s=timeout_s):
                if answer.status == _OK:
                    return _deadline_told(answer.body, reservation)
        return None


def reservation_of(submission: Submission) -> str:
    """Id of the reservation that a submission names; empty for none, or where its body is gone."""
    if submission.reservation is not None or not submission.body:
        return submission.reservation or ""
    if submission.content_type == RPC_SUBMISSION:
        return rpc_context.reservation_named_by(submission.body)
    return submission_context.reservation_named_by(submission.body, media_type=submission.content_type)


def _with_tag(submission: Submission, tag: str) -> Submission:
    if submission.content_type == RPC_SUBMISSION:
        body = rpc_context.with_tag(submission.body, tag)
    else:
        body = submission_context.with_tag(submission.body, media_type=submission.content_type, tag=tag)
    return replace(submission, body=body, tags=tuple(sorted({*submission.tags, tag})))


def _deadline_told(body_untrusted: bytes, reservation: str) -> int | None:
    """The deadline in a list of reservations, in milliseconds since the epoch; None if none can be read."""
    if len(body_untrusted) > _LONGEST_LIST:
        return None
    try:
        told = msgspec.json.decode(body_untrusted)
    except UNREADABLE:
        return None
    definitions = (
        each.get("reservation-definition") for each in _listed(told) if each.get("reservation-id") == reservation
    )
    deadlines = (str(each.get("deadline", "")) for each in definitions if isinstance(each, dict))
    deadline = next(deadlines, "")
    return int(deadline) if _MILLISECONDS.fullmatch(deadline) else None


def _listed(told: Any) -> Iterator[dict[str, Any]]:
    """The reservations of a list; a list of one is told without a list around it."""
    found = told.get("reservations") if isinstance(told, dict) else None
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict):
            yield each
