"""Collaborators of submissions, of their repair and of retirement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import Submission, SubmissionProgress, SubmissionRecord
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.submission.crash_points import CrashPoints, nothing_happens
from shim.submission.homes import Homes
from shim.submission.lost_time import NOTHING_LOST, EarlierRun
from shim.submission.reservations import Reservations


class Listing(Protocol):
    """Display of applications; implemented by `ApplicationReading`."""

    def mark_submitted(self, submission: Submission, home: SubClusterId) -> None: ...

    def mark_written(self, application_id: ApplicationId) -> None: ...


@dataclass(frozen=True, slots=True)
class SubmissionTools:
    """Collaborators that bring applications to their homes, at first and in repair.

    Attributes:
        view: What is known of the sub-clusters.
        clock: The machine's.
        past: Whether the store was restored.
    """

    homes: Homes
    view: FederationView
    managers: Mapping[SubClusterId, ResourceManager]
    store: StateStore
    listing: Listing
    clock: Clock
    new_intent_id: Callable[[], str]
    reservations: Reservations
    crash_points: CrashPoints = nothing_happens
    past: EarlierRun = NOTHING_LOST


# Records that stand as they were seen: whoever works on one may have been overtaken by another Heddle.


async def find_standing(store: StateStore, progress: SubmissionProgress) -> SubmissionRecord | None:
    """The whole record of a submission, with its body; None if it stands otherwise by now, or is gone.

    Raises:
        StoreUnavailableError: Nobody can tell.
    """
    record = await store.find(progress.application_id)
    return record if record is not None and record.progress == progress else None
