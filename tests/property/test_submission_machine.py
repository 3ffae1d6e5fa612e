"""Any order of submissions, retries, crashes, freezes, restarts, restores, lost answers and locks: exactly once.

The world is scripted, time is held, and hypothesis chooses what happens next. Safety is checked after every step: no
application is ever on two sub-clusters, not even when every frozen request wakes. Liveness is checked at the end: once
everything is healthy again, whatever was acknowledged runs, once; or it is
LOST with a sub-cluster that died for good and was retired; or it was in a store alone that was restored from a copy
without it.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import ConflictError, HeddleError, StoreUnavailableError, UnavailableError
from shim.ports.resource_manager import RestRequest
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.submission.crash_points import CrashPoint
from shim.submission.delivery_attempts import BackOff
from shim.submission.entrance import Accepted
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import (
    ChokesOn,
    FailsWithoutWords,
    IsNeverReached,
    IsPaused,
    IsRecovering,
    IsStandby,
    LosesTheAnswer,
    MisbehavesFor,
    RejectsSubmissions,
)
from tests.doubles.resource_manager import AnswersProperly, Behaviour
from tests.support.examples import examples

TOO_LARGE = "Requested more memory than configured max"
NAMES = ("east", "west", "north")
names = st.sampled_from(NAMES)
sequences = st.integers(1, 5)
which = st.integers(0, 1)


class KilledError(BaseException):
    """The process is gone."""


class KillsAt:
    """Crash points that kill when a step is reached."""

    def __init__(self) -> None:
        self.point: CrashPoint | None = None

    def __call__(self, point: CrashPoint, application_id: ApplicationId) -> None:
        if point is self.point:
            self.point = None
            raise KilledError(f"{application_id} at {point.value}")


def is_submission(request: RestRequest) -> bool:
    return request.method == "POST"


class SubmissionMachine(RuleBasedStateMachine):
    """Two Heddles, one store, three sub-clusters."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = SwitchableStore()
        self.federation = ScriptedFederation(NAMES, store=self.store, history=InMemoryHistoryStore(self.store))
        self.store.now_s = lambda: FEDERATION_TIMESTAMP_MS / 1000
        self.run_now(self.store.begin_epoch([]))  # so that the ids of the submissions are the federation's own
        self.store.now_s = self.federation.clock.now_s
        self.copy: InMemoryStateStore | None = None
        self.paused: dict[str, list[IsPaused]] = {name: [] for name in NAMES}
        self.recovering: list[IsRecovering] = []
        self.dead: set[str] = set()
        self.have_died: set[str] = set()
        self.acknowledged: set[ApplicationId] = set()
        self.has_forgotten = False
        self.flights: list[tuple[int, ApplicationId, asyncio.Task[Any]]] = []
        self.heddles: list[ScriptedHeddle] = []
        self.kills: list[KillsAt] = []

    def run_now(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def run_within(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.run_now(self.federation.wait_for(work))

    @initialize()
    def start(self) -> None:
        for _ in range(2):
            self.kills.append(KillsAt())
            self.heddles.append(self.a_heddle(self.kills[-1]))

    # -- clients

    @rule(sequence=sequences, heddle=which)
    def submit(self, sequence: int, heddle: int) -> None:
        submission = a_submission(sequence)
        work = self.heddles[heddle].submissions.submit(submission)
        self.flights.append((heddle, submission.application_id, self.loop.create_task(work)))
        self.run_now(self.federation.clock.settle())
        self.note_answers()

    @rule(sequence=sequences, heddle=which, point=st.sampled_from(CrashPoint))
    def submit_and_die(self, sequence: int, heddle: int, point: CrashPoint) -> None:
        self.kills[heddle].point = point
        self.submit(sequence, heddle)

    # -- Heddle

    @rule(heddle=which)
    def kill_heddle(self, heddle: int) -> None:
        self.stop(heddle)
        self.heddles[heddle] = self.a_heddle(self.kills[heddle])

    def stop(self, heddle: int) -> None:
        for owner, _, task in self.flights:
            if owner == heddle:
                task.cancel()
        for flight in self.heddles[heddle].submissions._flights.values():
            flight.cancel()
        self.run_now(self.federation.clock.settle())
        self.note_answers()
        self.kills[heddle] = KillsAt()

    @rule(heddle=which)
    def work_in_the_background(self, heddle: int) -> None:
        self.run_within(self.a_round(self.heddles[heddle]))

    @rule()
    def both_work_in_the_background(self) -> None:
        self.run_within(self.two_rounds())

    # -- the store's copies

    @rule()
    def back_up(self) -> None:
        self.copy = self.store.backup()

    @precondition(lambda self: self.copy is not None)
    @rule(says_so=st.booleans())
    def restore(self, *, says_so: bool) -> None:
        """Every Heddle is stopped, an old copy takes the store's place, and Heddles start.

        Whoever restores by other means than `heddle store restore` has every cluster there: then what they list shows
        it. What hangs in sockets of processes that died is taken or gone by then.
        """
        assert self.copy is not None
        for name in NAMES:
            for frozen in self.paused[name]:
                frozen.wake()
            if self.paused[name] and name not in self.dead:
                self.federation[name].behave(AnswersProperly())
            self.paused[name].clear()
        self.run_now(self.federation.clock.settle())
        self.run_now(self.federation.clock.advance(0.5))
        self.note_answers()
        is_whole = all(isinstance(self.federation[name].behaviour, AnswersProperly) for name in NAMES)
        for heddle in range(2):
            self.stop(heddle)
        self.store.restore(self.copy)
        if says_so or not is_whole:
            self.store.note_restored()
        known = self.store.records()
        self.acknowledged = {each for each in self.acknowledged if each in known or self.federation.who_has(each)}
        for heddle in range(2):
            self.heddles[heddle] = self.a_heddle(self.kills[heddle])

    @rule(sequence=sequences, heddle=which)
    def lose_a_submission_whose_home_is_away_and_repeat_it(self, sequence: int, heddle: int) -> None:
        """The copy is from before the submission, and the one cluster that has it cannot say so."""
        self.copy = self.store.backup()
        self.submit(sequence, heddle)
        for name in self.federation.who_has(a_submission(sequence).application_id):
            if self.may_change(name):
                self.federation[name].behave(IsNeverReached())
        self.restore(says_so=True)
        self.submit(sequence, heddle)
        self.both_work_in_the_background()

    # -- ResourceManagers

    def may_change(self, name: str) -> bool:
        """Whether it is neither dead nor frozen."""
        return name not in self.dead and not self.paused[name]

    @rule(name=names, behaviour=st.sampled_from([IsNeverReached, IsRecovering, IsStandby]))
    def behave(self, name: str, behaviour: type[Behaviour]) -> None:
        if self.may_change(name):
            misbehaving = behaviour()
            self.federation[name].behave(misbehaving)
            if isinstance(misbehaving, IsRecovering):
                self.recovering.append(misbehaving)

    @rule()
    def heal(self) -> None:
        for name in NAMES:
            if self.may_change(name):
                self.federation[name].behave(AnswersProperly())

    @rule(name=names)
    def lose_the_next_answer(self, name: str) -> None:
        if self.may_change(name):
            self.federation[name].behave(MisbehavesFor(LosesTheAnswer(), applies=is_submission))

    @rule(sequences=st.frozensets(sequences, min_size=1), questions=st.booleans(), waits=st.booleans())
    def poison(self, sequences: frozenset[int], *, questions: bool, waits: bool) -> None:
        """Every home chokes on some applications, and takes all others."""
        for name in NAMES:
            if not self.may_change(name):
                continue
            behaviour: Behaviour = FailsWithoutWords()
            if waits:
                behaviour = frozen = IsPaused()
                self.paused[name].append(frozen)
            ids = frozenset(a_submission(each).application_id for each in sequences)
            self.federation[name].behave(ChokesOn(ids, behaviour, questions=questions))

    @rule(sequence=sequences, heddle=which, point=st.sampled_from([None, *CrashPoint]))
    def rehome(self, sequence: int, heddle: int, point: CrashPoint | None) -> None:
        """Its owner has it moved; the process may die on the way."""
        application_id = a_submission(sequence).application_id
        self.kills[heddle].point = point
        with suppress(HeddleError, KilledError, TimeoutError):
            self.run_within(self.heddles[heddle].repair.rehoming.rehome(application_id))
        self.kills[heddle].point = None

    @rule(sequence=sequences)
    def begin(self, sequence: int) -> None:
        """Its ApplicationMaster starts, wherever it waits."""
        application_id = a_submission(sequence).application_id
        for name in self.lives_at(application_id):
            self.federation[name].begun.add(application_id)

    @rule(name=names)
    def grant_less(self, name: str) -> None:
        """It refuses what it would have taken before; what it has runs on."""
        if self.may_change(name):
            self.federation[name].behave(RejectsSubmissions(TOO_LARGE))

    @rule(heddle=which)
    def work_for_a_minute(self, heddle: int) -> None:
        """Long enough to give up what provably runs nowhere."""
        for _ in range(12):
            self.run_now(self.federation.clock.advance(5.0))
            self.run_within(self.a_round(self.heddles[heddle]))
        self.note_answers()

    @rule(name=names)
    def pause(self, name: str) -> None:
        """Freeze the whole process."""
        if name in self.dead:
            return
        frozen = IsPaused()
        self.paused[name].append(frozen)
        self.federation[name].behave(frozen)

    @rule(sequence=sequences, heddle=which)
    def submit_and_hang(self, sequence: int, heddle: int) -> None:
        """Whichever home is chosen, one thread of it freezes: it answers questions while the submission hangs."""
        for name in set(NAMES) - self.dead:
            frozen = IsPaused()
            self.paused[name].append(frozen)
            self.federation[name].behave(MisbehavesFor(frozen, times=1, applies=is_submission))
        self.submit(sequence, heddle)

    @precondition(lambda self: any(self.paused.values()))
    @rule(name=names)
    def wake(self, name: str) -> None:
        for frozen in self.paused[name]:
            frozen.wake()
        self.paused[name].clear()
        if name not in self.dead:
            self.federation[name].behave(AnswersProperly())

    @rule(name=names, forgets=st.booleans())
    def restart(self, name: str, *, forgets: bool) -> None:
        if name not in self.dead:
            self.end_process(name)
            self.federation[name].behave(AnswersProperly())
            if forgets:
                self.lose_adopted(name)
                self.has_forgotten = True
            self.federation[name].restart(forgets=forgets)

    @precondition(lambda self: len(self.dead) < len(NAMES) - 1)
    @rule(name=names)
    def die_for_good(self, name: str) -> None:
        """Its machines are gone, with all that ran there."""
        if name not in self.dead:
            self.end_process(name)
            self.lose_adopted(name)
            self.federation[name].restart(forgets=True)
            self.federation[name].applications.clear()
            self.federation[name].behave(IsNeverReached())
            self.dead.add(name)
            self.have_died.add(name)

    @precondition(lambda self: self.dead)
    @rule(heddle=which)
    def retire(self, heddle: int) -> None:
        for name in sorted(self.dead):
            self.run_within(self.heddles[heddle].retirement.retire(SubClusterId(name), by="root"))

    @precondition(lambda self: self.dead)
    @rule(heddle=which)
    def come_back_empty(self, heddle: int) -> None:
        """New machines under the old name: let in if it was retired, and else like any restart that forgets."""
        name = min(self.dead)
        self.dead.discard(name)
        self.federation[name].behave(AnswersProperly())
        self.federation[name].restart(forgets=True)
        with suppress(ConflictError):  # it was not retired
            self.run_within(self.heddles[heddle].retirement.revive(SubClusterId(name), by="root"))

    def lose_adopted(self, name: str) -> None:
        """What a cluster forgets and only it knew is gone: the store lost its context in a restore."""
        known = self.store.records()
        self.acknowledged -= {each for each in self.federation[name].applications if each not in known}

    def end_process(self, name: str) -> None:
        for frozen in self.paused[name]:
            frozen._waiting.clear()  # what waited in the old process's sockets died with it
        self.paused[name].clear()

    # -- the rest of the world

    @rule(duration_s=st.sampled_from([0.5, 2.0, 4.0, 15.0]))
    def let_time_pass(self, duration_s: float) -> None:
        self.run_now(self.federation.clock.advance(duration_s))
        self.note_answers()

    @rule(sequence=sequences, heddle=which)
    def submit_and_work_while_the_store_is_locked(self, sequence: int, heddle: int) -> None:
        self.store.writes_fail = True
        self.submit(sequence, heddle)
        self.both_work_in_the_background()
        self.store.writes_fail = False

    @rule(name=names, heddle=which, cordoned=st.booleans())
    def cordon(self, name: str, heddle: int, *, cordoned: bool) -> None:
        administration = self.heddles[heddle].administration
        word = administration.cordon if cordoned else administration.undrain
        with suppress(ConflictError):  # it is retired
            self.run_now(word(SubClusterId(name), by="root"))

    # -- what must hold

    def lives_at(self, application_id: ApplicationId) -> list[SubClusterId]:
        """Where it runs, or waits to: a home that has ended it still knows it."""
        return [
            name
            for name in self.federation.who_has(application_id)
            if self.federation[name].applications[application_id]["state"] != "KILLED"
        ]

    def was_killed(self, application_id: ApplicationId) -> bool:
        """Whether it began in the moment of its move: then it has ended with the kill."""
        return any(
            application_id in self.federation[name].begun
            and self.federation[name].applications.get(application_id, {}).get("state") == "KILLED"
            for name in NAMES
        )

    @invariant()
    def never_on_two_homes(self) -> None:
        for sequence in range(1, 6):
            application_id = a_submission(sequence).application_id
            homes = set(self.lives_at(application_id))
            begun = [name for name in NAMES if application_id in self.federation[name].begun]
            assert len(begun) <= 1 or self.have_died or self.has_forgotten, f"{application_id} began at {begun}"
            for name, frozen in ((name, one) for name, many in self.paused.items() for one in many):
                for _, request in frozen._waiting:
                    if is_submission(request) and str(application_id).encode() in request.body:
                        homes.add(SubClusterId(name))
            assert len(homes) <= 1, f"{application_id} is on, or will wake on, {sorted(homes)}"
            assert not homes or not self.is_given_up(application_id), f"{application_id} runs, and was given up"

    @invariant()
    def never_harm_one_that_recovers_knowingly(self) -> None:
        """A first send may meet one that restarted since its last poll; a repair asks first, so it never does."""
        for recovering in self.recovering:
            seen = [request.body for request in recovering.harmful]
            assert len(seen) == len(set(seen)), "sent again to one that recovers"

    def teardown(self) -> None:
        try:
            if self.heddles:
                self.recover_everything()
                for application_id in self.acknowledged:
                    is_ended = self.is_lost(application_id) or self.is_given_up(application_id)
                    expected = 0 if is_ended or self.was_killed(application_id) else 1
                    assert len(self.lives_at(application_id)) == expected, f"{application_id} was lost"
                self.never_on_two_homes()
                assert not self.run_now(self.store.intended())
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.run_now(self.federation.clock.settle())
            self.loop.close()

    def is_given_up(self, application_id: ApplicationId) -> bool:
        """Whether clients are told that no home took it."""
        record = self.run_now(self.store.find(application_id))
        return record is not None and (record.rejection.startswith("given up") or TOO_LARGE in record.rejection)

    def is_lost(self, application_id: ApplicationId) -> bool:
        """Whether clients are told that it went down with its home."""
        record = self.run_now(self.store.find(application_id))
        if record is None:  # adopted: the store lost it in a restore, and a cluster has it
            return False
        is_lost = record.state is SubmissionState.LOST
        assert not is_lost or record.home_subcluster in self.have_died, f"{application_id} was given up without need"
        return is_lost

    def recover_everything(self) -> None:
        for name in set(NAMES) - self.dead:
            self.wake(name)
            self.federation[name].behave(AnswersProperly())
            self.cordon(name, 0, cordoned=False)  # what the dead leave behind needs a home
        if self.dead:
            self.retire(0)
        self.run_now(self.federation.clock.advance(20.0))
        self.note_answers()
        for _ in range(6):
            self.run_now(self.federation.clock.advance(4.0))
            self.run_within(self.two_rounds())

    # -- how

    def a_heddle(self, kills: KillsAt) -> ScriptedHeddle:
        heddle: ScriptedHeddle = self.run_within(self.federation.start(kills))
        heddle.homes.is_turning = True
        heddle.submissions.attempts.back_off = BackOff(
            first_pause_s=1.0, longest_pause_s=8.0, give_up_after=3, give_up_s=20.0
        )
        return heddle

    async def a_round(self, heddle: ScriptedHeddle) -> None:
        try:
            await heddle.poll()
            await heddle.administration.refresh()
            assert heddle.lost_time is not None
            await heddle.lost_time.round()
            await heddle.repair.repair_all()
            for name in NAMES:
                await heddle.reconciliation.sweep(SubClusterId(name))
            await heddle.retirement.round()
        except (StoreUnavailableError, UnavailableError):
            assert self.store.writes_fail
        except KilledError:
            return

    async def two_rounds(self) -> None:
        await asyncio.gather(*(self.a_round(heddle) for heddle in self.heddles))

    def note_answers(self) -> None:
        """What clients have heard by now."""
        for _, application_id, task in [flight for flight in self.flights if flight[2].done()]:
            if task.cancelled():
                continue
            match task.exception():
                case None if isinstance(task.result(), Accepted):
                    self.acknowledged.add(application_id)
                case None | KilledError() | UnavailableError():
                    pass
                case ConflictError() as exc:
                    raise AssertionError("the same submission was taken for another") from exc
                case exc:
                    raise AssertionError(f"unexpected: {exc!r}") from exc
        self.flights = [flight for flight in self.flights if not flight[2].done()]


TestSubmissionMachine = SubmissionMachine.TestCase
TestSubmissionMachine.settings = settings(
    max_examples=examples(100),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_a_repetition_is_not_acknowledged_by_what_a_home_had_before_it_died() -> None:
    """A draw of the machine: the store has lost the record, and the view still lists the application at its home."""
    machine = SubmissionMachine()
    machine.start()
    machine.lose_a_submission_whose_home_is_away_and_repeat_it(heddle=0, sequence=4)
    machine.heal()
    machine.both_work_in_the_background()
    machine.die_for_good("east")
    machine.submit(heddle=0, sequence=4)
    machine.teardown()


def test_a_repetition_runs_anew_where_its_home_came_back_without_it() -> None:
    machine = SubmissionMachine()
    machine.start()
    machine.lose_a_submission_whose_home_is_away_and_repeat_it(heddle=0, sequence=4)
    machine.heal()
    machine.both_work_in_the_background()
    machine.die_for_good("east")
    machine.come_back_empty(heddle=0)
    machine.submit(heddle=0, sequence=4)
    machine.teardown()
