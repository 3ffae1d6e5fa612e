"""As `test_submission_machine`, but some applications wait their turn first: started once, or ended and never started.

Two Heddles let start what waits in any order, die at any step of it, and clients end what waits at the same time.
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from shim.domain.ids import ApplicationId
from shim.domain.submissions import Submission, SubmissionRecord, SubmissionState
from shim.errors import StoreError
from shim.submission.crash_points import CrashPoint
from tests.doubles.builders import a_submission
from tests.doubles.federation import ScriptedHeddle
from tests.property.test_submission_machine import NAMES, KilledError, KillsAt, SubmissionMachine, sequences, which
from tests.support.examples import examples


class HoldsBackOddOnes:
    """A gate at which every second application waits until somebody says otherwise."""

    def queue_of(self, submission: Submission) -> str:
        return submission.queue

    def enter(self, submission: Submission) -> Submission:
        return submission

    def objection(self, submission: Submission) -> str:
        return "not its turn" if submission.application_id.sequence % 2 else ""

    def note_waiting(self, record: SubmissionRecord) -> None:
        assert record.state is SubmissionState.WAITING


class WaitingMachine(SubmissionMachine):
    """The same world with a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: set[ApplicationId] = set()

    def a_heddle(self, kills: KillsAt) -> ScriptedHeddle:
        heddle: ScriptedHeddle = self.run_within(self.federation.start(kills, HoldsBackOddOnes()))
        heddle.homes.is_turning = True
        return heddle

    @rule(heddle=which)
    def let_start(self, heddle: int) -> None:
        self.run_within(self.start_all(self.heddles[heddle]))
        self.note_answers()

    @rule(heddle=which, point=st.sampled_from(CrashPoint))
    def let_start_and_die(self, heddle: int, point: CrashPoint) -> None:
        self.kills[heddle].point = point
        self.let_start(heddle)
        self.kill_heddle(heddle)

    @rule(sequence=sequences)
    def end_what_waits(self, sequence: int) -> None:
        application_id = a_submission(sequence).application_id
        record = self.run_now(self.store.find(application_id))
        if record is not None and record.state is SubmissionState.WAITING:
            self.run_now(self.store.withdraw(application_id, reason="ended"))
            self.ended.add(application_id)

    @invariant()
    def what_was_ended_never_runs(self) -> None:
        for application_id in self.ended:
            assert not self.federation.who_has(application_id)

    def recover_everything(self) -> None:
        for name in NAMES:  # who waits starts nowhere as long as every sub-cluster is cordoned
            self.cordon(heddle=0, name=name, cordoned=False)
        super().recover_everything()
        for _ in range(3):
            self.run_within(self.start_all(self.heddles[0]))
            self.run_now(self.federation.clock.advance(4.0))
            self.run_within(self.two_rounds())
        assert not self.run_now(self.store.waiting())
        self.acknowledged -= self.ended

    async def start_all(self, heddle: ScriptedHeddle) -> None:
        for standing in await self.store.waiting():
            record = await self.store.find(standing.application_id)
            assert record is not None
            try:
                await heddle.submissions.start(record)
            except (StoreError, KilledError):
                continue


TestWaitingMachine = WaitingMachine.TestCase
TestWaitingMachine.settings = settings(
    max_examples=examples(60),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
