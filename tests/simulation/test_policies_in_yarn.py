"""Every policy that a queue may have, by the code of production over modelled clusters in virtual time."""

import ast
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from shim.domain.resources import ResourceVector
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec, Timing
from shim.simulation.engine import seeded
from shim.simulation.yarn_sim.run import YarnSetting, play
from tests.packaging.test_shared_core import MODULES, ROOT, sides_of
from tests.unit.simulation.yarn_sim.test_run import setting

HOSTS = [node.id.host for cluster in setting().clusters for node in cluster.nodes]
SMALL, LARGE = ResourceVector(512, 1), ResourceVector(2048, 2)


def spanning(policy, queue="root.default"):
    return f'[[queue]]\nname = "{queue}"\nspan = true\ncontainers = "{policy}"\n'


def jobs(count, tasks, *, seed=1, task_s=6.0, every_s=4.0):
    """Jobs of small and large containers, every other one with data on some host."""
    rng = seeded(seed, "jobs of queue policies")
    found = []
    for number in range(count):
        hosts = tuple((rng.choice(HOSTS),) for _ in range(tasks)) if number % 2 else ()
        size = LARGE if number % 3 == 2 else SMALL
        found.append(
            ModelledJob(f"job-{number}", every_s * number, (ModelledStage((task_s,) * tasks, (), size, hosts),))
        )
    return found


@pytest.mark.parametrize("policy", QUEUE_POLICIES)
def test_every_job_ends_and_nothing_starves(policy):
    outcome = play(setting(config=spanning(policy)), jobs(8, 8))
    assert outcome.failed == {}
    assert len(outcome.completions_s) == 8
    assert max(outcome.waits_s) < 150.0
    assert all(used > 0 for used in outcome.used.values())


ALONE = [jobs(1, 16)[0]]
SHORT = [ModelledJob(f"job-{number}", 2.0 * number, (ModelledStage((3.0,) * 6, (), SMALL),)) for number in range(24)]


@cache  # the same for every policy that it is compared with
def mean_without_an_order():
    return play(setting(config=spanning("unordered")), ALONE).completion.mean


@pytest.mark.parametrize("policy", QUEUE_POLICIES)
def test_a_job_that_is_alone_loses_little_to_the_clusters_own_schedulers(policy):
    """Without data anywhere nothing is to be waited for."""
    found = play(setting(config=spanning(policy)), ALONE)
    assert found.failed == {}
    assert found.completion.mean <= mean_without_an_order() * 1.1 + 2.0


def test_delay_scheduling_starts_more_tasks_at_their_data_than_fair_shares_do():
    """Schedulers that wait for no host themselves, and three copies of each task's data."""
    found = {}
    for policy in ("fair", "delay"):
        clusters = tuple(
            ModelledClusterSpec.even(
                name,
                nodes=5,
                size=ResourceVector(4096, 4),
                epoch=epoch,
                queues={"root.default": QueueSpec(am_share=0.5)},
                timing=Timing(locality_delay=0),
            )
            for name, epoch in (("east", 1000), ("west", 2000))
        )
        hosts, rng = [node.id.host for each in clusters for node in each.nodes], seeded(1, "copies")
        work = [
            ModelledJob(
                f"job-{number}",
                5.0 * number,
                (ModelledStage((20.0,) * 12, (), SMALL, tuple(tuple(rng.sample(hosts, 3)) for _ in range(12))),),
            )
            for number in range(8)
        ]
        outcome = play(YarnSetting(clusters=clusters, config=spanning(policy)), work)
        assert outcome.failed == {}
        found[policy] = outcome.at_data
    assert found["delay"] > found["fair"] + 0.05


def test_data_on_a_host_that_is_full_is_not_waited_for_for_ever():
    busy = ModelledJob("busy", 0.0, (ModelledStage((300.0,) * 8, (), SMALL, ((HOSTS[0],),) * 8),))
    late = ModelledJob("late", 20.0, (ModelledStage((5.0,) * 2, (), LARGE, ((HOSTS[0],),) * 2),))
    outcome = play(setting(config=spanning("delay")), [busy, late])
    assert outcome.failed == {}
    assert outcome.completions_s[1] < 60.0


def test_by_graphene_the_long_stage_of_a_job_begins_first_once_jobs_of_its_kind_have_taught_how_long_it_is():
    """Engines ask for the short stage first, and schedulers serve in that order."""
    stages = (
        ModelledStage((30.0,) * 60, (), SMALL),
        ModelledStage((200.0,) * 4, (), SMALL),
        ModelledStage((10.0,) * 2, (0, 1), SMALL),
    )
    found = {}
    for policy in ("tetris", "graphene"):
        outcome = play(
            setting(config=spanning(policy)), [ModelledJob(f"job-{each}", 500.0 * each, stages) for each in range(3)]
        )
        assert outcome.failed == {}
        found[policy] = outcome.completions_s
    assert found["graphene"][0] == pytest.approx(found["tetris"][0], abs=15.0), "nothing is known as yet"
    assert all(later < 0.85 * found["graphene"][0] for later in found["graphene"][1:])
    assert sum(found["graphene"][1:]) < 0.9 * sum(found["tetris"][1:])


def ordered_by(ordering, policy):
    base = setting(config=spanning(policy))
    clusters = tuple(
        replace(each, queues={name: replace(queue, ordering=ordering) for name, queue in each.queues.items()})
        for each in base.clusters
    )
    return replace(base, clusters=clusters)


@cache
def mean_of_short_jobs(ordering, policy):
    outcome = play(ordered_by(ordering, policy), SHORT)
    assert outcome.failed == {}
    return outcome.completion.mean


@pytest.mark.parametrize(("ordering", "most"), [("fair", 1.5), ("fifo", 1.8)])
@pytest.mark.parametrize("order", QUEUE_POLICIES)
def test_places_are_kept_busy_though_tasks_are_short(order, ordering, most):
    """Jobs of a few tasks each: whoever is next is asked for before a place is free.

    In fifo queues nothing is asked for ahead of an ApplicationMaster that waits, as it would come first: there an order
    loses to schedulers that choose by themselves, which docs/operators/defaults.md tells.
    """
    assert mean_of_short_jobs(ordering, order) <= most * mean_of_short_jobs(ordering, "unordered")


def two_queues(*, task_s=90.0):
    """A queue that holds all places of two clusters, and one that comes when the other has them, with equal shares."""
    queues = {name: QueueSpec(50.0, 100.0, am_share=0.5, user_limit_factor=8.0) for name in ("root.a", "root.b")}
    clusters = tuple(
        ModelledClusterSpec.even(
            name, nodes=2, size=ResourceVector(4 * 1024 + 512, 8), epoch=1000 * number, queues=queues
        )
        for number, name in enumerate(("east", "west"), start=1)
    )
    own = "preemptable = true\npreempted_per_minute = 60\nweight = 1.0\n"
    config = "[shares]\npreempt_grace_s = 10\n" + "".join(spanning("fifo", name) + own for name in queues)
    size, master = ResourceVector(1024, 1), ResourceVector(64, 1)
    rich = ModelledJob("rich", 0.0, (ModelledStage((task_s,) * 16, size=size),), queue="root.a", master=master)
    poor = ModelledJob("poor", 15.0, (ModelledStage((20.0,) * 8, size=size),), queue="root.b", master=master)
    return YarnSetting(clusters=clusters, config=config, seed=1), [rich, poor]


def test_a_queue_has_its_share_back_though_an_order_holds_back_what_it_asks_for():
    """No report shows what waits in Heddle; it waits for its share all the same."""
    setting_, jobs_ = two_queues(task_s=300.0)
    outcome = play(setting_, jobs_)
    assert outcome.failed == {}
    poor = sorted(outcome.waits_s[16:])
    assert len(poor) == 8
    assert poor[-1] < 100.0, "not when the other's tasks end by themselves"


def test_modelled_clusters_try_most_of_what_schedules_in_production():
    """What is published of them is a claim of production's code, as far as that code runs there: by definitions."""
    reached, setting_ = set(), two_queues()
    known = definitions()

    def note(frame, event, arg):
        del arg
        if event == "call":
            reached.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        play(*setting_)
        for policy in QUEUE_POLICIES:
            play(setting(config=spanning(policy)), jobs(4, 6))
    finally:
        sys.setprofile(None)
    missing = Counter(module for place, module in known.items() if place not in reached)
    part = 1 - missing.total() / len(known)
    assert part >= 0.6, f"{part:.1%} of {len(known)}; most is missing of {missing.most_common(10)}"


def definitions():
    """Functions of the modules that schedule in production, by file and first line, but for those of protocols."""
    found = {}
    for module in sides_of()["production"]:
        tree, _ = MODULES[module]
        path = ROOT / f"{module.replace('.', '/')}.py"
        path = path if path.exists() else path.with_suffix("") / "__init__.py"
        promised = {
            each
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Protocol" for base in node.bases)
            for each in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node not in promised:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found[str(path), first] = module
    return found
