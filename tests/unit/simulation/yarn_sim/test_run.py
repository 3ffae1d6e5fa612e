"""A workload through the use cases of production in virtual time: it ends, it is the same each time, it spans."""

import os
import subprocess
import sys
from dataclasses import replace
from statistics import fmean

import pytest

from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import SimulatedFront, YarnSetting, play

SPANNING = '[[queue]]\nname = "root.default"\nspan = true\n'
TWO_STAGES = (ModelledStage((5.0,) * 8), ModelledStage((2.0,) * 2, needs=(0,)))
RUN = """
import logging, structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
from tests.unit.simulation.yarn_sim.test_run import SPANNING, jobs, setting
from shim.simulation.yarn_sim.run import play
outcome = play(setting(config=SPANNING), jobs(4))
print(outcome.completions_s, sorted(outcome.messages.items()), outcome.turns)
"""


def setting(*, epochs=(1000, 2000), **changed):
    clusters = tuple(
        ModelledClusterSpec.even(
            name,
            nodes=2,
            size=ResourceVector(4096, 4),
            epoch=epoch,
            queues={"root.default": QueueSpec(am_share=0.5)},
        )
        for name, epoch in zip(("east", "west"), epochs, strict=True)
    )
    return YarnSetting(clusters=clusters, **changed)


def jobs(count, stages=TWO_STAGES):
    return [ModelledJob(f"job-{number}", 3.0 * number, stages) for number in range(count)]


def test_one_job_in_one_queue_runs_through_the_use_cases_of_production():
    outcome = play(setting(), jobs(1))
    assert outcome.failed == {}
    assert (outcome.messages["submission"], outcome.messages["master register"]) == (1, 1)
    assert outcome.messages["poll"] > 10
    assert outcome.completion.mean > 7.0
    assert outcome.delay.mean == pytest.approx(outcome.completion.mean - 7.0)


def test_a_queue_that_spans_gives_one_job_the_nodes_of_both_clusters():
    wide = (ModelledStage((20.0,) * 12),)
    alone = play(setting(), jobs(1, wide))
    spanning = play(setting(config=SPANNING), jobs(1, wide))
    assert (alone.failed, spanning.failed) == ({}, {})
    assert spanning.completion.mean < alone.completion.mean - 5.0
    assert min(used for used in spanning.used.values()) > 0
    assert min(alone.used[name, "root.default"] for name in ("east", "west")) == 0


def test_clusters_with_equal_room_for_masters_get_equal_parts_of_what_waits_for_it():
    """One master at a time fits each cluster's part for masters, and jobs come faster than they end."""
    narrow = tuple(replace(each, queues={"root.default": QueueSpec(am_share=0.1)}) for each in setting().clusters)
    outcome = play(YarnSetting(clusters=narrow), jobs(16))
    assert outcome.failed == {}
    east, west = (outcome.used[name, "root.default"] for name in ("east", "west"))
    assert abs(east - west) <= 0.15 * (east + west)


def test_jobs_that_are_dealt_to_clusters_meet_no_heddle():
    outcome = play(setting(front=SimulatedFront.DEALT), jobs(4))
    assert (outcome.failed, outcome.messages) == ({}, {})
    assert all(used > 0 for used in outcome.used.values())


def test_a_run_is_the_same_whatever_the_order_of_sets_of_strings():
    seen = set()
    for hash_seed in ("0", "1"):
        surroundings = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", RUN], env=surroundings, capture_output=True, text=True, check=True, timeout=250
        )
        seen.add(done.stdout)
    assert len(seen) == 1


WIDE = (ModelledStage((20.0,) * 12),)


def test_with_nothing_configured_a_job_that_waits_leaves_its_home_where_files_are_shared():
    alone, by_itself = (play(setting(shares_files=shared), jobs(1, WIDE)) for shared in (False, True))
    assert (alone.failed, by_itself.failed) == ({}, {})
    assert by_itself.completion.mean < alone.completion.mean
    assert min(by_itself.used.values()) > 1024 * 20, "one container tries, others follow"


def test_a_job_that_its_home_serves_stays_there():
    outcome = play(setting(shares_files=True), jobs(1, (ModelledStage((5.0,) * 2),)))
    assert outcome.messages["session register"] == play(setting(), jobs(1)).messages["session register"] == 0
    assert sum(used > 0 for used in outcome.used.values()) == 1


def test_asks_of_those_that_stay_at_home_do_not_stand_before_others_in_a_scheduler_that_serves_by_arrival():
    """Two wide jobs want all of both clusters for long; narrow ones come behind them, of which nobody may leave."""
    wide = [ModelledJob(f"wide-{number}", 0.0, (ModelledStage((10.0,) * 60),)) for number in range(2)]
    narrow = [ModelledJob(f"narrow-{number}", 12.0 + 3.0 * number, (ModelledStage((4.0,)),)) for number in range(8)]
    mean_s = {}
    for containers in ("auto", "unordered"):
        config = f'[[queue]]\nname = "root.default"\norder = "fifo"\ncontainers = "{containers}"\n'
        outcome = play(setting(config=config), wide + narrow)
        assert outcome.failed == {}
        assert outcome.messages["session register"] == 0, "nobody left its home"
        mean_s[containers] = fmean(outcome.completions_s[2:])
    assert mean_s["auto"] < 0.5 * mean_s["unordered"], mean_s


def test_nobody_waits_behind_what_wide_jobs_ask_for_where_a_scheduler_serves_by_arrival():
    wide = [ModelledJob(f"wide-{number}", 0.0, (ModelledStage((4.0,) * 200),)) for number in range(2)]
    narrow = [ModelledJob(f"narrow-{number}", 4.0 * number, (ModelledStage((4.0,) * 4),)) for number in range(5, 20)]
    waits_s, means_s = [], []
    for ordering in ("fair", "fifo"):
        queues = {"root.default": QueueSpec(am_share=0.5, ordering=ordering)}
        clusters = tuple(replace(each, queues=queues) for each in setting().clusters)
        outcome = play(YarnSetting(clusters=clusters, shares_files=True), wide + narrow)
        assert outcome.failed == {}
        waits_s.append(fmean(outcome.times[job.name].launched_s for job in narrow))
        means_s.append(fmean(outcome.completions_s[2:]))
    assert waits_s[1] < 2.5 * waits_s[0], "masters: 2.1 on 2026-11-29, and 17 behind all that is asked for"
    assert means_s[1] < 1.05 * means_s[0], "containers: 0.93, and 1.11 where earlier jobs ask ahead beside later ones"


@pytest.mark.parametrize(
    "changed", [{"config": "[scheduling]\nautomatic = false\n"}, {"epochs": (0, 0)}, {"epochs": (1000, 1000)}]
)
def test_nothing_leaves_its_home_by_itself_without_epochs_or_where_operators_want_it_as_before(changed):
    outcome = play(setting(shares_files=True, **changed), jobs(1, WIDE))
    assert outcome.failed == {}
    assert sum(used > 0 for used in outcome.used.values()) == 1


def test_a_short_job_goes_to_the_backlog_that_is_soon_done_and_not_behind_long_tasks_that_want_nothing_more():
    """By free shares the cluster of the long tasks has more: nothing is asked for there, and all of it is in use."""
    kinds = {"long": (300.0,) * 7, "short": (2.0,) * 40, "probe": (1.0,)}

    def job(kind, number, at_s):
        return ModelledJob(f"{kind}-2026{number:04}", at_s, (ModelledStage(kinds[kind]),))

    before = [job("long", 1, 0.0), job("short", 1, 5.0), job("probe", 1, 60.0)]
    again = [job("long", 2, 400.0), job("short", 2, 405.0), job("probe", 2, 412.0)]
    as_before = '[scheduling]\nautomatic = false\n[[queue]]\nname = "root.default"\nspan = false\n'
    outcome = play(setting(config=as_before), before + again)
    assert outcome.failed == {}
    assert outcome.completions_s[-1] < 60.0
