"""Lengths of tasks are fitted to how long applications took, never beyond what can be, and never for the worse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.simulation.cluster.jobs import ModelledStage
from shim.simulation.what_if.fitting import fit_lengths
from shim.simulation.what_if.past_jobs import PastJob, modelled
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

RUN_S = 100.0


def past(name="a", *, waited_s: float | None = 5.0, stages=(), width=4.0):
    took_s = RUN_S + (waited_s or 0.0)
    amount = RUN_S * (1.0 + width)
    return PastJob(name, "root.a", "u", 0.0, stages, RUN_S, 1024 * amount, amount, waited_s, took_s)


def world(extra_s, seen=None):
    """A present in which containers of every application wait for so long before they all run."""

    def replay(lengths_s):
        if seen is not None:
            seen.append(dict(lengths_s))
        run_s = lengths_s.get("a", RUN_S) + extra_s
        return YarnOutcome(jobs=(), times={"a": ManagerTimes(5.0, 5.0 + run_s, 1.0, 1.0)})

    return replay


@given(st.floats(0.0, 85.0))
def test_waiting_that_the_history_has_already_is_not_counted_twice(extra_s):
    fitted = fit_lengths([past()], world(extra_s), startup_s=0.0, rounds=60)
    assert fitted.lengths_s.get("a", RUN_S) + extra_s == pytest.approx(RUN_S, rel=0.01)
    assert fitted.errors_s[0] == pytest.approx(extra_s)


@given(st.floats(0.0, 1000.0), st.integers(0, 8))
def test_no_round_makes_it_worse_and_lengths_stay_within_bounds(extra_s, rounds):
    seen = []
    fitted = fit_lengths([past()], world(extra_s, seen), startup_s=10.0, rounds=rounds)
    assert len(seen) == len(fitted.errors_s) == rounds + 1
    error_s = abs(fitted.outcome.times["a"].ended_s - (RUN_S + 5.0))
    assert error_s == pytest.approx(min(fitted.errors_s))
    assert error_s <= fitted.errors_s[0] + 1e-9
    assert all(90.0 / 8.0 <= length_s <= 90.0 for lengths in seen for length_s in lengths.values())


def test_the_work_of_an_application_stays_the_same():
    for length_s in (90.0, 40.0, 12.5):
        (job,) = modelled([past()], ["root.a"], startup_s=10.0, lengths_s={"a": length_s})
        assert sum(job.stages[0].durations_s) == pytest.approx(4.0 * RUN_S)
        assert max(job.stages[0].durations_s) == length_s


@pytest.mark.parametrize("job", [past(stages=(ModelledStage((5.0,)),)), PastJob("a", "root.a", "u", 0.0, run_s=9.0)])
def test_nothing_is_fitted_where_tasks_are_told_or_times_are_not(job):
    seen = []
    assert fit_lengths([job], world(50.0, seen), startup_s=0.0, rounds=3).lengths_s == {}
    assert seen == [{}]


def test_an_application_that_the_replay_lost_keeps_its_length():
    lost = past("b")
    fitted = fit_lengths([past(), lost], world(50.0), startup_s=0.0, rounds=4)
    assert fitted.lengths_s["b"] == RUN_S


def test_without_a_launch_runs_count_from_the_submission():
    fitted = fit_lengths([past(waited_s=None)], world(20.0), startup_s=0.0, rounds=60)
    assert fitted.outcome.times["a"].ended_s == pytest.approx(RUN_S, rel=0.01)
