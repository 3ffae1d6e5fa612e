"""A sub-cluster that never comes back: an operator declares it dead, and what hung on it goes on or comes to an end.

The operator vouches that nothing of it runs any more, and that it does not come back with its old state. Heddle adds
what it can see itself: it declares nothing dead whose port is still open, and from then on sends nothing there and
believes nothing from there (`fence`, `FederationView.retire`). The word is in the store; every Heddle does the rest
by itself, again and again, so it may die at any step:

| the record says | then |
|---|---|
| INTENDED, for it | a new intent for another home, sent as every repair is; it waits while there is none |
| SUBMITTED, to it | LOST: shown as FAILED, with the reason |
| another home by now | it is shown there |
| none: submitted to it directly | shown as FAILED, as long as this Heddle knows of it |

Only records that have stood for `grace_s` are moved: whoever wrote one knows of the retirement by then.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission, ApplicationDocument
from shim.domain.submissions import SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import (
    ConflictError,
    HeddleError,
    NeverReachedError,
    NotFoundError,
    ResourceManagerError,
    StoreUnavailableError,
    UnavailableError,
    VersionConflictError,
)
from shim.federation.administration import AdministrationService
from shim.federation.core.federation_view import Part
from shim.federation.home_questions import Uncertain, ask_life
from shim.federation.rm_questions import ask_applications, ask_part
from shim.ports.multicluster_store import MultiClusterStore, RemoteSession
from shim.ports.resource_manager import ResourceManager
from shim.submission.resending import Resending, as_failed
from shim.submission.service import SubmissionService
from shim.submission.tools import SubmissionTools, find_standing
from shim.telemetry.application_life import LifeEvent, tell

_log = structlog.get_logger("heddle.retirement")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RetirementSettings:
    """Limits of a retirement.

    Attributes:
        grace_s: Younger intents are left alone: longer than a Heddle takes to hear of the word, and than a send takes.
        answer_within_s: For one question to the sub-cluster.
        list_within_s: For the list of all its applications, when it is to be let in again.
    """

    interval_s: float = 2.0
    grace_s: float = 10.0
    answer_within_s: float = 2.0
    list_within_s: float = 20.0


@dataclass(frozen=True, slots=True)
class RetirementPlan:
    """Applications and sessions that hang on a sub-cluster.

    Attributes:
        was: The operators' word so far.
        to_move: On their way to it: another home gets them.
        to_lose: It has acknowledged them, and they were not seen to end.
        spanning: Applications of other homes, each with the number of its containers there: these are lost.
    """

    subcluster: SubClusterId
    was: Admission
    to_move: tuple[ApplicationId, ...]
    to_lose: tuple[ApplicationId, ...]
    spanning: Mapping[ApplicationId, int] = field(default_factory=dict)


class RetirementService:
    """Declares sub-clusters dead and lets them in again; `run` sees to what hung on the dead.

    Args:
        tools: What it takes to bring applications elsewhere.
        submissions: Knows what this process is submitting just now.
        resending: Writes intents, and sends for them.
        managers: The sub-clusters' servers, without the fence.
        spans: Where ApplicationMasters of Heddle's own are kept, to be ended.
    """

    def __init__(
        self,
        tools: SubmissionTools,
        submissions: SubmissionService,
        resending: Resending,
        administration: AdministrationService,
        managers: Mapping[SubClusterId, ResourceManager],
        spans: MultiClusterStore,
        settings: RetirementSettings | None = None,
    ) -> None:
        self._homes = tools.homes
        self._view = tools.view
        self._store = tools.store
        self._listing = tools.listing
        self._clock = tools.clock
        self._new_intent_id = tools.new_intent_id
        self._submissions = submissions
        self._resending = resending
        self._administration = administration
        self._managers = managers
        self._spans = spans
        self._settings = settings or RetirementSettings()

    # -- operators ---------------------------------------------------------------------------------------------------

    async def plan(self, subcluster: SubClusterId) -> RetirementPlan:
        """Plan of the retirement of a sub-cluster; nothing is changed.

        Raises:
            NotFoundError: No such sub-cluster.
            ConflictError: It is there: its port is open.
            StoreUnavailableError: The store does not tell.
        """
        self._manager(subcluster)
        was = self._administration.current.get(subcluster, Admission.OPEN)
        if was is not Admission.RETIRED:
            await self._refuse_if_there(subcluster)
        standings = await self._store.unfinished(subcluster)
        to_move = {each.application_id for each in standings if each.state is SubmissionState.INTENDED}
        known = {each.application_id for each in standings}
        seen = {document.summary.application_id for document in self._unfinished_at(subcluster)}
        drainage = await self._administration.drainage(subcluster)
        to_lose = (known | seen) - to_move
        return RetirementPlan(subcluster, was, tuple(sorted(to_move)), tuple(sorted(to_lose)), drainage.spanning)

    async def retire(self, subcluster: SubClusterId, *, by: str) -> RetirementPlan:
        """Declare it dead; what the plan says is done from now on, in every Heddle. Raises as `plan`.

        Raises:
            UnavailableError: The store does not take the word: nothing is changed.
        """
        plan = await self.plan(subcluster)
        await self._administration.declare(subcluster, is_dead=True, by=by)
        _log.warning("a sub-cluster was retired", subcluster=subcluster, by=by, to_move=len(plan.to_move))
        return plan

    async def revive(self, subcluster: SubClusterId, *, by: str, is_dry_run: bool = False) -> tuple[ApplicationId, ...]:
        """Let it in again, if it has nothing left of what was given up there.

        ApplicationMasters of Heddle's own do not stand in the way: those of applications that run take their session
        up again, the others are ended.

        Returns:
            Ended applications with such a master there.

        Raises:
            NotFoundError: No such sub-cluster.
            ConflictError: It is not retired; or it knows an application that went elsewhere, or runs one that is lost.
            UnavailableError: It does not answer, or the store does not.
        """
        manager = self._manager(subcluster)
        await self._administration.refresh()
        if not self._administration.is_retired(subcluster):
            raise ConflictError(f"{subcluster} is not retired")
        leftovers, masters = await self._left_at(manager)
        if leftovers:
            raise ConflictError(
                f"{subcluster} still has what was given up there: {_enumerated(leftovers)}. Kill what runs, by its own "
                "ResourceManager; what went to another home must be gone from its state store "
                "(yarn resourcemanager -format-state-store)"
            )
        orphans = tuple(sorted(session.application for session in masters))
        if is_dry_run:
            return orphans
        await self._administration.declare(subcluster, is_dead=False, by=by)
        for session in masters:  # known again only now: the watch forgets sessions of a retired cluster
            await self._spans.save_session(session)
        _log.warning("a sub-cluster was revived", subcluster=subcluster, by=by, masters_to_end=len(masters))
        return orphans

    # -- what hung on the dead ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            try:
                await self.round()
            except HeddleError as exc:
                _log.warning("what hung on retired sub-clusters waits", reason=str(exc))
            await self._clock.sleep(self._settings.interval_s)

    async def round(self) -> None:
        """One look at every retired sub-cluster.

        Raises:
            StoreError: The rest is for the next round.
        """
        retired = [id_ for id_, word in self._administration.current.items() if word is Admission.RETIRED]
        for subcluster in retired:
            for progress in await self._store.unfinished(subcluster):
                if progress.application_id not in self._submissions.in_flight:
                    await self._see_to(progress)
            for document in self._unfinished_at(subcluster):
                await self._show(document)

    async def _see_to(self, progress: SubmissionProgress) -> None:
        if progress.state is SubmissionState.SUBMITTED:
            with suppress(VersionConflictError):  # another Heddle was first, or saw it end
                reason = _lost_with(progress.home_subcluster)
                await self._store.give_up(progress, reason=reason)
                home = progress.home_subcluster
                tell(LifeEvent.ENDED, progress.application_id, cluster=home, state="LOST", reason=reason)
            return
        age_ms = self._clock.now_s() * 1000 - progress.intended_at_ms
        record = await find_standing(self._store, progress)
        if record is not None and age_ms >= self._settings.grace_s * 1000:
            await self._move(record)

    async def _move(self, record: SubmissionRecord) -> None:
        """Bring what was on its way to the dead to another home, if there is one now."""
        begun_s = self._clock.monotonic_s()
        decision = await self._homes.agree(record.submission)
        home = decision.home_subcluster
        if home is None or home == record.home_subcluster:
            return
        intent = replace(
            record,
            home_subcluster=home,
            home_started_on_ms=self._homes.started_on_ms(home),
            intended_at_ms=int(self._clock.now_s() * 1000),
            decision=decision,
            intent_id=self._new_intent_id(),
        )
        await self._resending.send(intent, was=record.progress, since_s=begun_s, why="its home was retired")

    async def _show(self, document: ApplicationDocument) -> None:
        """Show what became of an application that the view still has at a retired home."""
        application_id, home = document.summary.application_id, document.summary.home_subcluster
        record = await self._store.find(application_id)
        if record is not None and record.home_subcluster != home:
            self._listing.mark_submitted(record.submission, record.home_subcluster)
        elif record is None or record.state in {SubmissionState.LOST, SubmissionState.REJECTED}:
            reason = _lost_with(home) if record is None else record.rejection
            told = f"{reason} It was {document.summary.state.value} when that was last reported."
            self._view.applications.note(as_failed(document, told, self._clock.now_s()))

    def _unfinished_at(self, subcluster: SubClusterId) -> list[ApplicationDocument]:
        return [each for each in self._view.applications.at_home(subcluster) if not each.summary.state.is_final]

    # -- questions ---------------------------------------------------------------------------------------------------

    def _manager(self, subcluster: SubClusterId) -> ResourceManager:
        manager = self._managers.get(subcluster)
        if manager is None:
            raise NotFoundError(f"there is no sub-cluster {subcluster!r}; there are: {', '.join(self._managers)}")
        return manager

    async def _refuse_if_there(self, subcluster: SubClusterId) -> None:
        """Refuse if the port is held: a request in its socket may still be taken; a closed port is no contradiction.

        Raises:
            ConflictError: A process is there.
        """
        try:
            await ask_part(self._managers[subcluster], Part.INFO, timeout_s=self._settings.answer_within_s)
            told = "its ResourceManager answers"
        except NeverReachedError:
            return
        except ResourceManagerError as exc:
            told = str(exc)
        raise ConflictError(
            f"{subcluster} cannot be retired: somebody holds its port ({told}). Drain it; or end its ResourceManager "
            "for good, and retire it then"
        )

    async def _left_at(self, manager: ResourceManager) -> tuple[list[ApplicationId], list[RemoteSession]]:
        """Applications that it knows and may not, and live masters of Heddle's whose applications have ended.

        It may not know applications with another home by now, and no live ones that are lost.

        Raises:
            UnavailableError: It cannot be asked now, or the store cannot.
        """
        within_s, subcluster = self._settings.answer_within_s, manager.subcluster
        life = await ask_life(manager, timeout_s=within_s)
        if isinstance(life, Uncertain):
            raise UnavailableError(f"{subcluster} can be revived when it answers: {life.reason}")
        try:
            listed = await ask_applications(
                manager, (), as_of_s=self._clock.now_s(), timeout_s=self._settings.list_within_s
            )
            records = {id_: await self._store.find(id_) for id_ in listed}
            sessions = {each.application for each in await self._spans.sessions() if each.subcluster == subcluster}
        except (ResourceManagerError, StoreUnavailableError) as exc:
            raise UnavailableError(f"{subcluster} stays retired: {exc}") from exc
        leftovers: list[ApplicationId] = []
        masters: list[RemoteSession] = []
        for id_, document in listed.items():
            record = records[id_]
            if record is None:
                continue
            if _is_own_master(record, document, subcluster):
                if not document.summary.state.is_final and id_ not in sessions:
                    masters.append(RemoteSession(id_, subcluster, record.home_subcluster, record.submission.user))
            elif _is_leftover(record, document, subcluster):
                leftovers.append(id_)
        return leftovers, masters


def _is_own_master(record: SubmissionRecord, document: ApplicationDocument, subcluster: SubClusterId) -> bool:
    """True for an ApplicationMaster of Heddle's, under the id of an application with another home."""
    return SPAN_TAG in document.summary.tags and record.home_subcluster != subcluster


def _is_leftover(record: SubmissionRecord, document: ApplicationDocument, subcluster: SubClusterId) -> bool:
    if record.home_subcluster != subcluster:
        return True
    return record.state is SubmissionState.LOST and not document.summary.state.is_final


def _lost_with(subcluster: SubClusterId) -> str:
    return f"Lost with its sub-cluster {subcluster}, which an operator has retired."


def _enumerated(ids: list[ApplicationId]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(map(str, sorted(ids)[:_SHOWN])) + more
