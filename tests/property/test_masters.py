"""The masters under a hostile network: what must hold always (safety), in the end (liveness), and again (replay)."""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.ids import GlobalMasterId
from shim.domain.messages import EndingKind, TaskRef
from shim.domain.resources import Need
from shim.scheduling.global_master import events as gm_events
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.local_master.events import NodeChanged, NodeSpec
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.policies import HEDDLE, MEGHA
from tests.doubles.masters import Federation
from tests.support.examples import examples

GLOBAL_MASTERS = ("ga", "gb")
NODES = (
    NodeSpec((4, 4)),
    NodeSpec((4, 4), frozenset({"label:gpu"})),
    NodeSpec((8, 2), frozenset({"label:gpu", "rack:r1"})),
    NodeSpec((2, 8), frozenset({"rack:r1"})),
)
NEEDS = (
    Need((1, 1)),
    Need((2, 1)),
    Need((4, 2)),
    Need((1, 1), frozenset({"label:gpu"})),
    Need((1, 2), frozenset({"rack:r1"}), frozenset({"label:gpu"})),
    Need((1, 1), frozenset({"label:gpu", "rack:r1"})),
)
"""Each fits on some empty node of each cluster."""


class HostileNetwork(RuleBasedStateMachine):
    """Two Global and two Local Masters; letters are lost, doubled, delayed and reordered; masters and nodes die."""

    policy = HEDDLE

    @initialize(seed=st.integers(0, 2**16))
    def start(self, seed):
        self.federation = Federation(self.policy, n_resources=2, seed=seed)
        self.jobs = {name: {} for name in GLOBAL_MASTERS}
        self.lost_nodes = []
        for name in ("la", "lb"):
            self.federation.add_local_master(name, NODES, GLOBAL_MASTERS)
        for name in GLOBAL_MASTERS:
            self.federation.start_global_master(name)
        self.n_jobs = 0
        self.unfilled = set()

    @rule(
        to=st.sampled_from(GLOBAL_MASTERS),
        need=st.sampled_from(NEEDS),
        n_tasks=st.integers(1, 6),
        priority=st.integers(0, 2),
        is_gang=st.booleans(),
    )
    def submit(self, to, need, n_tasks, priority, is_gang):
        self.n_jobs += 1
        is_gang = is_gang and n_tasks <= 2
        groups = (gm_events.TaskGroup(need, tuple(range(n_tasks))),)
        job = gm_events.JobRequest(f"job{self.n_jobs}", groups, priority=priority, is_gang=is_gang)
        self.jobs[to][job.job] = job
        if to not in self.unfilled:
            self.federation.tell_global_master(to, gm_events.JobSubmitted(self.federation.now_s, job))

    @precondition(lambda self: self.federation.letters)
    @rule(data=st.data())
    def deliver_some_letter(self, data):
        self.federation.deliver(data.draw(st.integers(0, len(self.federation.letters) - 1)))
        self._resubmit()

    @precondition(lambda self: self.federation.letters)
    @rule(count=st.integers(1, 12))
    def deliver_in_order(self, count):
        for _ in range(min(count, len(self.federation.letters))):
            self.federation.deliver()
        self._resubmit()

    @precondition(lambda self: self.federation.letters)
    @rule(data=st.data())
    def lose_a_letter(self, data):
        del self.federation.letters[data.draw(st.integers(0, len(self.federation.letters) - 1))]

    @precondition(lambda self: self.federation.letters)
    @rule(data=st.data())
    def double_a_letter(self, data):
        letters = self.federation.letters
        letters.append(letters[data.draw(st.integers(0, len(letters) - 1))])

    @precondition(lambda self: self.federation.running)
    @rule(data=st.data())
    def end_a_task(self, data):
        self.federation.end_task(data.draw(st.integers(0, len(self.federation.running) - 1)))

    @rule(seconds=st.sampled_from((0.5, 3.0, 10.0)))
    def let_time_pass(self, seconds):
        self.federation.tick(seconds)

    @rule(where=st.sampled_from(("la", "lb")), node=st.integers(0, len(NODES) - 1))
    def lose_a_node(self, where, node):
        self.federation.lose_node(where, node)
        self.lost_nodes.append((where, node))

    @precondition(lambda self: self.lost_nodes)
    @rule()
    def bring_nodes_back(self):
        self._bring_nodes_back()

    @rule(name=st.sampled_from(GLOBAL_MASTERS))
    def kill_a_global_master(self, name):
        self.federation.start_global_master(name)
        self.unfilled.add(name)

    def _bring_nodes_back(self):
        for where, node in self.lost_nodes:
            self.federation.tell_local_master(where, NodeChanged(self.federation.now_s, node, NODES[node]))
        self.lost_nodes.clear()

    def _resubmit(self):
        """A new life knows what runs once it is filled; then submitters ask again for what neither runs nor is done."""
        for name in sorted(self.unfilled):
            master = self.federation.global_masters[name]
            if not master.is_filled:
                continue
            self.unfilled.discard(name)
            kept = {launch.task for launch in master.adopted.values()} | self.federation.finished
            for job in self.jobs[name].values():
                groups = tuple(
                    gm_events.TaskGroup(group.need, tuple(i for i in group.indices if TaskRef(job.job, i) not in kept))
                    for group in job.groups
                )
                if any(group.indices for group in groups):
                    left = gm_events.JobRequest(job.job, groups, priority=job.priority, is_gang=job.is_gang)
                    self.federation.tell_global_master(name, gm_events.JobSubmitted(self.federation.now_s, left))

    @invariant()
    def nobody_gives_out_what_is_taken(self):
        if hasattr(self, "federation"):
            self.federation.check()

    def teardown(self):
        if not hasattr(self, "federation"):
            return
        self._bring_nodes_back()
        federation = self.federation
        for _ in range(60):
            federation.deliver_all()
            self._resubmit()
            while federation.running:
                federation.end_task()
            federation.tick(6.0)
            federation.deliver_all()
        federation.check()
        self._everything_ran()
        self._views_are_true()
        _replay(federation)

    def _everything_ran(self):
        wanted = {
            TaskRef(job.job, index)
            for jobs in self.jobs.values()
            for job in jobs.values()
            for group in job.groups
            for index in group.indices
        }
        lost = {task for task in wanted - self.federation.finished if not self._lost_with_its_master(task)}
        assert not lost, f"never ran although nothing was in the way any more: {sorted(map(str, lost))[:3]}"

    def _lost_with_its_master(self, task):
        """A task that ran under an earlier life and was lost with its node is its submitter's to ask for again."""
        return self.federation.ended_otherwise(task, EndingKind.LOST)

    def _views_are_true(self):
        """After heartbeats a view says of every node what its Local Master says; so does that of a new life."""
        for name in GLOBAL_MASTERS:
            _assert_view_is_true(self.federation, name)
            self.federation.start_global_master(name)
            self.federation.deliver_all()
            _assert_view_is_true(self.federation, name)


def _assert_view_is_true(federation, name):
    view = federation.global_masters[name].view
    for where, local_master in federation.local_masters.items():
        for node in range(len(local_master.truth)):
            row = view.row_of(where, node)
            assert view.free_of(row) == local_master.truth.free_of(node)
            assert view.properties_of(row) == local_master.truth.properties[node]
            assert view.cells[view.cell_of(row)].owner == local_master.truth.owners[node]


def _replay(federation):
    """The same events give the same effects in fresh masters."""
    lives = dict.fromkeys(federation.global_masters, 0)
    masters = {}
    for name, event, effects in federation.log:
        if isinstance(event, gm_events.LocalMastersFound):
            lives[name] += 1
            masters[name] = GlobalMaster(
                GlobalMasterId(name),
                federation.policy,
                n_resources=federation.n_resources,
                rng=random.Random(f"{federation.seed}/{name}/{lives[name]}"),  # noqa: S311 - repeatable
                incarnation=lives[name],
            )
        elif name not in masters:
            masters[name] = LocalMaster(
                name, NODES, GLOBAL_MASTERS, n_resources=2, commitment=federation.policy.commitment
            )
        assert masters[name].handle(event) == effects


class HostileNetworkMegha(HostileNetwork):
    policy = MEGHA


SETTINGS = settings(
    max_examples=examples(30), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)

TestHeddle = HostileNetwork.TestCase
TestHeddle.settings = SETTINGS
TestMegha = HostileNetworkMegha.TestCase
TestMegha.settings = SETTINGS


@pytest.mark.parametrize("recipe", [HEDDLE, MEGHA], ids=lambda recipe: recipe.name)
def test_a_quiet_federation_runs_a_job_to_its_end(recipe):
    federation = Federation(recipe, n_resources=2)
    federation.add_local_master("la", NODES, GLOBAL_MASTERS)
    for name in GLOBAL_MASTERS:
        federation.start_global_master(name)
    federation.deliver_all()
    job = gm_events.JobRequest("job", (gm_events.TaskGroup(NEEDS[0], tuple(range(40))),))
    federation.tell_global_master("ga", gm_events.JobSubmitted(0.0, job))
    federation.deliver_all()
    while federation.running:
        federation.end_task()
        federation.deliver_all()
        federation.check()
    assert len(federation.finished) == 40
