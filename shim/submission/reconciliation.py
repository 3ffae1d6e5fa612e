"""Reconciliation: what is in the store, compared with what the homes say, until nothing is left open.

INTENDED applications are for `repair`. Of those that were acknowledged and never seen final:

| their home, ACTIVE, says | then |
|---|---|
| final | done with |
| known, and the home restarted since | this life of the home knows it |
| unknown, and the home restarted since | its acknowledgement came before its store had it: submitted to it anew |
| unknown, in the same life | it ended and was forgotten: done with |
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionProgress, SubmissionState, differences
from shim.errors import HeddleError
from shim.federation.core.federation_view import FederationView
from shim.federation.home_questions import HomeKnows, Life, ask_home
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.submission.claims import Claims
from shim.submission.repair import Repair

_log = structlog.get_logger("heddle.reconciliation")


@dataclass(frozen=True, slots=True)
class ReconciliationSettings:
    """Intervals and sizes of comparisons.

    Attributes:
        records_s: Final records are kept this long,
        interval_s: From the end of one look at the INTENDED records to the next.
        sweep_interval_s: The same for the acknowledged ones that were not seen final.
        grace_s: How long the view is given to tell of an application before its home is asked.
        answer_within_s: For one exchange with a home.
        asked_at_once: Most applications that one sweep asks a home for.
    """

    records_s: float
    records: int
    interval_s: float = 1.0
    sweep_interval_s: float = 10.0
    grace_s: float = 6.0
    answer_within_s: float = 2.0
    asked_at_once: int = 200
    purge_interval_s: float = 600.0


@dataclass(slots=True)
class _Findings:
    """Findings of a sweep about acknowledged applications of one home."""

    finals: list[ApplicationId] = field(default_factory=list)
    confirmed: list[ApplicationId] = field(default_factory=list)
    to_ask: list[SubmissionProgress] = field(default_factory=list)
    seen: dict[ApplicationId, ApplicationSummary] = field(default_factory=dict)


class Reconciliation:
    """Looks after what is not finished. `run` does it for ever; each pass may also be called alone."""

    def __init__(
        self,
        *,
        repair: Repair,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        store: StateStore,
        clock: Clock,
        settings: ReconciliationSettings,
        ended: Callable[[ApplicationId, SubClusterId, str, str], None] = lambda *_: None,
    ) -> None:
        """Look after what `repair` mends; `ended` is told of each application that is seen to have ended."""
        self._repair = repair
        self._view = view
        self._managers = managers
        self._store = store
        self._clock = clock
        self._settings = settings
        self._ended = ended
        self._lives: dict[SubClusterId, int] = {}
        self._noticed_s: dict[SubClusterId, float] = {}
        self._claims = Claims(store, view, clock)

    async def run(self) -> None:
        settings = self._settings
        try:
            async with asyncio.TaskGroup() as group:  # if one fails all end, so that all may begin again
                group.create_task(self._repeat(self._repair.begin_round, settings.interval_s))
                group.create_task(self._repeat(self.purge, settings.purge_interval_s))
                for subcluster in self._managers:
                    group.create_task(self._sweep_for_ever(subcluster))
        finally:
            await self._repair.stop()

    async def sweep(self, home: SubClusterId) -> None:
        """Look after the acknowledged applications of a home that is usable by the last poll."""
        now_s = self._clock.now_s()
        if home in self._view.late(now_s):
            return
        life = Life(self._view.look(home, now_s).started_on_ms)
        if self._lives.get(home) != life.started_on_ms:
            self._lives[home], self._noticed_s[home] = life.started_on_ms, now_s
        standings = await self._store.unfinished(home)
        findings = self._compare(home, life, (s for s in standings if s.state is SubmissionState.SUBMITTED))
        if findings.to_ask:
            await self._ask_for(home, findings)
        await self._drop_disputed(findings)
        if findings.finals:
            await self._store.mark_final(findings.finals)
            for application_id in findings.finals:
                self._ended(application_id, home, *self._end_of(application_id))
        if findings.confirmed:
            await self._store.confirm(findings.confirmed, home, life.started_on_ms)

    def _end_of(self, application_id: ApplicationId) -> tuple[str, str]:
        """State and final status, as far as they are known: a home forgets what ended long ago."""
        document = self._view.applications.find(application_id)
        if document is None or not document.summary.state.is_final:
            return "", ""
        return document.summary.state.value, document.summary.final_status.value

    def _compare(self, home: SubClusterId, life: Life, standings: Iterable[SubmissionProgress]) -> _Findings:
        """Sort SUBMITTED applications by what the view tells of them, without asking anybody."""
        findings = _Findings()
        now_s = self._clock.now_s()
        noticed_s = self._noticed_s[home]
        forgotten = self._view.applications.forgotten
        for progress in standings:
            application_id = progress.application_id
            document = self._view.applications.find(application_id)
            is_told = document is not None and not self._view.applications.is_synthetic(application_id)
            same_life = progress.home_started_on_ms == life.started_on_ms
            if document is not None and is_told and document.summary.home_subcluster != home:
                self._view.applications.note_home(application_id, home)  # another Heddle has moved it
                document, is_told = None, False
            if application_id in forgotten:
                findings.to_ask.append(progress)
            elif document is not None and is_told and document.summary.state.is_final:
                findings.finals.append(application_id)
                findings.seen[application_id] = document.summary
            elif document is not None and is_told and (same_life or document.as_of_s > noticed_s):
                if not same_life:
                    findings.confirmed.append(application_id)
                    findings.seen[application_id] = document.summary
            elif now_s - max(noticed_s, progress.intended_at_ms / 1000) >= self._settings.grace_s:
                findings.to_ask.append(progress)
        return findings

    async def _ask_for(self, home: SubClusterId, findings: _Findings) -> None:
        """Ask a home for applications of which the view does not tell enough."""
        asked = findings.to_ask[: self._settings.asked_at_once]
        ids = [progress.application_id for progress in asked]
        within_s = self._settings.answer_within_s
        knows = await ask_home(self._managers[home], ids, timeout_s=within_s, partly=True)
        if not isinstance(knows, HomeKnows):
            return
        for progress in asked:
            if progress.application_id in knows.unanswered:
                continue  # one question that fails does not stop the others
            seen = knows.applications.get(progress.application_id)
            same_life = progress.home_started_on_ms == knows.life.started_on_ms
            if seen is None and same_life:
                _log.info("ended and forgotten by its home", application=str(progress.application_id), home=home)
                findings.finals.append(progress.application_id)
                self._view.applications.withdraw(progress.application_id)
            elif seen is None:
                await self._submit_anew(progress, knows.life)
            else:
                findings.seen[progress.application_id] = seen
                if seen.state.is_final:
                    findings.finals.append(progress.application_id)
                elif not same_life:
                    findings.confirmed.append(progress.application_id)

    async def _drop_disputed(self, findings: _Findings) -> None:
        """Drop findings whose ids belong to other applications at the home: they were never run."""
        submitted = await self._store.described(findings.seen.keys()) if findings.seen else {}
        for application_id, submission in submitted.items():
            seen = findings.seen[application_id]
            if not differences(submission, seen):
                continue
            record = await self._store.find(application_id)
            if record is not None and record.state is SubmissionState.SUBMITTED:
                await self._claims.is_disputed(record, seen)
            for told in (findings.finals, findings.confirmed):
                if application_id in told:
                    told.remove(application_id)

    async def _submit_anew(self, progress: SubmissionProgress, life: Life) -> None:
        """An acknowledged application that the home's new life does not know: its old life had not stored it."""
        _log.warning(
            "lost by its home in a restart: to be submitted anew",
            application=str(progress.application_id),
            home=progress.home_subcluster,
        )
        await self._repair.resending.send_again(progress, life)

    async def purge(self) -> None:
        """Forget the oldest final records."""
        before_ms = int(self._clock.now_s() * 1000) - int(self._settings.records_s * 1000)
        await self._store.purge(final_before_ms=before_ms, keep=self._settings.records)

    async def _sweep_for_ever(self, home: SubClusterId) -> None:
        """Sweep in turn, and at once when the home restarted or lost something."""
        swept_s = float("-inf")
        while True:
            is_urgent = self._has_new_life(home) or home in self._view.applications.forgotten.values()
            is_due = is_urgent or self._clock.monotonic_s() - swept_s >= self._settings.sweep_interval_s
            if is_due and await self._succeeds(self.sweep(home)):
                swept_s = self._clock.monotonic_s()
            await self._clock.sleep(self._settings.interval_s)

    def _has_new_life(self, home: SubClusterId) -> bool:
        return self._view.look(home, self._clock.now_s()).started_on_ms != self._lives.get(home)

    async def _repeat(self, use_case: Callable[[], Awaitable[None]], interval_s: float) -> None:
        while True:
            await self._succeeds(use_case())
            await self._clock.sleep(interval_s)

    async def _succeeds(self, work: Awaitable[None]) -> bool:
        """True if a round came to its end. What a failed one was about stands in the store, for the next."""
        try:
            await work
        except HeddleError as exc:
            _log.warning("repair was interrupted", reason=str(exc))
            return False
        return True
