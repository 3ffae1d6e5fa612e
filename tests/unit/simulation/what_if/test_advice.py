"""Advice on policies: windows are the sample, intervals say how sure a gain is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.config.loader import parse
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.scheduling.policy import Fact
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.what_if.advice import (
    LEAST_JOBS,
    PolicyAdvice,
    Sample,
    advise_on,
    advised,
    facts_of,
    windows_of,
)
from shim.simulation.what_if.clusters import clusters_at_load
from shim.simulation.what_if.past_jobs import PastJob, RecordedHistory


def gained(*gains, policy="fair", mean_s=10.0):
    return PolicyAdvice(policy, (mean_s,) * len(gains), gains)


def a_job(number, arrival_s, durations_s=(10.0,) * 4, size=ResourceVector(1024, 1)):  # noqa: B008 - a value
    return PastJob(f"job-{number}", "root.default", "ada", arrival_s, (ModelledStage(durations_s, size=size),))


def test_an_interval_is_students_over_windows():
    low, high = gained(0.1, 0.2, 0.3).interval
    half = 9.925 * 0.1 / 3**0.5
    assert (low, high) == (pytest.approx(0.2 - half), pytest.approx(0.2 + half))
    assert gained(0.1, 0.2).interval is None


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.10, 0.11, 0.12, 0.11), "faster"),
        ((-0.10, -0.11, -0.12, -0.11), "slower"),
        ((0.001, -0.001, 0.002, 0.0), "the same"),
        ((0.5, -0.1, 0.3, 0.2), "not sure"),
        ((0.9, 0.9), "too few jobs"),
        ((0.0, 0.0, 0.0), "the same"),
    ],
)
def test_only_what_the_interval_says_is_said(gains, verdict):
    assert gained(*gains).verdict == verdict


def test_of_surely_faster_ones_the_largest_sure_gain_is_taken_else_the_one_in_force():
    wide, narrow = gained(0.5, 0.1, 0.6, 0.0), gained(0.10, 0.11, 0.12, policy="tetris")
    refused = PolicyAdvice("delay", why_not="no places")
    steady, spread = gained(0.2, 0.21, 0.19, 0.2, policy="a"), gained(0.1, 0.4, 0.5, 0.4, 0.3, 0.35, policy="b")
    assert spread.verdict == steady.verdict == "faster"
    assert advised([spread, steady], "fifo") == "a"
    assert advised([wide, narrow, refused], "fifo") == "tetris"
    assert advised([wide, refused], "fifo") == "fifo"


@given(st.integers(1, 90), st.integers(1, 8))
def test_windows_have_every_application_once_and_are_of_one_size_or_one_more(count, wanted):
    jobs = [a_job(number, 7.0 * number) for number in range(count)]
    parts = windows_of(jobs, wanted)
    assert [job.name for part in parts for job in part] == [job.name for job in jobs]
    assert len(parts) <= max(1, min(wanted, count // LEAST_JOBS))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all(part[0].arrival_s == 0.0 for part in parts)


def test_clusters_have_the_work_as_the_load_says_and_hold_the_largest_container():
    jobs = tuple(a_job(number, 10.0 * number, (20.0,) * 64) for number in range(20))
    history = RecordedHistory(jobs, ())
    half, whole = (clusters_at_load(history, ("a", "b"), load) for load in (0.5, 1.0))
    assert [len(each.nodes) for each in half] == [2 * len(each.nodes) for each in whole]
    large = RecordedHistory((*jobs, a_job(99, 0.0, (1.0,), ResourceVector(100_000, 3))), ())
    (node, *_) = clusters_at_load(large, ("a",), 1.0)[0].nodes
    assert node.size.memory_mib == 200_000
    with pytest.raises(BadRequestError, match="describe its clusters with --present"):
        clusters_at_load(RecordedHistory((a_job(1, 0.0, (1.0,) * 150_000),), ()), ("a",), 0.01)


def test_the_policy_in_force_runs_once():
    history = RecordedHistory(tuple(a_job(number, 100.0 * number) for number in range(LEAST_JOBS)), ("root.default",))
    clusters = clusters_at_load(history, ("a", "b"), 0.7)
    ended = []
    base = parse('[[subcluster]]\nid = "a"\nweb = "http://a:8088"\n', source="test", environment={})
    sample = Sample(history, clusters, base, 1)
    (only,) = advise_on(sample, against="fifo", policies=("fifo",), advance=ended.append)
    assert only.gains == (0.0,)
    assert 0 < sum(ended) <= LEAST_JOBS


def test_facts_are_what_stages_tell():
    plain = ModelledStage((1.0,))
    assert facts_of([ModelledJob("a", 0.0, (plain,))]) == {Fact.ESTIMATES, Fact.VECTORS}
    later, placed = ModelledStage((1.0,), needs=(0,)), ModelledStage((1.0,), hosts=(("n1",),))
    told = facts_of([ModelledJob("a", 0.0, (plain, later)), ModelledJob("b", 0.0, (placed,))])
    assert {Fact.DAG, Fact.LOCALITY} <= told
