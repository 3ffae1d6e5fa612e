"""Constraint files: both forms of workers, tasks, and what is refused."""

import gzip
import json

import pytest

from shim.errors import BadRequestError
from shim.simulation.constraints import MAX_CONSTRAINTS, apply_constraints, read_constraints
from shim.simulation.traces import TraceJob, Workload

MEGHA = {
    "LMs": {
        "2": {"partitions": {"1": ["0b1", "0b1"]}},
        "1": {"partitions": {"2": ["0b0", "0b1"], "1": ["0b10", "0b11"]}},
    }
}
PIGEON = {"num_workers": 4, "workers": {"1": ["0b10", "0b11"], "2": ["0b01", "0b11"]}}


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("document", [MEGHA, PIGEON])
@pytest.mark.parametrize("name", ["workers.json", "workers.json.gz"])
def test_both_forms_of_workers_are_read_in_the_order_of_their_groups(tmp_path, document, name):
    constraints = read_constraints([written(tmp_path, name, json.dumps(document))])
    assert constraints.workers == (0b11, 0b10, 0b10, 0b11)


def test_tasks_get_their_constraints_and_those_that_no_worker_serves_are_left_out(tmp_path):
    tasks = written(tmp_path, "tasks.csv", "1.0,1,0,0,1\n1.0,1,2\n2.0,2,0,0,5\n")
    workers = written(tmp_path, "workers.json", json.dumps(MEGHA))
    workload = Workload(
        "w", (TraceJob(0, 1.0, (1.0, 2.0, 3.0), 2.0), TraceJob(1, 2.0, (4.0,), 4.0), TraceJob(2, 3.0, (5.0,), 5.0))
    )
    constrained = apply_constraints(workload, read_constraints([tasks, workers]))
    assert [job.constraints for job in constrained.jobs] == [(0b11, 0, 0), (0,)]
    assert [job.durations_s for job in constrained.jobs] == [(1.0, 2.0, 3.0), (5.0,)]
    assert [job.index for job in constrained.jobs] == [0, 1]
    assert constrained.left_out == 1


def test_without_a_tasks_file_nothing_changes(tmp_path):
    workload = Workload("w", (TraceJob(0, 1.0, (1.0,), 1.0),))
    assert apply_constraints(workload, read_constraints([])) is workload


def test_a_workload_of_which_nothing_can_run_is_refused(tmp_path):
    tasks = written(tmp_path, "tasks.csv", "1.0,1,0,3")
    with pytest.raises(BadRequestError, match="any task"):
        apply_constraints(Workload("w", (TraceJob(0, 1.0, (1.0,), 1.0),)), read_constraints([tasks]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("b.json", '{"nothing": 1}'),
        ("c.json", '{"workers": {}}'),
        ("d.json", '{"workers": {"1": ["0b1", "0b10"]}}'),
        ("e.json", json.dumps({"workers": {"1": ["0b1"] * (MAX_CONSTRAINTS + 1)}})),
        ("f.csv", "1.0,one,0,3"),
        ("g.csv", "1.0"),
        ("h.csv", "1.0,1,0,-3"),
        ("i.csv", f"1.0,1,0,{MAX_CONSTRAINTS}"),
        ("j.csv", "1.0,1,0,99999999999999999"),
    ],
)
def test_a_file_of_neither_form_is_refused(tmp_path, name, text):
    with pytest.raises(BadRequestError, match=name):
        read_constraints([written(tmp_path, name, text)])


def test_two_files_of_one_kind_and_a_missing_one_are_refused(tmp_path):
    workers = written(tmp_path, "workers.json", json.dumps(PIGEON))
    tasks = written(tmp_path, "tasks.csv", "1.0,1,0,3")
    for pair in ([workers, workers], [tasks, tasks]):
        with pytest.raises(BadRequestError, match="second file"):
            read_constraints(pair)
    with pytest.raises(BadRequestError, match="cannot be read"):
        read_constraints([tmp_path / "missing"])
