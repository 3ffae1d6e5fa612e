"""Moving an application that waits for its ApplicationMaster to another home, because its owner or an operator says so.

    SUBMITTED at the old home ─ checked ─ INTENDED there, leaving ─ killed there ─ KILLED, and no attempt ever began
                                                    │                                         │
                                                    │         INTENDED for the new home, sent as every intent is
                                                    └─ whoever dies meanwhile: `repair` goes on from here

No home gets it before the old one has said that it ended it and that nothing of it ever ran. What began in the last
moment has ended with the kill, is not moved, and is shown as its home tells of it. What carries tokens is not moved: a
ResourceManager cancels them with the end of the application for which it was given them.
"""

from dataclasses import dataclass, replace

import msgspec
import structlog

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import NOWHERE, HomeDecision, SubmissionRecord, SubmissionState
from shim.errors import (
    ConflictError,
    MalformedAnswerError,
    NotFoundError,
    ResourceManagerError,
    UnavailableError,
    VersionConflictError,
)
from shim.federation.home_questions import Life, ask_life
from shim.federation.rm_questions import ask_application, ask_attempts
from shim.federation.unplaced import unplaced_document
from shim.ports.resource_manager import ResourceManager, RestRequest
from shim.protocol.rest import submission_context
from shim.protocol.wire_values import UNREADABLE
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.submission.resending import Resending
from shim.submission.reservations import reservation_of
from shim.submission.tools import SubmissionTools, find_standing

_log = structlog.get_logger("heddle.rehoming")
_BEFORE_ITS_MASTER = {
    YarnApplicationState.NEW,
    YarnApplicationState.NEW_SAVING,
    YarnApplicationState.SUBMITTED,
    YarnApplicationState.ACCEPTED,
}


@dataclass(frozen=True, slots=True)
class RehomingSettings:
    """Limits of a move.

    Attributes:
        answer_within_s: For one exchange with a home.
        killed_within_s: The asker waits so long for the old home to confirm the kill; then `repair` goes on.
    """

    answer_within_s: float = 2.0
    killed_within_s: float = 8.0
    look_every_s: float = 0.25


@dataclass(frozen=True, slots=True)
class Move:
    """A move of an application.

    Attributes:
        was: Its home so far.
        is_done: Whether it is on its way there; False while the old home has not confirmed the kill: that goes on.
        reason: Why the new home was chosen, or what is waited for.
    """

    application_id: ApplicationId
    user: str
    was: SubClusterId
    home: SubClusterId
    is_done: bool
    reason: str


class _Attempt(msgspec.Struct):
    containerId: str | None = None  # noqa: N815 - Hadoop's name


class _Attempts(msgspec.Struct):
    appAttempt: list[_Attempt] | _Attempt | None = None  # noqa: N815 - Hadoop's name


class _AttemptsAnswer(msgspec.Struct):
    appAttempts: _Attempts | None = None  # noqa: N815 - Hadoop's name


class _Begun(msgspec.Struct):
    amContainerLogs: str | None = None  # noqa: N815 - Hadoop's name
    amHostHttpAddress: str | None = None  # noqa: N815 - Hadoop's name


class Rehoming:
    """Moves applications; `go_on` brings on what another process, or an earlier one, has begun.

    Args:
        tools: What it takes to bring applications elsewhere.
        resending: Writes intents, and sends for them.
    """

    def __init__(self, tools: SubmissionTools, resending: Resending, settings: RehomingSettings | None = None) -> None:
        self._homes = tools.homes
        self._view = tools.view
        self._managers = tools.managers
        self._store = tools.store
        self._clock = tools.clock
        self._new_intent_id = tools.new_intent_id
        self._resending = resending
        self._settings = settings or RehomingSettings()
        self._moving: set[ApplicationId] = set()

    def show(self, record: SubmissionRecord) -> None:
        """List one that leaves its home as it is while it has none: that the home ends it is no end of it."""
        if not self._view.applications.is_synthetic(record.submission.application_id):
            self._show_at(record, NOWHERE)

    async def plan(self, application_id: ApplicationId) -> Move:
        """The move of an application as it would be now; nothing is changed.

        Raises:
            NotFoundError: It was not submitted through this federation.
            ConflictError: It cannot be moved; says why.
            UnavailableError: Its home, or the store, does not say.
        """
        record, decision = await self._checked(application_id)
        assert decision.home_subcluster is not None  # noqa: S101 - `_checked` raises
        return self._told(record, decision.home_subcluster, decision.reason, is_done=False)

    async def rehome(self, application_id: ApplicationId) -> Move:
        """Move an application; who may ask for it is for the caller to know. Raises as `plan`."""
        record, decision = await self._checked(application_id)
        target = decision.home_subcluster
        assert target is not None  # noqa: S101 - `_checked` raises
        leaving = replace(
            record,
            state=SubmissionState.INTENDED,
            intended_at_ms=int(self._clock.now_s() * 1000),
            decision=replace(record.decision, is_left=True),
            intent_id=self._new_intent_id(),
        )
        self._moving.add(application_id)
        try:
            await self._store.rehome(leaving, was=record.progress)
        except VersionConflictError as exc:
            self._moving.discard(application_id)
            raise ConflictError(f"{application_id} is being changed by another Heddle; look again") from exc
        try:
            waits_for = await self._deliver_on(leaving, target, within_s=self._settings.killed_within_s)
        finally:
            self._moving.discard(application_id)
        stands = await self._store.find(application_id)
        home = record.home_subcluster if stands is None else stands.home_subcluster
        if not waits_for and home == record.home_subcluster:
            raise ConflictError(
                f"{application_id} began, or ended, at {home} in the moment of its move: it is as its home tells of it"
            )
        return self._told(
            record, home if not waits_for else target, waits_for or decision.reason, is_done=not waits_for
        )

    async def go_on(self, record: SubmissionRecord) -> str:
        """Bring a move on that was begun; return what it waits for, empty if it is done with."""
        application_id = record.submission.application_id
        if application_id in self._moving:
            return ""
        whole = await find_standing(self._store, record.progress)
        if whole is None:
            return ""  # another Heddle was first
        self._moving.add(application_id)
        try:
            return await self._deliver_on(whole, None, within_s=0.0)
        finally:
            self._moving.discard(application_id)

    # -- the checks ----------------------------------------------------------------------------------------------------

    async def _checked(self, application_id: ApplicationId) -> tuple[SubmissionRecord, HomeDecision]:
        record = await self._store.find(application_id)
        if record is None:
            raise NotFoundError(
                f"{application_id} was not submitted through this federation: its home cannot be changed"
            )
        home = record.home_subcluster
        self._refuse_by_record(record)
        try:
            document, has_begun = await self._at_home(self._managers[home], application_id)
        except ResourceManagerError as exc:
            raise UnavailableError(f"{home} does not say whether {application_id} has begun: {exc}") from exc
        if document is None:
            raise ConflictError(f"{home} does not know {application_id}: it is brought there, or elsewhere, by itself")
        if has_begun or document.summary.state not in _BEFORE_ITS_MASTER:
            state = document.summary.state.value
            raise ConflictError(f"{application_id} is {state} at {home}, and an attempt of it has begun: it stays")
        decision = self._homes.preview(record.submission, excluded={home: "it is to leave it"})
        if decision.home_subcluster is None or decision.refusal is not None:
            raise ConflictError(f"{application_id} stays at {home}: {decision.reason}")
        return record, decision

    def _refuse_by_record(self, record: SubmissionRecord) -> None:
        """Refuse what cannot be moved whatever its home says.

        Raises:
            ConflictError: Says why.
        """
        submission = record.submission
        application_id = submission.application_id
        for is_so, why in (
            (record.state is SubmissionState.WAITING, "it waits in Heddle and has no home yet"),
            (record.state is SubmissionState.INTENDED, "it is on its way to its home; try again when it is there"),
            (record.state is not SubmissionState.SUBMITTED, f"it is {record.state.value}"),
            (not submission.body, "it has ended"),
            (submission.is_unmanaged, "its ApplicationMaster is its client, which knows its home"),
        ):
            if is_so:
                raise ConflictError(f"{application_id} cannot be moved: {why}")
        if reservation_of(submission):
            raise ConflictError(f"{application_id} cannot be moved: its reservation is at {record.home_subcluster}")
        if _has_tokens(record):
            raise ConflictError(
                f"{application_id} cannot be moved: its context has tokens, which {record.home_subcluster} cancels "
                "when it ends there; kill it, and submit it again"
            )

    async def _at_home(
        self, manager: ResourceManager, application_id: ApplicationId
    ) -> tuple[ApplicationDocument | None, bool]:
        """The application as its home tells of it now, and whether an attempt of it ever began."""
        within_s, as_of_s = self._settings.answer_within_s, self._clock.now_s()
        document = await ask_application(manager, application_id, as_of_s=as_of_s, timeout_s=within_s)
        if document is None:
            return None, False
        attempts = await ask_attempts(manager, application_id, timeout_s=within_s)
        return document, _has_begun(manager.subcluster, document.raw, attempts)

    # -- the move ------------------------------------------------------------------------------------------------------

    async def _deliver_on(self, leaving: SubmissionRecord, target: SubClusterId | None, *, within_s: float) -> str:
        """Kill it at its old home, wait until that says so, and send it on; return what is waited for."""
        application_id, old = leaving.submission.application_id, leaving.home_subcluster
        manager = self._managers[old]
        if target is not None:
            self._show_at(leaving, target)
        until_s = self._clock.monotonic_s() + within_s
        while True:
            asked_s = self._clock.monotonic_s()
            try:
                life = await ask_life(manager, timeout_s=self._settings.answer_within_s)
                if not isinstance(life, Life):
                    return life.reason
                document, began = await self._at_home(manager, application_id)
                if document is not None and not document.summary.state.is_final:
                    await manager.forward(
                        _kill(application_id, leaving.submission.user), timeout_s=self._settings.answer_within_s
                    )
                    document, began = await self._at_home(manager, application_id)
            except ResourceManagerError as exc:
                return f"{old} does not say that it has ended it: {exc}"
            if document is not None and document.summary.state.is_final:
                break
            if document is None:
                return await self._forgotten(leaving, life, asked_s)
            if self._clock.monotonic_s() >= until_s:
                return f"{old} has not ended it yet"
            await self._clock.sleep(self._settings.look_every_s)
        if began or document.summary.state is not YarnApplicationState.KILLED:
            await self._stay(leaving, document)
            return ""
        return await self._send_on(leaving, asked_s)

    async def _forgotten(self, leaving: SubmissionRecord, life: Life, since_s: float) -> str:
        """Its home does not know it: it has restarted without it, or it ended there and is forgotten."""
        if life.started_on_ms == leaving.home_started_on_ms:
            await self._resending.settle_taken(leaving)
            return ""
        if self._resending.is_gone(leaving, life):
            return await self._send_on(leaving, since_s)
        again = replace(
            leaving,
            home_started_on_ms=life.started_on_ms,
            intended_at_ms=int(self._clock.now_s() * 1000),
            decision=replace(leaving.decision, is_left=False),
            intent_id=self._new_intent_id(),
        )
        self._show_at(again, again.home_subcluster)
        return await self._resending.send(again, was=leaving.progress, since_s=since_s, why="its home does not know it")

    async def _stay(self, leaving: SubmissionRecord, document: ApplicationDocument) -> None:
        """It began, or ended by itself, before it could be moved: its home has it."""
        _log.warning("not moved: it had begun", application=str(document.summary.application_id))
        self._view.applications.move(document)
        await self._resending.settle_taken(leaving)

    async def _send_on(self, leaving: SubmissionRecord, since_s: float) -> str:
        old, submission = leaving.home_subcluster, leaving.submission
        decision = await self._homes.agree(submission, excluded={old: "it was ended there, to be moved"})
        home = decision.home_subcluster
        if home is None or decision.refusal is not None:
            return decision.reason
        intent = replace(
            leaving,
            home_subcluster=home,
            home_started_on_ms=self._homes.started_on_ms(home),
            intended_at_ms=int(self._clock.now_s() * 1000),
            decision=decision,
            intent_id=self._new_intent_id(),
        )
        self._show_at(intent, home)
        await self._resending.send(intent, was=leaving.progress, since_s=since_s, why="it was moved on demand")
        return ""  # from here on it is an intent as any other

    def _show_at(self, record: SubmissionRecord, home: SubClusterId) -> None:
        """List it at its new home: that the old one has ended it is no end of it."""
        shown = replace(record, home_subcluster=home)
        self._view.applications.move(
            unplaced_document(shown, f"It is moved from {record.home_subcluster}.", self._clock.now_s())
        )

    @staticmethod
    def _told(record: SubmissionRecord, home: SubClusterId, reason: str, *, is_done: bool) -> Move:
        submission = record.submission
        return Move(submission.application_id, submission.user, record.home_subcluster, home, is_done, reason)


def _has_begun(subcluster: SubClusterId, application: bytes, attempts: bytes) -> bool:
    """True if an attempt of an application ever had a container, by its document and that of its attempts.

    Raises:
        MalformedAnswerError: One of them cannot be read: then nobody knows.
    """
    try:
        about = msgspec.json.decode(application, type=_Begun)
        told = msgspec.json.decode(attempts, type=_AttemptsAnswer).appAttempts
    except UNREADABLE as exc:
        raise MalformedAnswerError(subcluster, f"attempts cannot be read: {exc}") from exc
    found = None if told is None else told.appAttempt
    each = found if isinstance(found, list) else [] if found is None else [found]
    has_container = any(attempt.containerId for attempt in each)
    return has_container or len(each) > 1 or bool(about.amContainerLogs or about.amHostHttpAddress)


def _has_tokens(record: SubmissionRecord) -> bool:
    submission = record.submission
    if submission.content_type == RPC_SUBMISSION:
        return rpc_context.has_tokens_to_cancel(submission.body)
    return submission_context.has_tokens_to_cancel(submission.body, media_type=submission.content_type)


def _kill(application_id: ApplicationId, user: str) -> RestRequest:
    return RestRequest(
        "PUT",
        f"/ws/v1/cluster/apps/{application_id}/state",
        user=user,
        headers=(("Accept", "application/json"), ("Content-Type", "application/json")),
        body=b'{"state":"KILLED"}',
    )
