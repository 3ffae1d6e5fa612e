import os
import signal
import sys

import pytest

from shim.errors import LabError
from shim.lab.processes import (
    MARKER,
    ProcessIdentity,
    marked_processes,
    send,
    spawn,
    state_of,
    tail,
    terminate_all,
    wait_until,
)

SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")
# starts a child that leaves its session, as a node starts containers, and ends
LEAVING_CHILD = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
"""
PARENT = (sys.executable, "-c", LEAVING_CHILD)


@pytest.fixture
def lab_folder(tmp_path):
    yield tmp_path
    terminate_all(tmp_path, timeout_s=20)


def start(command, folder):
    return spawn(command, environment={MARKER: str(folder)}, log=folder / "log" / "it.log")


def test_a_process_that_runs_has_a_state_and_one_that_ended_has_none(lab_folder):
    process = start(SLEEPER, lab_folder)
    assert state_of(process) is not None
    assert send(process, signal.SIGKILL)
    assert wait_until(lambda: state_of(process) is None, timeout_s=20)
    assert not send(process, signal.SIGKILL)


def test_a_process_is_seen_as_the_labs_from_its_first_moment(lab_folder):
    """The kernel shows no environment of a program that is being loaded; one of seven was missed so."""
    for _ in range(40):
        process = start(SLEEPER, lab_folder)
        assert process in list(marked_processes(lab_folder))
        send(process, signal.SIGKILL)


def test_a_later_process_with_the_same_pid_is_never_touched():
    earlier_one = ProcessIdentity(os.getpid(), started=1)
    assert state_of(earlier_one) is None
    assert not send(earlier_one, signal.SIGKILL)


def test_all_that_carry_the_marker_end_even_children_that_left_the_session(lab_folder):
    parent = start(PARENT, lab_folder)
    assert wait_until(lambda: state_of(parent) is None, timeout_s=20)
    assert len(list(marked_processes(lab_folder))) == 1
    assert terminate_all(lab_folder, timeout_s=20) == 1
    assert list(marked_processes(lab_folder)) == []


def test_a_paused_process_ends_too(lab_folder):
    process = start(SLEEPER, lab_folder)
    send(process, signal.SIGSTOP)
    assert wait_until(lambda: state_of(process) == "T", timeout_s=20)
    terminate_all(lab_folder, timeout_s=20)
    assert state_of(process) is None


def test_the_lab_beside_it_is_left_alone(lab_folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    process = start(SLEEPER, other)
    assert terminate_all(lab_folder, timeout_s=20) == 0
    assert state_of(process) is not None
    terminate_all(other, timeout_s=20)


def test_output_and_errors_are_appended_to_the_log_over_restarts(lab_folder):
    log = lab_folder / "log" / "it.log"
    for word in ("first", "second"):
        process = start((sys.executable, "-c", f"import sys; sys.exit('{word}')"), lab_folder)
        assert wait_until(lambda process=process: state_of(process) is None, timeout_s=20)
    assert tail(log, 99) == "first\nsecond"
    assert tail(log, 1) == "second"


def test_a_log_that_is_not_there_has_no_last_lines(tmp_path):
    assert tail(tmp_path / "none.log", 5) == ""


def test_a_program_that_is_not_there_is_an_error_of_the_lab(lab_folder):
    with pytest.raises(LabError, match="cannot start /no/such/java: No such file"):
        start(("/no/such/java",), lab_folder)
