import os
import re
import shlex
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import LabError
from shim.lab.word_count import WordCount, find_texts, share_out

TEXTS = (b"The loom, the heddle and THE weft.\nweft-faced\n", b"  \n42 threads\xc3\xa9d; warp's warp")


@pytest.fixture
def job(tmp_path):
    texts = [tmp_path / f"text {number}" for number in range(len(TEXTS))]
    for path, content in zip(texts, TEXTS, strict=True):
        path.write_bytes(content)
    made = WordCount("job", tuple(texts), tmp_path / "job")
    made.prepare()
    return made


def run_container(job, number):
    command = shlex.split(shell_command(job))
    subprocess.run(command, env=os.environ | {"YARN_SHELL_ID": str(number)}, check=True, timeout=60)


def shell_command(job):
    """As DistributedShell's master reads it: Java's readUTF."""
    data = (job.folder / "shellCommands").read_bytes()
    (length,) = struct.unpack(">H", data[:2])
    assert len(data) == 2 + length
    return data[2:].decode()


def test_containers_count_what_is_counted_here(job):
    for number in (1, 2):
        run_container(job, number)
    assert job.counted() == job.expected()
    assert job.counted()["the"] == 3
    assert job.counted()["warp"] == 2


def test_a_container_that_replaces_a_lost_one_counts_what_that_one_has_not(job):
    run_container(job, 2)
    run_container(job, 3)
    assert job.counted() == job.expected()


def test_a_text_that_nobody_counted_is_named(job):
    run_container(job, 1)
    with pytest.raises(LabError, match=re.escape(f"nobody has counted {job.texts[1]}")):
        job.counted()


def test_the_submission_asks_for_a_container_a_text_and_ships_the_command(job):
    context = job.context("application_1_0001", queue="prod", jars=Path("/jars"))
    assert context["application-id"] == "application_1_0001"
    assert context["queue"] == "prod"
    spec = context["am-container-spec"]
    assert f"--num_containers {len(TEXTS)}" in spec["commands"]["command"]
    (shipped,) = spec["local-resources"]["entry"]
    status = (job.folder / "shellCommands").stat()
    # a node refuses a file whose time is not the one that was submitted, to the millisecond
    assert shipped["value"]["timestamp"] == status.st_mtime_ns // 1_000_000
    assert shipped["value"]["size"] == status.st_size


@given(st.integers(0, 30), st.integers(1, 10))
def test_texts_are_dealt_out_whole_and_evenly(texts, applications):
    paths = [Path(str(number)) for number in range(texts)]
    shares = share_out(paths, applications)
    assert sorted(path for share in shares for path in share) == sorted(paths)
    assert all(shares)
    assert not shares or max(map(len, shares)) - min(map(len, shares)) <= 1


def test_this_machine_has_texts_each_once():
    texts = find_texts(5)
    assert len(set(texts)) == len(texts) == 5
    assert all(text.is_file() and not text.is_symlink() for text in texts)
