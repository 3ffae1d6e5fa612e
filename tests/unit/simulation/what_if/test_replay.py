"""Replays: the same settings give the same figures, more room never more waiting, what is read is what ran."""

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.papers.generated_history import drawn_jobs, generated_history
from shim.config.loader import parse
from shim.config.policy_files import policy_tables
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError, ConfigError
from shim.simulation.cluster.jobs import ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.what_if.clusters import estimated_clusters, read_clusters
from shim.simulation.what_if.comparison import ALL
from shim.simulation.what_if.past_jobs import PastJob, modelled
from shim.simulation.what_if.recorded import history_of_file, history_of_text
from shim.simulation.what_if.replay import HISTORY, Side, compare, config_over, fit_lengths
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

QUEUES = ("root.a", "root.b")
CONFIG = parse(
    '[[subcluster]]\nid = "east"\nweb = "http://rm.east:8088"\n[span]\nstarvation_s = 30\n',
    source="heddle.toml",
    environment={},
)


def clusters(nodes, names=("east",)):
    queues = {path: QueueSpec(50.0, user_limit_factor=10.0, am_share=0.4) for path in QUEUES}
    size = ResourceVector(8192, 4)
    return tuple(
        ModelledClusterSpec.even(name, nodes=nodes, size=size, epoch=1000 * (row + 1), queues=queues)
        for row, name in enumerate(names)
    )


def side(name, nodes):
    made = clusters(nodes)
    return Side(name, made, config_over(CONFIG, made))


@cache
def a_history(seed, *, gap_s=6.0, nodes=2, count=12):
    document = generated_history(seed, drawn_jobs(seed, count, QUEUES, gap_s), clusters(nodes))
    return history_of_text(json.dumps(document), "apps.json", 100)


@cache
def a_comparison():
    return compare(a_history(1), [side("present", 2), side("same", 2), side("more", 4)])


def test_the_same_settings_twice_give_the_same_columns():
    found = a_comparison()
    assert found.columns["present"] == found.columns["same"]
    assert found.failed == {"present": {}, "same": {}, "more": {}}
    assert found.columns[HISTORY][ALL]["jobs"] == found.columns["present"][ALL]["jobs"] == 12


def test_twice_the_room_never_makes_a_saturated_history_wait_longer():
    before, after = (a_comparison().columns[name][ALL] for name in ("present", "more"))
    assert before["waiting_mean_s"] > 5.0  # it is saturated
    assert after["waiting_mean_s"] <= before["waiting_mean_s"]
    assert after["completion_mean_s"] <= before["completion_mean_s"]
    assert after["use"] < before["use"]


def test_shares_add_up_and_counts_are_by_queue():
    for column in a_comparison().columns.values():
        assert sum(column[path]["share"] for path in QUEUES) == pytest.approx(100.0)
        assert sum(column[path]["use"] for path in QUEUES) == pytest.approx(column[ALL]["use"])
        assert sum(column[path]["jobs"] for path in QUEUES) == column[ALL]["jobs"]


def test_a_history_with_room_is_replayed_as_it_was():
    found = compare(a_history(5, gap_s=120.0, nodes=6, count=6), [side("present", 6)])
    completion, waiting = found.match["completion"], found.match["waiting"]
    assert completion.jobs == waiting.jobs == 6
    assert completion.error_s < 0.03 * completion.real_mean_s
    assert waiting.error_s < 1.0
    used, replayed = (found.columns[name][ALL]["use"] for name in (HISTORY, "present"))
    assert replayed == pytest.approx(used, rel=0.1)


def test_decisions_are_those_of_the_configuration_and_secrets_are_not_taken():
    made = config_over(CONFIG, clusters(1, ("x", "y")))
    assert made.span.starvation_s == 30
    assert [each.id for each in made.subclusters] == ["x", "y"]
    policy = policy_tables('[[queue]]\nname = "root.a"\nspan = true\n', source="new.toml")
    assert config_over(CONFIG, clusters(1), policy).queues[0].span


def test_a_policy_that_names_a_cluster_that_is_gone_is_refused():
    text = '[[queue]]\nname = "root.a"\n[queue.names]\nwest = "root.b"\n'
    policy = policy_tables(text, source="new.toml", subclusters=["west"])
    with pytest.raises(ConfigError, match="west"):
        config_over(CONFIG, clusters(1), policy, source="new.toml")


def test_an_application_too_large_for_any_node_is_named():
    small = tuple(
        ModelledClusterSpec.even("east", nodes=1, size=ResourceVector(1024, 1), queues=clusters(1)[0].queues)
        for _ in "1"
    )
    with pytest.raises(BadRequestError, match="more than any node"):
        compare(a_history(1, count=2), [Side("present", small, config_over(CONFIG, small))])


def test_an_application_that_leaves_no_room_beside_its_master_is_named():
    (queues,) = (each.queues for each in clusters(1))
    narrow = (ModelledClusterSpec.even("east", nodes=1, size=ResourceVector(3000, 4), queues=queues),)
    with pytest.raises(BadRequestError, match="beside its ApplicationMaster"):
        compare(a_history(1), [Side("present", narrow, config_over(CONFIG, narrow))])


def test_estimated_clusters_have_room_for_a_container_beside_each_master():
    row = {
        "id": "application_1_0001",
        "user": "a",
        "queue": "a",
        "state": "FINISHED",
        "startedTime": 1_800_000_000_000,
        "launchTime": 1_800_000_001_000,
    }
    wide = row | {"finishedTime": 1_800_000_101_000, "memorySeconds": 100 * 900, "vcoreSeconds": 120}
    history = history_of_text(json.dumps({"apps": {"app": [wide]}}), "apps.json", 10)
    for cluster in estimated_clusters(history.jobs, ["east", "west"], history.queues):
        assert cluster.capacity.memory_mib >= 2 * max(job.container.memory_mib for job in history.jobs)


def test_clusters_are_estimated_by_the_peak():
    history = a_history(1)
    (east, west) = estimated_clusters(history.jobs, ["east", "west"], history.queues)
    peak_vcores = 8  # of two nodes that were full
    assert len(east.nodes) == len(west.nodes) == 1
    assert east.capacity.vcores + west.capacity.vcores >= peak_vcores
    assert set(east.queues) == set(QUEUES)


def test_a_history_without_times_needs_its_clusters_described(tmp_path):
    file = tmp_path / "x.tr"
    file.write_text("0 1 4 4\n")
    with pytest.raises(BadRequestError, match="--present"):
        estimated_clusters(history_of_file(file, 5).jobs, ["east"], ["root.default"])


CLUSTER = '[[cluster]]\nid = "east"\nnodes = 2\nmemory_mib = 4096\nvcores = 4\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "describe 1 to"),
        ("x", "no readable TOML"),
        (CLUSTER + CLUSTER, "its own id"),
        (CLUSTER.replace("2", "0", 1), "nodes"),
        (CLUSTER.replace("2", "1000000", 1), "nodes"),
        (CLUSTER + "nods = 1\n", "nods"),
        (CLUSTER.replace("vcores = 4\n", ""), "vcores"),
        (CLUSTER + '[[cluster.queue]]\nname = "etl"\n', "root.etl"),
        (CLUSTER + '[[cluster.queue]]\nname = "root.a"\n[[cluster.queue]]\nname = "root.b"\n', "more than 100"),
    ],
)
def test_a_wrong_file_of_clusters_is_explained(tmp_path: Path, text, named):
    file = tmp_path / "now.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_clusters(file, QUEUES)
    assert named in str(caught.value)


def test_clusters_without_queues_have_those_of_the_history(tmp_path: Path):
    file = tmp_path / "now.toml"
    file.write_text(CLUSTER)
    (east,) = read_clusters(file, QUEUES)
    assert {path: each.percent for path, each in east.queues.items()} == {"root.a": 50.0, "root.b": 50.0}
    assert east.capacity == ResourceVector(8192, 8)


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
