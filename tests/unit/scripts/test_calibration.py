from statistics import fmean

import pytest

from scripts.calibrating.draw import GAP_S, drawn_jobs, heavy_tail, load_of
from scripts.calibrating.lab_side import JobSeen, Masters, RealRun
from scripts.calibrating.model_side import measured_on, modelled, properties
from scripts.calibrating.rows import NODE_OVERRIDES, ORDERING, ROWS
from scripts.calibrating.table import Compared, orders, table
from shim.scheduling.durations import recurring_key_of


def compared(name, real, modelled):
    return Compared(name, [real], modelled, (2.0, 3.0), (0.25, 0.1), 1.5)


def test_a_seed_draws_the_same_jobs_and_another_one_others():
    assert drawn_jobs(1, 20) == drawn_jobs(1, 20)
    assert drawn_jobs(1, 20) != drawn_jobs(2, 20)
    assert drawn_jobs(1, 20) == drawn_jobs(1, 30)[:20]


def test_jobs_are_short_or_long_and_come_over_a_few_minutes():
    jobs = drawn_jobs(1, 80)
    long = [job for job in jobs if max(job.durations_s) >= 5.0]
    assert 0 < len(long) < len(jobs) / 2
    assert all(1.0 <= each <= 10.0 for job in jobs for each in job.durations_s)
    assert {len(job.durations_s) for job in jobs} <= {*range(4, 9), *range(12, 21)}
    assert [job.arrival_s for job in jobs] == sorted(job.arrival_s for job in jobs)
    assert 60.0 < jobs[-1].arrival_s < 300.0


def test_names_of_a_draw_are_unique_and_a_word():
    names = [job.name for job in drawn_jobs(1, 80)]
    assert len({*names}) == 80
    assert not any(" " in name for name in names)


def test_a_row_says_both_worlds_and_how_far_they_are_apart():
    row = compared("one cluster", [10.0, 30.0], [[11.0, 31.0], [12.0, 32.0]])
    lines = list(table([row]))
    assert lines[2].startswith("| one cluster | 20.0 | 21.5 (21.0 to 22.0) | 1.07 | 30.0 | 31.5 | 1.05 |")
    assert lines[2].endswith("| 2, 3 | 0.25, 0.10 | 1.5 |")
    assert len({line.count("|") for line in lines}) == 1


def test_rows_are_ordered_by_mean_in_each_world():
    rows = [compared("a", [10.0], [[14.0]]), compared("b", [12.0], [[13.0]])]
    assert orders(rows) == {"real": ["a", "b"], "model": ["b", "a"]}


def test_what_masters_print_is_read_job_by_job(tmp_path):
    (tmp_path / "masters.log").write_text(
        "listens 4711\nWARN begun nothing\nbegun a 10.0\nregistered a 10.5\nlaunch a 11.0 0 container_1 n1:1\n"
        "begun b 12.0\nsurplus a 12.5\ndone a 14.0\nfinished a 14.2\nfailed b 0\n"
    )
    (tmp_path / "starts.log").write_text("a 0 11.25\n")
    seen = Masters(tmp_path, "127.0.0.1:4711").seen()
    assert seen["a"] == JobSeen(
        10.0, 10.5, 14.0, 14.2, launched_s={0: 11.0}, nodes={0: "n1:1"}, started_s={0: 11.25}, surplus=1
    )
    assert seen["b"].failed
    assert measured_on(RealRun((4.0,), (seen["a"],))).launch_s == pytest.approx(0.25)
    assert measured_on(RealRun((4.0,), (seen["a"],))).master_start_s == pytest.approx(0.5)


def test_properties_are_read_of_all_files_of_a_folder(tmp_path):
    for name, key in (("yarn-site.xml", "a"), ("capacity-scheduler.xml", "b")):
        row = f"<property><name>{key}</name><value>{key}{key}</value></property>"
        (tmp_path / name).write_text(f"<configuration>{row}</configuration>")
    assert properties(tmp_path) == {"a": "aa", "b": "bb"}


def test_plain_yarn_is_three_rows_and_no_two_rows_are_the_same_world():
    plain = [(row.clusters, row.ordering) for row in ROWS.values() if not row.is_heddle]
    assert plain == [(2, "fifo"), (1, "fifo"), (1, "fair")]
    worlds = {(row.containers, row.clusters, row.ordering, row.is_installed) for row in ROWS.values()}
    assert len(worlds) == len(ROWS)


@pytest.mark.parametrize("name", ["heddle as installed, fair clusters", "one fair cluster", "one cluster"])
def test_a_row_has_the_ordering_policy_of_its_clusters_and_nothing_of_heddle_as_installed(name):
    row = ROWS[name]
    queues = row.overrides["capacity-scheduler.xml"]
    assert queues.items() > NODE_OVERRIDES["capacity-scheduler.xml"].items()
    assert queues[ORDERING] == ("fifo" if name == "one cluster" else "fair")
    assert not row.is_installed or row.sections == ""


@pytest.mark.parametrize("seed", [1, 2, 21])
def test_kinds_of_a_heavy_tail_recur_from_seed_to_seed_and_bring_the_load_that_is_asked_for(seed):
    jobs, others = heavy_tail(seed, 60, GAP_S), heavy_tail(seed + 1000, 60, GAP_S / 2)
    assert load_of(jobs) == pytest.approx(0.83, rel=0.01)
    assert load_of(others) == pytest.approx(1.66, rel=0.01)
    sizes = {job.kind: len(job.durations_s) for job in jobs}
    assert all(sizes.get(job.kind, len(job.durations_s)) == len(job.durations_s) for job in others)
    assert len({job.name for job in (*jobs, *others)}) == 120
    assert fmean(len(job.durations_s) <= 5 for job in jobs) > 0.5
    assert max(sizes.values()) >= 60


def test_kinds_recur_in_the_model_as_they_do_on_the_lab():
    jobs = heavy_tail(1, 60, GAP_S)
    told = modelled(jobs)
    assert len({job.name for job in told}) == 60
    keys = {recurring_key_of("alice", "", one.name): job.kind for job, one in zip(jobs, told, strict=True)}
    assert sorted(keys.values()) == sorted({job.kind for job in jobs}), "one key a kind"
    assert [job.name for job in modelled(drawn_jobs(1, 3))] == [job.name for job in drawn_jobs(1, 3)]
