"""Whatever queues want and whenever what runs ends: nothing is taken that should not be, nothing is held back for ever.

The model: clusters that grant what fits, attempts whose asks are passed on as far as they may be, and reports that are
exact while they come. The divider is the plain-Python twin of weighted max-min fairness.
"""

from collections import deque
from dataclasses import dataclass, field

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionAct,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
    WaitingWork,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption import Preemption
from shim.queues.core.preemption_effects import CapDemand, Remind, Step
from shim.queues.core.preemption_memory import memory_of
from shim.queues.core.preemption_sizes import lacking
from tests.support.examples import examples

CLUSTERS = (SubClusterId("east"), SubClusterId("west"))
SLOTS = 8
UNIT = ResourceVector(1024, 1)
CAPACITY = ResourceVector(1024 * SLOTS * len(CLUSTERS), 0)  # there are more virtual cores than anybody wants
WEIGHTS = {"root.prod": 3.0, "root.dev": 1.0, "root.lab": 1.0}
TAKEABLE = {"root.dev", "root.lab"}
BUDGET = 6
PATIENCE = PreemptionSettings(preempt_after_s=4, preempt_grace_s=6, settle_s=2, idle_s=20)
NEXT = {
    None: {PreemptionStage.ASKED},
    PreemptionStage.ASKED: {PreemptionStage.DEMANDED, PreemptionStage.SPARED},
    PreemptionStage.DEMANDED: {PreemptionStage.RELEASED, PreemptionStage.SPARED},
    PreemptionStage.SPARED: {PreemptionStage.ASKED},
    PreemptionStage.RELEASED: set(),
}


def mib(slots):
    return ResourceVector(round(1024 * slots), 0)


@dataclass
class Attempt:
    """One of each queue in each cluster.

    Attributes:
        may_ask: How many containers may be asked for; None for all.
    """

    id: ApplicationAttemptId
    queue: str
    cluster: SubClusterId
    wanted: int = 0
    may_ask: int | None = None
    held: dict[ContainerId, float] = field(default_factory=dict)
    number: int = 0

    @property
    def asked(self):
        return self.wanted if self.may_ask is None else min(self.wanted, self.may_ask)


def divide(demands):
    """Weighted max-min fairness, one resource, by filling up."""
    entitled, left, open_ = dict.fromkeys(demands, 0.0), float(SLOTS * len(CLUSTERS)), set(demands)
    while open_ and left > 1e-9:
        weight = sum(WEIGHTS[queue] for queue in open_)
        step = min(left / weight, *((demands[queue] - entitled[queue]) / WEIGHTS[queue] for queue in open_))
        for queue in open_:
            entitled[queue] += step * WEIGHTS[queue]
        left -= step * weight
        open_ = {queue for queue in open_ if demands[queue] - entitled[queue] > 1e-9}
    return entitled


class GivingBack(RuleBasedStateMachine):
    """The core between reports and attempts."""

    @initialize(spans=st.booleans())
    def start(self, spans):
        """Where `prod` spans, what it asks for on one cluster moves to another one that has room for it."""
        self.spans = spans
        self.core = Preemption(PATIENCE)
        self.at_s = 1000.0
        self.attempts = {}
        for place, cluster in enumerate(CLUSTERS):
            for number, queue in enumerate(WEIGHTS):
                id_ = ApplicationAttemptId(ApplicationId(1, 1 + number + 10 * place), 1)
                self.attempts[id_] = Attempt(id_, queue, cluster)
        self.stages = {}
        self.acts = []
        self.began_s = {}
        self.told = {}
        self.dies_at = None
        self.asked_s = {queue: deque() for queue in WEIGHTS}
        self.owed_since = {}

    # ------------------------------------------------------------ what happens

    @rule(queue=st.sampled_from(sorted(WEIGHTS)), cluster=st.sampled_from(CLUSTERS), count=st.integers(1, 12))
    def wants(self, queue, cluster, count):
        self._attempt(queue, cluster).wanted += count

    @rule(queue=st.sampled_from(sorted(WEIGHTS)), cluster=st.sampled_from(CLUSTERS))
    def wants_no_more(self, queue, cluster):
        self._attempt(queue, cluster).wanted = 0

    @rule(pick=st.integers(0, 99))
    def one_ends(self, pick):
        held = [(attempt, name) for attempt in self.attempts.values() for name in attempt.held]
        if held:
            attempt, name = held[pick % len(held)]
            del attempt.held[name]

    @rule(seconds=st.sampled_from([1, 2, 5]), times=st.integers(1, 6), is_granting=st.booleans())
    def time_passes(self, seconds, times, is_granting):
        for _ in range(times):
            if is_granting:
                self._grant()
            self._look(seconds)

    @rule(seconds=st.sampled_from([1, 20]))
    def nobody_tells(self, seconds):
        self._look(seconds, is_fresh=False)

    @rule(
        borrower=st.sampled_from(sorted(TAKEABLE)),
        cluster=st.sampled_from(CLUSTERS),
        script=st.lists(st.sampled_from(["", "", "", "", "", "restart", "die", "ends"]), min_size=4, max_size=24),
    )
    def somebody_wants_its_share_back(self, borrower, cluster, script):
        """Rules drawn one by one seldom get that far: somebody borrows everything, and then another queue wants some.

        Second by second, and nobody gets anything meanwhile.
        """
        for each in CLUSTERS:
            self._attempt(borrower, each).wanted += SLOTS
        self._grant()
        self._attempt("root.prod", cluster).wanted += SLOTS
        for number, step in enumerate(script):
            match step:
                case "restart":
                    self.heddle_restarts()
                case "die":
                    self.heddle_dies_in_its_next_look(number % 3)
                case "ends":
                    self.one_ends(number)
            self._look(1)

    @rule(after=st.integers(0, 3))
    def heddle_dies_in_its_next_look(self, after):
        """Its acts are kept before they are carried out, and only some are carried out."""
        self.dies_at = after

    @rule()
    def heddle_restarts(self):
        """Of what was begun the acts are left; schedulers and attempts know of nothing but what was carried out."""
        self.core = Preemption(PATIENCE)
        lately = [act for act in self.acts if act.at_ms >= (self.at_s - 60) * 1000]
        self.core.recall(memory_of(self.acts, lately), self.at_s)
        self.told = {}
        for attempt in self.attempts.values():
            attempt.may_ask = None

    # ------------------------------------------------------------ the model

    def _attempt(self, queue, cluster):
        return next(each for each in self.attempts.values() if (each.queue, each.cluster) == (queue, cluster))

    def _free(self, cluster):
        return SLOTS - sum(len(each.held) for each in self.attempts.values() if each.cluster == cluster)

    def _grant(self):
        """Each cluster gives what is free to whoever holds least there."""
        for cluster, other in (CLUSTERS, CLUSTERS[::-1]) if self.spans else ():
            here, there = self._attempt("root.prod", cluster), self._attempt("root.prod", other)
            moved = max(0, min(here.wanted - max(0, self._free(cluster)), self._free(other) - there.wanted))
            here.wanted -= moved
            there.wanted += moved
        for cluster in CLUSTERS:
            while self._free(cluster) > 0:
                asking = [each for each in self.attempts.values() if each.cluster == cluster and each.asked > 0]
                if not asking:
                    break
                lucky = min(asking, key=lambda each: (len(each.held), each.id))
                lucky.wanted -= 1
                if lucky.may_ask is not None:
                    lucky.may_ask -= 1
                lucky.number += 1
                lucky.held[ContainerId(lucky.id, lucky.number)] = self.at_s

    def _used(self, queue):
        return sum(len(each.held) for each in self.attempts.values() if each.queue == queue)

    def _snapshot(self, *, is_fresh=True):
        demands = {
            queue: self._used(queue) + sum(each.wanted for each in self.attempts.values() if each.queue == queue)
            for queue in WEIGHTS
        }
        entitled = divide(demands)
        is_scarce = sum(demands.values()) > SLOTS * len(CLUSTERS)
        queues = tuple(
            QueueShare(
                queue,
                mib(entitled[queue]),
                mib(self._used(queue)),
                self._waiting(queue),
                queue in TAKEABLE,
                BUDGET,
            )
            for queue in WEIGHTS
        )
        containers = tuple(
            HeldContainer(name, each.queue, each.cluster, NodeId(each.cluster, 1), UNIT, since_s)
            for each in self.attempts.values()
            for name, since_s in each.held.items()
        )
        attempts = tuple(
            AskingAttempt(
                each.id,
                each.queue,
                ResourceVector(1024 * each.wanted, each.wanted),
                frozenset(CLUSTERS if self._spans(each.queue) else {each.cluster}),
            )
            for each in self.attempts.values()
        )
        as_of_s = dict.fromkeys(CLUSTERS, self.at_s + 0.001)
        capacity = CAPACITY if is_scarce else ResourceVector()
        return ShareSnapshot(self.at_s, capacity, queues, containers, attempts, as_of_s, is_fresh)

    def _spans(self, queue):
        return self.spans and queue == "root.prod"

    def _waiting(self, queue):
        asked = {each.cluster: each.asked for each in self.attempts.values() if each.queue == queue}
        is_anywhere = self._spans(queue) and any(asked.values())
        return {
            cluster: WaitingWork(
                UNIT,
                count,
                max(0, self._free(cluster)),
                {other: count for other in CLUSTERS if other != cluster and count and self._spans(queue)},
            )
            for cluster, count in asked.items()
            if count or is_anywhere
        }

    def _look(self, seconds, *, is_fresh=True):
        self.at_s += seconds
        now = self._snapshot(is_fresh=is_fresh)
        self._watch_owed(now)
        effects = self.core.handle(now)
        for effect in effects:
            if isinstance(effect, CapDemand):
                self._note_restrained(effect)
            else:
                assert is_fresh, "on stale data"
                self._check(effect, now)
        self._check_entitlements(now, effects)
        self._check_told(effects, now)
        left, self.dies_at = effects if self.dies_at is None else effects[: self.dies_at], None
        for effect in left:
            self._carry_out(effect)
        if len(left) < len(effects):
            self.heddle_restarts()

    def _check_told(self, effects, now):
        """Whoever has a container that is on its way back is told of the stage, also after a restart."""
        news = {each.container.id: each.stage for each in effects if isinstance(each, Step | Remind)}
        known = self.told | news
        for name, stage in self.core.victims.items():
            if now.is_fresh and name in {each.id for each in now.containers}:
                assert known.get(name) is stage, f"{name} is {stage}, and its attempt was told {known.get(name)}"

    def _note_restrained(self, effect):
        application, is_free = effect.attempt.application, effect.amount is None
        is_news = bool(effect.reason)
        told = [act for act in self.acts if act.application == application and act.container is None]
        is_held_back = bool(told) and told[-1].stage is PreemptionStage.HELD_BACK
        assert is_news == (is_held_back == is_free), "said twice, or not at all"
        if is_news:
            stage = None if is_free else PreemptionStage.HELD_BACK
            queue = self.attempts[effect.attempt].queue
            self.acts.append(PreemptionAct(int(self.at_s * 1000), application, queue, stage, effect.reason))

    def _carry_out(self, effect):
        match effect:
            case CapDemand(attempt, amount, _):
                allowed = None if amount is None else int(amount.memory_mib / 1024 + 0.499)
                self.attempts[attempt].may_ask = allowed
            case Step(held, stage) | Remind(held, stage):
                self.told[held.id] = stage
                if stage is PreemptionStage.RELEASED:
                    for attempt in self.attempts.values():
                        attempt.held.pop(held.id, None)

    def _watch_owed(self, now):
        owed = {queue.path for queue in now.queues if self._is_owed(queue)}
        self.owed_since = {queue: self.owed_since.get(queue, now.at_s) for queue in owed}

    @staticmethod
    def _is_owed(queue):
        return queue.waiting and queue.entitled.memory_mib - queue.used.memory_mib > 512

    def _check(self, step, now):
        name, queue = step.container.id, step.container.queue
        if isinstance(step, Remind):
            assert step.stage is self.stages[name], "it was further, or not so far"
            return
        at_ms = int(now.at_s * 1000)
        self.acts.append(
            PreemptionAct(at_ms, name.attempt.application, queue, step.stage, "", name, None, step.taker, step.room)
        )
        assert not name.is_first, "an ApplicationMaster's own container"
        assert queue in TAKEABLE
        assert step.stage in NEXT[self.stages.get(name)], f"{self.stages.get(name)} and then {step.stage}"
        self.stages[name] = step.stage
        if step.stage is PreemptionStage.ASKED:
            assert step.taker != queue
            assert step.taker in self.owed_since, "nobody entitled waits"
            asked = self.asked_s[queue]
            asked.append(now.at_s)
            assert sum(at_s > now.at_s - 60 for at_s in asked) <= BUDGET
            self.began_s[name] = now.at_s
        if step.stage in (PreemptionStage.DEMANDED, PreemptionStage.RELEASED):
            of_grace = 0.5 if step.stage is PreemptionStage.DEMANDED else 1
            assert now.at_s - self.began_s[name] >= of_grace * PATIENCE.preempt_grace_s

    def _check_entitlements(self, now, effects):
        """What is asked back leaves each queue what it is entitled to.

        A release is final, also where Heddle died before it was carried out and others of the queue ended meanwhile:
        nobody can tell whether the scheduler has heard of it.
        """
        leaving, is_open = dict.fromkeys(WEIGHTS, 0), dict.fromkeys(WEIGHTS, False)
        held = {each.id: each for each in now.containers}
        just_now = {each.container.id for each in effects if isinstance(each, Step)}
        for name, stage in self.core.victims.items():
            if name in held and stage is not PreemptionStage.SPARED:
                leaving[held[name].queue] += 1024
                is_open[held[name].queue] |= stage is not PreemptionStage.RELEASED or name in just_now
        if now.is_fresh:
            for queue in now.queues:
                left = queue.used.memory_mib - leaving[queue.path]
                assert not is_open[queue.path] or left >= queue.entitled.memory_mib - 1, queue.path

    # ------------------------------------------------------------ what must come to hold

    def teardown(self):
        if not hasattr(self, "core"):
            return
        for _ in range(120):
            self._grant()
            self._look(2)
        now = self._snapshot()
        for queue in now.queues:
            if self._is_owed(queue) and now.capacity.memory_mib:
                self._nothing_could_be_taken(queue, now)
        for attempt in self.attempts.values():
            if attempt.queue != "root.dev":  # the others have done what they wanted
                attempt.wanted = 0
                attempt.held.clear()
        for _ in range(3):
            self._look(2)
            self._grant()
        held_back = [each for each in self.attempts.values() if each.wanted and each.may_ask is not None]
        assert not held_back, "held back for nobody"

    def _nothing_could_be_taken(self, queue, now):
        shares = {each.path: each for each in now.queues}
        lacks = lacking(queue, now.capacity, {})
        places = {place for name in lacks for place in (name, *queue.waiting[name].elsewhere)}
        could = [
            each.id
            for each in now.containers
            if each.subcluster in places
            and each.queue in TAKEABLE - {queue.path}
            and not each.id.is_first
            and shares[each.queue].used.memory_mib - 1024 >= shares[each.queue].entitled.memory_mib
        ]
        assert not could, f"{queue.path} still waits for its share"


def test_what_was_released_before_a_restart_is_released_though_its_queue_needs_it_by_now():
    """Found by the rules above."""
    state = GivingBack()
    state.start(spans=True)
    state.wants(cluster="west", count=7, queue="root.prod")
    state.somebody_wants_its_share_back(borrower="root.dev", cluster="west", script=["", "", "", "ends"])
    state.one_ends(pick=0)
    for borrower, script in (("root.lab", [""] * 4), ("root.dev", [""] * 4), ("root.dev", ["", "", "", "die", "ends"])):
        state.somebody_wants_its_share_back(borrower=borrower, cluster="east", script=script)
    state.teardown()


TestGivingBack = GivingBack.TestCase
TestGivingBack.settings = settings(
    max_examples=examples(30),
    stateful_step_count=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)
