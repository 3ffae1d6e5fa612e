"""What `make bench` makes of its measurements; the measuring itself is tried on real clusters by running it."""

import itertools
import json
import os
from dataclasses import replace

import pytest

from scripts.bench import __main__ as command
from scripts.bench.cells import TARGETS, Cell, Effort, measure_cells, turned
from scripts.bench.load import COUNTER, Measured, percentile, wrk_script
from scripts.bench.real_masters import tokens_of
from scripts.bench.report import cell_tables, write_section
from scripts.bench.scripted_managers import ScriptedCluster, recorded
from scripts.bench.sections import Bench
from scripts.bench.stage import Stage
from shim.protocol.hrpc.digest_md5 import TokenSecret

RUN = Measured(per_s=100, p50_ms=1, p99_ms=2, requests=50, failed=0, cpu_us=10)
PAGE = "# Title\n\n<!-- a: begin -->\nold\n<!-- a: end -->\n\nwords\n\n<!-- b: begin -->\nkept\n<!-- b: end -->\n"


def test_every_target_is_measured_once_a_round_and_none_is_always_first():
    assert list(turned(TARGETS, 3)) == [
        *("rm", "router", "heddle"),
        *("router", "heddle", "rm"),
        *("heddle", "rm", "router"),
    ]


def test_a_ratio_is_taken_within_a_round():
    rates = {"rm": (100, 10), "router": (10, 0), "heddle": (200, 40)}
    cell = Cell("x", 1, {target: [replace(RUN, per_s=rate) for rate in each] for target, each in rates.items()})
    assert cell.ratios("heddle", "rm", lambda run: run.per_s) == [2, 4]
    assert cell.ratios("heddle", "router", lambda run: run.per_s) == [20]


def test_what_failed_and_where_the_generator_was_the_limit_is_said():
    runs = {target: [RUN, RUN] for target in TARGETS}
    runs["router"] = [RUN, replace(RUN, failed=3)]
    runs["heddle"] = [RUN, replace(RUN, generator=0.97)]
    row = next(line for line in cell_tables([Cell("x", 8, runs)]) if line.startswith("| x"))
    assert row.endswith("| Router: 3 of 100 failed, Heddle: the generator had no time left |")


def test_submissions_are_compared_also_by_when_the_clusters_have_taken_them_up():
    answered = Cell("x", 1, {target: [RUN] for target in TARGETS})
    runs = {target: [replace(RUN, taken_up_per_s=50)] for target in TARGETS}
    runs["heddle"] = [replace(RUN, per_s=10, taken_up_per_s=40)]
    assert "taken up" not in next(cell_tables([answered]))
    heading, _, row = cell_tables([Cell("x", 1, runs)])
    named = dict(zip(heading.split(" | "), row.split(" | "), strict=True))
    assert (named["Heddle / RM"], named["taken up, Heddle / RM"]) == (
        "**0.10** (0.10 to 0.10)",
        "**0.80** (0.80 to 0.80)",
    )


@pytest.mark.parametrize(("share", "value"), [(0, 1), (50, 3), (99, 4), (100, 4)])
def test_percentiles(share, value):
    assert percentile([4, 1, 3, 2], share) == value
    assert percentile([], share) == 0


def test_a_section_takes_its_own_place_and_no_other(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    write_section(page, "a", ["new \\1"])
    assert page.read_text() == PAGE.replace("old", "new \\1")
    with pytest.raises(ValueError, match="no place for the section c"):
        write_section(page, "c", [])
    assert page.read_text() == PAGE.replace("old", "new \\1")


def test_a_section_that_fails_is_told_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    def fails(_):
        yield "a table that is never finished"
        raise RuntimeError("the reason")

    page = tmp_path / "page.md"
    page.write_text(PAGE)
    monkeypatch.setattr(command, "SECTIONS", {"a": fails, "b": lambda _: ["new"]})
    arguments = ["bench", "--page", str(page)]
    monkeypatch.setattr("sys.argv", arguments)
    assert command.main() == 1
    assert "RuntimeError: the reason" in capsys.readouterr().err
    assert "old" in page.read_text()
    assert "kept" not in page.read_text()

    monkeypatch.setattr("sys.argv", [*arguments, "--only", "b"])
    assert command.main() == 0


def test_a_section_that_does_not_exist_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "--only", "rest,nothing"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no section nothing: there are rest" in capsys.readouterr().err


def test_targets_are_not_started_to_be_ended(tmp_path):
    with Bench(tmp_path, 1, Effort(), print) as bench:
        bench.end_stage()
    assert list(tmp_path.iterdir()) == []


def text(value: bytes) -> bytes:
    """As `WritableUtils.writeVInt` and the bytes."""
    length = len(value)
    if length <= 127:
        return bytes((length,)) + value
    return b"\x8f" + bytes((length,)) + value if length < 256 else b"\x8e" + length.to_bytes(2, "big") + value


class Filled(Stage):
    """Clusters that take up so many of what they are given."""

    __slots__ = ("known",)

    def fill(self, count):
        self.known.append(self.known[-1] + count * self.known[0])


def a_filled_stage(monkeypatch, taken_up):
    stage = Filled(None, ("http://one",), {}, {}, {}, {}, {})
    object.__setattr__(stage, "known", [taken_up, 0])
    monkeypatch.setattr("scripts.bench.stage.count_known", lambda _: stage.known[-1])
    return stage


def test_clusters_are_filled_some_at_a_time(monkeypatch):
    stage, said = a_filled_stage(monkeypatch, taken_up=1), []
    stage.fill_to(1200, said.append)
    assert stage.known[1:] == [0, 500, 1000, 1200]
    assert said[-1] == "1000 of 1200 applications"


def test_filling_ends_where_clusters_take_nothing_up(monkeypatch):
    stage = a_filled_stage(monkeypatch, taken_up=0)
    seconds = itertools.count(step=100)
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    with pytest.raises(TimeoutError, match="know 0 of 1200 applications after 1500 s"):
        stage.fill_to(1200, lambda _: None)


def test_tokens_of_a_containers_credentials():
    parts = [(b"", b"i" * 300, b"p" * 20, b"YARN_AM_RM_TOKEN", b""), (b"alias", b"j", b"q" * 200, b"other", b"service")]
    tokens = b"".join(text(part) for each in parts for part in each)
    read = dict(tokens_of(b"HDTS\x00\x02" + tokens + b"\x00"))
    assert read == {b"YARN_AM_RM_TOKEN": TokenSecret(b"i" * 300, b"p" * 20), b"other": TokenSecret(b"j", b"q" * 200)}
    with pytest.raises(ValueError, match="no credentials"):
        list(tokens_of(b"HDTS\x01\x02"))


def test_a_url_with_a_counter_is_another_one_each_time():
    lines = wrk_script(f"http://rm:8088/apps?a=%20&since={COUNTER}&b=1", "GET", {"Accept": "text/xml"}, 500)
    assert "wrk.headers[ [[Accept]] ] = [[text/xml]]" in lines
    assert "local counter = 500" in lines
    assert 'wrk.format(nil, string.format("%s%d%s", [[/apps?a=%20&since=]], counter, [[&b=1]]))' in lines
    assert "request" not in wrk_script("http://rm:8088/apps?a=1", "GET", {}, 500)


def test_what_a_run_measured_of_its_own_processor_time_stands():
    told = Measured(1, 1, 1, 10, 0, cpu_us=7.0)
    pids = dict.fromkeys(TARGETS, os.getpid())
    (cell,) = measure_cells("x", (1,), lambda *_: told, pids=pids, rounds=1, say=lambda _: None)
    assert cell.runs["rm"][0].cpu_us == 7.0


BASE, RUNNING, ENDED = "/ws/v1/cluster", "/ws/v1/cluster/apps?states=RUNNING", "/ws/v1/cluster/apps?states=FINISHED"
NOW_MS = 1_800_000_000_000


def rows_of(cluster, path, now_ms, of="apps", each="app"):
    status, body = cluster.answer(path, now_ms)
    assert status == 200
    return json.loads(body)[of][each]


@pytest.mark.parametrize(
    ("path", "of", "each", "answer", "moving"),
    [
        (RUNNING, "apps", "app", "app_deselect_requests.json", {"progress", "elapsedTime", "memorySeconds"}),
        (f"{BASE}/nodes", "nodes", "node", "all", {"lastHealthUpdate", "cpuUtilization", "memUtilization"}),
    ],
)
def test_scripted_rows_are_recorded_ones_and_move_as_they_do(path, of, each, answer, moving):
    cluster = ScriptedCluster(0, 40, 40, began_ms=NOW_MS)
    before, after = (rows_of(cluster, path, NOW_MS + late_ms, of, each) for late_ms in (0, 2000))
    told = json.loads(recorded("running" if of == "apps" else "nodes", answer))
    sample = told["app"] if of == "apps" else told["nodes"]["node"][0]
    assert all(list(row) == list(sample) for row in before)
    assert all(one[name] != two[name] for one, two in zip(before, after, strict=True) for name in moving)
    assert len({row["id"] for row in before}) == 40


def test_what_scripted_applications_have_used_moves_everywhere_in_a_row():
    cluster = ScriptedCluster(0, 1, 3, began_ms=NOW_MS)
    for row in rows_of(cluster, RUNNING, NOW_MS):
        used_ms = NOW_MS - row["startedTime"]
        assert (row["elapsedTime"], row["vcoreSeconds"]) == (used_ms, used_ms * 6 // 1000)
        assert row["resourceSecondsMap"]["entry"]["value"] == str(row["vcoreSeconds"])


def test_what_was_submitted_is_shown_as_it_came():
    cluster, context = ScriptedCluster(0, 1, 0, began_ms=NOW_MS), {"application-id": "application_5_0007"}
    cluster.submit("bob", json.dumps({**context, "application-name": "mine", "application-type": "BENCH"}).encode(), 0)
    (row,) = rows_of(cluster, RUNNING, NOW_MS)
    shown = [row[each] for each in ("id", "user", "name", "applicationType")]
    assert shown == ["application_5_0007", "bob", "mine", "BENCH"]


def test_some_scripted_nodes_have_given_something_else_each_time():
    cluster = ScriptedCluster(0, 40, 0, began_ms=NOW_MS)
    given = [[row["usedMemoryMB"] for row in rows_of(cluster, f"{BASE}/nodes", NOW_MS, "nodes", "node")] for _ in "12"]
    assert sum(one != two for one, two in zip(*given, strict=True)) == 4


def test_a_tenth_of_the_scripted_applications_ends_in_a_minute_and_as_many_begin():
    cluster = ScriptedCluster(0, 1, 100, ended=5, churn=10, began_ms=NOW_MS)
    first = {row["id"] for row in rows_of(cluster, RUNNING, NOW_MS)}
    later = {row["id"] for row in rows_of(cluster, RUNNING, NOW_MS + 60_000)}
    ended = {row["id"] for row in rows_of(cluster, f"{ENDED}&finishedTimeBegin={NOW_MS + 1}", NOW_MS + 60_000)}
    assert (len(first), len(later), len(first - later)) == (100, 100, 10)
    assert ended == first - later
    assert len(rows_of(cluster, f"{BASE}/apps", NOW_MS + 60_000)) == 115
