"""The showcase against a front that runs the containers' commands itself."""

import os
import shlex
import subprocess

import pytest

from shim.errors import LabError
from shim.lab.showcase import run_word_counts, submit_word_count
from shim.lab.word_count import WordCount


class RunsAtOnce:
    """A front that runs every container of an application as soon as it is asked about it; `ends` is how that ends."""

    def __init__(self, ends="FINISHED"):
        self.ends = ends
        self.submitted = {}
        self.asked = []

    def ask(self, call):
        return self.get(call.path) if call.method == "GET" else self.post(call.path, call.body)

    def post(self, path, body=None):
        if path.endswith("/new-application"):
            return {"application-id": f"application_7_{len(self.submitted) + 1:04}"}
        self.submitted[body["application-id"]] = body
        return {}

    def get(self, path):
        self.asked.append(path)
        id_ = path.split("/")[4]
        if path.endswith("/why"):
            return {"reason": "it was the only one"}
        if self.asked.count(path) == 1:
            return {"app": {"state": "ACCEPTED", "cluster": "east"}}
        self.run_containers(id_)
        return {"app": {"state": self.ends, "cluster": "east", "diagnostics": "as told"}}

    def run_containers(self, id_):
        (shipped,) = self.submitted[id_]["am-container-spec"]["local-resources"]["entry"]
        with open(shipped["value"]["resource"].removeprefix("file://"), "rb") as file:  # noqa: PTH123 - a URL
            command = shlex.split(file.read()[2:].decode())
        for number in ("1", "2"):
            subprocess.run(command, env=os.environ | {"YARN_SHELL_ID": number}, check=False, timeout=60)


class CountsWrongly(RunsAtOnce):
    """Its containers leave out a text's words."""

    def run_containers(self, id_):
        super().run_containers(id_)
        (shipped,) = self.submitted[id_]["am-container-spec"]["local-resources"]["entry"]
        folder = os.path.dirname(shipped["value"]["resource"].removeprefix("file://"))  # noqa: PTH120 - a URL
        os.truncate(os.path.join(folder, "counts", "2"), 0)  # noqa: PTH118 - as above


class NeverStarts(RunsAtOnce):
    """Its applications wait for ever."""

    def get(self, _):
        return {"app": {"state": "ACCEPTED", "cluster": ""}}


@pytest.fixture
def jobs(tmp_path):
    texts = [tmp_path / "one", tmp_path / "two"]
    for number, text in enumerate(texts):
        text.write_text("warp weft " * (number + 1))
    return [(WordCount("job", tuple(texts), tmp_path / "job"), "prod")]


def run(front, jobs, tmp_path, timeout_s=60):
    changes = []
    outcome = run_word_counts(front, jobs, jars=tmp_path, timeout_s=timeout_s, watch=changes.append)
    return *outcome, changes


def test_rows_tell_where_each_ran_why_and_what_it_counted(jobs, tmp_path):
    (row,), total, changes = run(RunsAtOnce(), jobs, tmp_path)
    assert (row.id, row.cluster, row.queue, row.state) == ("application_7_0001", "east", "prod", "FINISHED")
    assert (row.containers, row.words, row.reason) == (3, 6, "it was the only one")
    assert total == {"warp": 3, "weft": 3}
    assert [rows[0].state for rows in changes] == ["SUBMITTED", "ACCEPTED", "FINISHED"]


def test_one_that_was_submitted_before_is_not_submitted_again(jobs, tmp_path):
    front = RunsAtOnce()
    begun = [submit_word_count(front, *jobs[0], jars=tmp_path)]
    (row,), _ = run_word_counts(front, jobs, jars=tmp_path, timeout_s=60, watch=lambda _: None, begun=begun)
    assert list(front.submitted) == [begun[0].id] == [row.id]
    assert row.state == "FINISHED"


def test_one_that_fails_is_told_with_its_diagnostics(jobs, tmp_path):
    with pytest.raises(LabError, match=r"application_7_0001 \(job\) ended FAILED on east: as told"):
        run(RunsAtOnce(ends="FAILED"), jobs, tmp_path)


def test_a_wrong_count_is_no_success(jobs, tmp_path):
    with pytest.raises(LabError, match="has counted wrongly"):
        run(CountsWrongly(), jobs, tmp_path)


def test_one_that_never_ends_is_named(jobs, tmp_path):
    with pytest.raises(LabError, match="after 0 s: application_7_0001 is SUBMITTED"):
        run(NeverStarts(), jobs, tmp_path, timeout_s=0)
