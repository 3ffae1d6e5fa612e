"""Event logs are followed as they grow, below the configured folder alone, whatever is written into them."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.hdfs import WebAccess, folder_at
from adapters.spark import SparkEventLogs
from adapters.spark.event_logs import MAX_LINE_BYTES, job_of_line
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError

APP = ApplicationId(1_700_000_000_000, 7)


def start(job, *stages):
    """A line as Spark 3.5 writes it, of (id, tasks, parents)."""
    infos = [
        {
            "Stage ID": id_,
            "Stage Attempt ID": 0,
            "Stage Name": f"count at x:{id_}",
            "Number of Tasks": tasks,
            "RDD Info": [],
            "Parent IDs": list(parents),
            "Details": "d",
            "Accumulables": [],
            "Resource Profile Id": 0,
        }
        for id_, tasks, parents in stages
    ]
    told = {
        "Event": "SparkListenerJobStart",
        "Job ID": job,
        "Submission Time": 1,
        "Stage Infos": infos,
        "Properties": {},
    }
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


OTHER = b'{"Event":"SparkListenerTaskEnd","Stage ID":0}\n'


def logs(folder):
    return SparkEventLogs([str(folder)], partial(folder_at, access=WebAccess("heddle", (), 1.0)))


@pytest.mark.parametrize("name", [f"{APP}.inprogress", f"{APP}_1.inprogress", f"eventlog_v2_{APP}_1/events_1_{APP}_1"])
def test_the_job_that_began_last_is_known_with_what_waits_for_what(tmp_path, name):
    file, source = tmp_path / name, logs(tmp_path)
    file.parent.mkdir(exist_ok=True)
    assert source.read(APP, "ada", None) is None
    first, second = start(0, (0, 4, ()), (1, 2, (0,))), start(1, (2, 4, ()), (3, 4, ()), (4, 1, (2, 3, 1)))
    file.write_bytes(OTHER + first)
    known = source.read(APP, "ada", None)
    assert [(stage.tasks, stage.waits_for) for stage in known.graph.stages] == [(4, ()), (2, (0,))]
    assert source.read(APP, "ada", known) is known
    with file.open("ab") as log:
        log.write(OTHER + second[:50])
    assert source.read(APP, "ada", known) is known, "half a line is waited for"
    with file.open("ab") as log:
        log.write(second[50:] + OTHER)
    now = source.read(APP, "ada", known)
    assert [stage.waits_for for stage in now.graph.stages] == [(), (), (0, 1)], "stages of earlier jobs are over"
    assert now.part == 2


@pytest.mark.parametrize("form", ["{}.inprogress", "eventlog_v2_{0}/events_1_{0}"])
def test_of_several_attempts_the_newest_is_read_whichever_it_is(tmp_path, form):
    source = logs(tmp_path)
    for attempt in (1, 2, 3, 4):
        file = tmp_path / form.format(f"{APP}_{attempt}")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(start(attempt, (0, attempt, ())))
        assert source.read(APP, "ada", None).graph.stages[0].tasks == attempt
        if attempt == 3:
            assert logs(tmp_path).read(APP, "ada", None).graph.stages[0].tasks == 3, "also by who comes late"


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("attempt", ["", "_1", "_3"])
@pytest.mark.parametrize("form", ["{0}.{1}.inprogress", "eventlog_v2_{0}/events_1_{0}.{1}"])
def test_a_log_that_is_compressed_is_named_not_passed_over(tmp_path, form, attempt, codec):
    file = tmp_path / form.format(f"{APP}{attempt}", codec)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(MalformedJobGraphError, match="is compressed"):
        logs(tmp_path).read(APP, "ada", None)


def test_of_logs_that_are_rolled_the_newest_is_read_from_its_begin(tmp_path):
    folder, source = tmp_path / f"eventlog_v2_{APP}_1", logs(tmp_path)
    folder.mkdir()
    (folder / f"appstatus_{APP}_1.inprogress").touch()
    (folder / f"events_1_{APP}_1").write_bytes(OTHER * 10 + start(0, (0, 4, ())))
    assert source.read(APP, "ada", None).part == 1
    (folder / f"events_2_{APP}_1").write_bytes(start(5, (9, 4, ())))
    assert source.read(APP, "ada", None).part == 6


def test_a_line_that_is_too_long_is_passed_over(tmp_path):
    file, source = tmp_path / f"{APP}.inprogress", logs(tmp_path)
    file.write_bytes(b"x" * (MAX_LINE_BYTES * 2 + 9))
    assert source.read(APP, "ada", None) is None
    with file.open("ab") as log:
        log.write(b"end\n" + start(0, (0, 1, ())))
    assert source.read(APP, "ada", None).part == 1


def test_lines_that_never_end_are_kept_up_to_a_bound_of_all_logs_together(tmp_path):
    source = logs(tmp_path)
    applications = [ApplicationId(1, number) for number in range(20)]
    for each in applications:
        (tmp_path / f"{each}.inprogress").write_bytes(b"x" * (MAX_LINE_BYTES - 1))
        source.read(each, "ada", None)
    assert 0 < source.kept_bytes <= 64 * 1024 * 1024
    for each in applications:
        with (tmp_path / f"{each}.inprogress").open("ab") as log:
            log.write(b"\n" + start(0, (0, 1, ())))
        assert source.read(each, "ada", None).part == 1


def test_a_compressed_log_is_not_read_and_says_why(tmp_path):
    (tmp_path / f"{APP}_1.zstd.inprogress").touch()
    with pytest.raises(MalformedJobGraphError, match="compress"):
        logs(tmp_path).read(APP, "ada", None)


def test_a_log_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_bytes(start(0, (0, 1, ())))
    (tmp_path / f"{APP}.inprogress").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MalformedJobGraphError, match="cannot be read"):
        logs(tmp_path).read(APP, "ada", None)


@given(st.binary(max_size=200))
def test_any_line_is_a_job_or_refused(line):
    for each in (line, b'{"Event":"SparkListenerJobStart"' + line):
        with pytest.raises(MalformedJobGraphError):
            job_of_line(each)


def test_a_log_that_comes_late_is_found_though_it_is_looked_for_seldom_by_then(tmp_path):
    source = logs(tmp_path)
    assert [source.read(APP, "ada", None) for _ in range(30)] == [None] * 30
    (tmp_path / f"{APP}_1.inprogress").write_bytes(start(0, (0, 4, ())))
    assert any(source.read(APP, "ada", None) for _ in range(16))
