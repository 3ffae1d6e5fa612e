import os
import socket
import subprocess

import pytest

from shim.errors import LabError
from shim.lab.allocation import SLOTS, claim_slot, first_taken, release_slot
from shim.lab.processes import MARKER
from shim.lab.spec import LabSpec
from shim.lab.state import STATE_FILE

SPEC = LabSpec.of(clusters=1, nodes=1)


@pytest.fixture
def listener():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def a_running_lab(folder):
    folder.mkdir()
    (folder / STATE_FILE).touch()
    return folder


def left_by_its_claimer(claim, folder):
    """The claim of a process that has ended: nobody has this pid, it is above the kernel's limit."""
    claim.write_text(f"{1 << 30}\n{folder}\n")


def test_a_port_with_a_listener_is_taken_and_one_without_is_free(listener):
    assert first_taken([listener]) == listener
    assert first_taken(["127.0.0.1:0"]) is None


def test_two_labs_share_no_port_and_no_loopback_network(tmp_path):
    labs = [a_running_lab(tmp_path / name) for name in ("one", "two")]
    (one,), (two,) = (claim_slot(SPEC, folder, tmp_path / "slots") for folder in labs)
    assert not set(one.addresses()) & set(two.addresses())
    assert one.nodes[0].host != two.nodes[0].host


def test_the_slot_of_a_lab_that_is_gone_is_free_again(tmp_path):
    gone = tmp_path / "gone"
    first = claim_slot(SPEC, gone, tmp_path / "slots")
    (claim,) = (tmp_path / "slots").glob("slot-*")
    left_by_its_claimer(claim, gone)
    assert claim_slot(SPEC, tmp_path / "next", tmp_path / "slots") == first


def test_a_lab_that_is_just_starting_keeps_its_slot(tmp_path):
    first = claim_slot(SPEC, tmp_path / "starting", tmp_path / "slots")
    assert str(os.getpid()) in next((tmp_path / "slots").glob("slot-*")).read_text()
    assert claim_slot(SPEC, tmp_path / "next", tmp_path / "slots") != first


def test_a_slot_that_was_given_back_is_free(tmp_path):
    first = claim_slot(SPEC, tmp_path / "lab", tmp_path / "slots")
    release_slot(tmp_path / "lab", tmp_path / "slots")
    assert claim_slot(SPEC, tmp_path / "next", tmp_path / "slots") == first


def test_a_lab_that_is_started_again_holds_one_slot(tmp_path):
    folder = a_running_lab(tmp_path / "lab")
    first = claim_slot(SPEC, folder, tmp_path / "slots")
    assert claim_slot(SPEC, folder, tmp_path / "slots") == first
    assert len(list((tmp_path / "slots").glob("slot-*"))) == 1


def test_a_base_port_that_is_taken_is_named(tmp_path, listener):
    base = int(listener.rpartition(":")[2]) - 88
    spec = LabSpec.of(clusters=1, nodes=1, base_port=base)
    with pytest.raises(LabError, match=f"port {listener} is taken .* choose another --base-port"):
        claim_slot(spec, tmp_path / "lab", tmp_path / "slots")


@pytest.fixture
def all_slots(tmp_path):
    """A process of each of as many labs as there are slots; those who started them have ended."""
    folders = [a_running_lab(tmp_path / str(number)) for number in range(SLOTS)]
    (tmp_path / "slots").mkdir()
    for number, folder in enumerate(folders):
        left_by_its_claimer(tmp_path / "slots" / f"slot-{number}", folder)
    daemons = [subprocess.Popen(["sleep", "600"], env={MARKER: str(folder)}) for folder in folders]
    yield daemons
    for daemon in daemons:
        daemon.kill()
        daemon.wait()


def test_more_labs_than_slots_are_refused(tmp_path, all_slots):
    with pytest.raises(LabError, match=f"all {SLOTS} slots"):
        claim_slot(SPEC, tmp_path / "one-more", tmp_path / "slots")


def test_a_lab_of_which_no_process_is_left_gives_its_slot_to_one_that_finds_no_other(tmp_path, all_slots):
    all_slots[7].kill()
    all_slots[7].wait()
    claim_slot(SPEC, tmp_path / "one-more", tmp_path / "slots")
    assert str(tmp_path / "one-more") in (tmp_path / "slots" / "slot-7").read_text()


def test_a_lab_of_which_no_process_is_left_keeps_its_slot_while_there_are_others(tmp_path):
    killed = a_running_lab(tmp_path / "killed")
    first = claim_slot(SPEC, killed, tmp_path / "slots")
    (claim,) = (tmp_path / "slots").glob("slot-*")
    left_by_its_claimer(claim, killed)
    assert claim_slot(SPEC, tmp_path / "next", tmp_path / "slots") != first
