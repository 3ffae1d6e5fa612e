"""Histories: what ResourceManagers, SLS and traces tell is read; what cannot be is refused with the reason."""

import json

import pytest

from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.simulation.what_if.past_jobs import full_path, modelled
from shim.simulation.what_if.recorded import history_of_file, history_of_text


def app(number=1, **changed):
    return {
        "id": f"application_1800000000000_{number:04d}",
        "user": "alice",
        "queue": "etl",
        "state": "FINISHED",
        "startedTime": 1_800_000_000_000 + number * 1000,
        "launchTime": 1_800_000_002_000 + number * 1000,
        "finishedTime": 1_800_000_062_000 + number * 1000,
        "memorySeconds": 2048 * 60 * 5,
        "vcoreSeconds": 60 * 5,
    } | changed


def told(*apps):
    return history_of_text(json.dumps({"apps": {"app": list(apps)}}), "apps.json", 100)


def test_an_application_is_as_wide_and_as_long_as_it_was():
    (job,) = told(app()).jobs
    assert (job.arrival_s, job.waited_s, job.took_s, job.run_s) == (0.0, 2.0, 62.0, 60.0)
    (made,) = modelled([job], ["root.etl"], startup_s=5.0)
    assert made.queue == "root.etl"
    durations = made.stages[0].durations_s
    assert max(durations) == pytest.approx(55.0)
    assert sum(durations) == pytest.approx(60 * 4)
    assert (made.stages[0].size.memory_mib, made.master.memory_mib) == (2048, 2048)


def test_work_can_be_cut_into_tasks():
    (made,) = modelled(told(app()).jobs, ["root.etl"], startup_s=5.0, task_s=10.0)
    assert made.stages[0].durations_s == (10.0,) * 24


def test_one_that_had_only_its_master_uses_no_more_than_that():
    (job,) = told(app(memorySeconds=2048 * 60, vcoreSeconds=60)).jobs
    (made,) = modelled([job], ["root.etl"], startup_s=5.0)
    assert made.stages[0].durations_s == (55.0,)
    assert made.master.memory_mib + made.stages[0].size.memory_mib == 2048


def test_what_cannot_be_replayed_is_counted():
    history = told(app(1), app(2, state="RUNNING"), app(3, launchTime=0), app(4, unmanagedApplication=True))
    assert len(history.jobs) == 1
    assert dict(history.left_out) == {"not ended": 1, "never launched": 1, "unmanaged: a part of another one": 1}


def test_an_older_manager_tells_no_launch():
    row = app()
    del row["launchTime"]
    (job,) = told(row).jobs
    assert (job.waited_s, job.run_s, job.took_s) == (None, 62.0, 62.0)


def test_the_first_by_submission_are_taken():
    rows = [app(number) for number in (9, 2, 5)]
    history = history_of_text(json.dumps({"apps": {"app": rows}}), "apps.json", 2)
    assert [job.arrival_s for job in history.jobs] == [0.0, 3.0]
    assert [job.name[-1] for job in history.jobs] == ["2", "5"]


ODD_ROWS = [
    ({"id": "application_x"}, "no id of an application"),
    ({"id": 5}, "no id of an application"),
    ({"finishedTime": 0}, "no finishedTime that can be"),
    ({"finishedTime": 1_800_000_001_000}, "ended before it began"),
    ({"launchTime": 1_900_000_000_000}, "ended before it began"),
    ({"launchTime": -1}, "no launchTime that can be"),
    ({"startedTime": float("nan")}, "no startedTime that can be"),
    ({"startedTime": "soon"}, "no startedTime that can be"),
    ({"startedTime": 1}, "no startedTime that can be"),
    ({"startedTime": None}, "no startedTime that can be"),
    ({"startedTime": True}, "no startedTime that can be"),
    ({"startedTime": 2**70}, "no startedTime that can be"),
    ({"finishedTime": 1e300}, "no finishedTime that can be"),
    ({"vcoreSeconds": -1}, "no vcoreSeconds that can be"),
    ({"vcoreSeconds": [1]}, "no vcoreSeconds that can be"),
    ({"memorySeconds": -1}, "no memorySeconds that can be"),
    ({"memorySeconds": float("inf")}, "no memorySeconds that can be"),
    ({"memorySeconds": 10**400}, "no memorySeconds that can be"),
    ({"memorySeconds": 0}, "never launched"),
    ({"queue": ""}, "no queue that can be"),
    ({"queue": "a b\n"}, "no queue that can be"),
    ({"queue": "x" * 4000}, "no queue that can be"),
    ({"queue": None}, "no queue that can be"),
    ({"queue": {"a": 1}}, "no queue that can be"),
    ({"user": "a/b/c"}, "no user that can be"),
    ({"user": "\x1b[2J"}, "no user that can be"),
    ({"user": None}, "no user that can be"),
    ({"state": None}, "a state that is not known"),
    ({"state": "RESTING"}, "a state that is not known"),
    ({"state": "ACCEPTED"}, "not ended"),
]


@pytest.mark.parametrize(("changed", "reason"), ODD_ROWS)
def test_an_odd_application_costs_itself_alone_and_is_counted_by_what_is_odd(changed, reason):
    history = told(app(1), app(2, **changed), app(3))
    assert [job.name[-1] for job in history.jobs] == ["1", "3"]
    assert dict(history.left_out) == {reason: 1}


@pytest.mark.parametrize("member", ["id", "user", "queue", "state", "startedTime", "finishedTime", "memorySeconds"])
def test_an_application_without_a_member_costs_itself_alone(member):
    odd = app(2)
    del odd[member]
    history = told(app(1), odd, 5, None, [], "x", app(3))
    assert [job.name[-1] for job in history.jobs] == ["1", "3"]
    assert sum(count for _, count in history.left_out) == 5


def test_a_launch_that_is_told_as_before_the_submission_was_at_it():
    (job,) = told(app(launchTime=1_800_000_000_999)).jobs
    assert (job.waited_s, job.run_s) == (0.0, 62.0)


def test_where_no_application_is_left_the_reasons_are_said():
    with pytest.raises(BadRequestError, match=r"apps\.json.*2 no queue that can be; 1 not ended"):
        told(app(1, queue=None), app(2, queue=""), app(3, state="RUNNING"))


def test_a_list_of_one_may_be_that_one():
    assert len(history_of_text(json.dumps({"apps": {"app": app()}}), "apps.json", 10).jobs) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"apps": null}', '{"apps": {"app": []}}', '{"apps": 5}', "[" * 100_000, '{"a": 1}', "\0"],
)
def test_what_is_no_history_is_said_to_be_none(text):
    with pytest.raises(BadRequestError, match=r"apps\.json"):
        history_of_text(text, "apps.json", 10)


def test_a_history_is_neither_too_large_nor_too_long(monkeypatch, tmp_path):
    with pytest.raises(BadRequestError, match="spans"):
        told(app(1), app(2, startedTime=1_700_000_000_000))
    monkeypatch.setattr("shim.simulation.what_if.recorded.MOST_BYTES", 10)
    with pytest.raises(BadRequestError, match="more than the 10 bytes"):
        told(app())
    file = tmp_path / "apps.json"
    file.write_text(json.dumps({"apps": {"app": [app()]}}))
    with pytest.raises(BadRequestError, match="more than the 10 bytes"):
        history_of_file(file, 10)


def test_containers_without_end_are_refused():
    with pytest.raises(BadRequestError, match="containers"):
        modelled(told(app(vcoreSeconds=10**15)).jobs, ["root.etl"], startup_s=5.0)


def test_queues_are_found_by_leaf_and_by_path():
    assert full_path("etl", ["root.etl", "root.b.etl2"]) == "root.etl"
    assert full_path("root.b.x", ["root.b.x", "root.x"]) == "root.b.x"
    with pytest.raises(BadRequestError, match=r"root\.a\.x and root\.b\.x"):
        full_path("x", ["root.a.x", "root.b.x"])
    with pytest.raises(BadRequestError, match=r"they have root\.a"):
        full_path("x", ["root.a"])


def sls(**changed):
    task = {"container.start.ms": 5000, "container.end.ms": 15_000, "container.type": "map", "container.host": "/r/n1"}
    reduce = task | {"container.start.ms": 15_000, "container.end.ms": 18_000, "container.type": "reduce"}
    return {
        "job.start.ms": 4000,
        "job.end.ms": 20_000,
        "job.queue.name": "etl",
        "job.user": "bob",
        "job.tasks": [task, task, reduce],
    } | changed


def test_sls_tells_stages_and_completion():
    history = history_of_text(json.dumps(sls()) + "\n" + json.dumps(sls()), "sls.json", 10)
    first = history.jobs[0]
    assert len(history.jobs) == 2
    assert (first.queue, first.user, first.took_s, first.waited_s) == ("etl", "bob", 16.0, None)
    assert [stage.durations_s for stage in first.stages] == [(10.0, 10.0), (3.0,)]
    assert [stage.needs for stage in first.stages] == [(), (0,)]


TASK = {"duration.ms": 50_000}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"job.end.ms": 1}, "ends before it starts"),
        ({"job.queue.name": "a b"}, "no queue that can be"),
        ({"job.user": "a b/c/d"}, "user name"),
        ({"job.tasks": []}, "has no tasks"),
        ({"job.tasks": [{"container.start.ms": 1}]}, "has no duration.ms"),
        ({"job.tasks": [{"duration.ms": -1}]}, "ends before it starts"),
        ({"job.tasks": [{"duration.ms": "nan"}]}, "ends before it starts, or too late"),
        ({"job.tasks": [TASK | {"container.memory": 2048}]}, "container.memory"),
        ({"job.tasks": [TASK | {"container.gpu": 1}]}, "container.gpu"),
        ({"job.tasks": [TASK | {"container.request.delay": 1000}]}, "container.request.delay"),
        ({"job.tasks": [TASK | {"container.execution.type": "OPPORTUNISTIC"}]}, "OPPORTUNISTIC"),
        ({"job.tasks": [TASK | {"count": 2_000_000}]}, "count is 2000000"),
        ({"job.count": 1000, "job.tasks": [TASK | {"count": 1_001}]}, "more than 1000000 tasks"),
        ({"am.type": "stream"}, "am.type 'stream'"),
        ({"job.label": "gpu"}, "job.label"),
        ({"workloads": []}, "SYNTH"),
        ({"a.new.member": {"x": 1}}, "a.new.member"),
        ({"job.tasks": TASK}, 'has no list job.tasks, but {"duration.ms": 50000}'),
        ({"job.tasks": [None]}, "is null, and no object"),
        ({"job.tasks": [TASK | {"container.memory-mb": -5}]}, "container.memory-mb is -5"),
        ({"job.tasks": [TASK | {"container.memory-mb": 2048.7}]}, "container.memory-mb is 2048.7"),
        ({"job.tasks": [TASK | {"container.host": ["a"]}]}, 'container.host is ["a"], and no text'),
        ({"job.tasks": [{"duration.ms": True}]}, "ends before it starts"),
        ({"job.count": 2.5}, "job.count is 2.5"),
        ({"job.queue.name": [1]}, "job.queue.name is [1], and no text"),
        ({"job.start.ms": None}, "no start that can be"),
    ],
)
def test_sls_that_is_not_understood_is_refused_by_name(changed, named):
    with pytest.raises(BadRequestError, match=r"sls\.json") as caught:
        history_of_text(json.dumps(sls(**changed)), "sls.json", 10)
    assert named in str(caught.value)


@pytest.mark.parametrize("text", ["[[1]]", "5", '[{"job.tasks": []}]', "[" * 100_000])
def test_what_is_no_sls_is_refused_in_words_of_the_file(text):
    with pytest.raises(BadRequestError, match=r"sls\.json is no list .*trace: (a document is .*no object|.*too deep)"):
        history_of_text(text, "sls.json", 10)


def test_null_in_sls_is_as_if_it_were_left_out():
    nulls = {"job.queue.name": None, "job.user": None, "job.count": None}
    (job,) = history_of_text(json.dumps(sls(**nulls)), "sls.json", 10).jobs
    assert (job.queue, job.user) == ("default", "default")


def test_counts_of_jobs_and_tasks_are_as_many_jobs_and_tasks():
    counted = sls(**{"job.id": "job_1", "job.count": 10, "job.tasks": [TASK | {"count": 40, "container.type": "map"}]})
    jobs = history_of_text(json.dumps(counted), "sls.json", 100).jobs
    assert len(jobs) == 10
    assert {job.stages[0].durations_s for job in jobs} == {(50.0,) * 40}
    assert len({job.name for job in jobs}) == 10


def test_a_time_of_a_task_goes_before_its_start_and_end_and_numbers_may_be_texts():
    tasks = [{"duration.ms": "7000", "container.start.ms": 0, "container.end.ms": 1, "count": "2"}]
    reduces = [{"container.duration.ms": 3000, "container.type": "reduce", "container.memory-mb": 4096}]
    (job,) = history_of_text(json.dumps(sls(**{"job.tasks": tasks + reduces})), "sls.json", 10).jobs
    assert [stage.durations_s for stage in job.stages] == [(7.0, 7.0), (3.0,)]
    assert [stage.size.memory_mib for stage in job.stages] == [1024, 4096]


def test_the_documented_sample_of_hadoop_is_read():
    nodes = {"num.nodes": 3, "num.racks": 1}
    neutral = {"container.priority": 20, "container.execution.type": "GUARANTEED", "container.allocation.id": -1}
    job = sls(**{"am.type": "mapreduce", "job.count": 1, "job.tasks": [TASK | neutral], "am.memory-mb": 2048})
    text = json.dumps(nodes) + json.dumps(job)
    (found,) = history_of_text(text, "sls.json", 10).jobs
    assert found.master == ResourceVector(2048, 1)
    (made,) = modelled([found], ["root.etl"], startup_s=5.0)
    assert made.master == ResourceVector(2048, 1)


def rumen():
    attempts = [{"startTime": 2_000, "finishTime": -1}, {"startTime": 5_000, "finishTime": 9_000, "hostName": "/r/a"}]
    return {
        "jobID": "job_1_0001",
        "submitTime": 1_000,
        "finishTime": 30_000,
        "user": "bob",
        "queue": "etl",
        "jobMapMB": 2048,
        "jobReduceMB": -1,
        "mapTasks": [{"attempts": attempts}, {"attempts": attempts[1:]}, {"attempts": attempts[:1]}],
        "reduceTasks": [{"attempts": [{"startTime": 10_000, "finishTime": 25_000}]}],
    }


def test_a_rumen_trace_is_read_as_the_simulator_of_hadoop_reads_it():
    (job,) = history_of_text(json.dumps(rumen()), "rumen.json", 10).jobs
    assert (job.queue, job.user, job.took_s) == ("etl", "bob", 29.0)
    assert [stage.durations_s for stage in job.stages] == [(4.0, 4.0), (15.0,)]
    assert [stage.size.memory_mib for stage in job.stages] == [2048, 1024]


@pytest.mark.parametrize(
    "changed",
    [
        {"mapTasks": 5},
        {"mapTasks": [], "reduceTasks": None},
        {"submitTime": None},
        {"jobMapMB": "x"},
        {"mapTasks": [1]},
    ],
)
def test_a_wrong_rumen_trace_is_refused(changed):
    with pytest.raises(BadRequestError, match=r"rumen\.json"):
        history_of_text(json.dumps(rumen() | changed), "rumen.json", 10)


def test_a_trace_tells_tasks_alone(tmp_path):
    file = tmp_path / "some.tr"
    file.write_text("3.0 2 4 4 5\n7.5 1 6 6\n")
    history = history_of_file(file, 10)
    assert [job.arrival_s for job in history.jobs] == [0.0, 4.5]
    assert history.jobs[0].stages[0].durations_s == (4.0, 5.0)
    assert history.queues == ("root.default",)
    with pytest.raises(BadRequestError, match="cannot be read"):
        history_of_file(tmp_path / "none.json", 10)
