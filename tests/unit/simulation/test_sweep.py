"""Sweeps: every policy with every seed, the same in one process as in two."""

from dataclasses import replace

import pytest

from shim.errors import BadRequestError
from shim.simulation.report import document
from shim.simulation.run import Setting
from shim.simulation.sweep import experiments, sweep
from shim.simulation.traces import TraceJob, Workload

WORKLOAD = Workload("w", tuple(TraceJob(index, float(index), (1.0, 3.0), 2.0) for index in range(6)))
SETTING = Setting(n_workers=3, n_lms=3, n_gms=1, seed=5)


def test_each_policy_is_planned_with_each_seed():
    planned = experiments(["random", "pigeon"], SETTING, n_seeds=2)
    assert [(one.policy, one.setting.seed) for one in planned] == [
        ("random", 5), ("random", 6), ("pigeon", 5), ("pigeon", 6),
    ]  # fmt: skip


def test_an_unknown_policy_is_refused_with_those_that_exist():
    with pytest.raises(BadRequestError, match=r"no scheduler is called fastest; there are .*central-fifo"):
        experiments(["random", "fastest"], SETTING)


def test_loss_is_refused_for_those_that_cannot_bear_it():
    lossy = replace(SETTING, loss=0.01)
    assert experiments(["megha"], lossy)
    with pytest.raises(BadRequestError, match="sparrow, pigeon would wait forever"):
        experiments(["sparrow", "megha", "pigeon"], lossy)


def test_processes_change_nothing_but_the_wall_clock():
    planned = experiments(["random", "eagle"], SETTING, n_seeds=2)
    ended = []

    def documents(n_processes):
        outcomes = sweep(planned, WORKLOAD, n_processes=n_processes, on_jobs_end=ended.append)
        return [document(outcome, SETTING) | {"wall_s": None} for outcome in outcomes]

    assert documents(1) == documents(2)
    assert sum(ended) == 2 * len(planned) * len(WORKLOAD.jobs)
