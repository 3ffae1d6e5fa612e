"""Started masters: each signal is answered, and what a process is born with does not end it."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.heddle_process import until
from tests.support.started import Started, configuration

STAYS = (
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,
    signal.SIGQUIT,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
)
TOLD = tuple(each.name for each in STAYS if each not in (signal.SIGPIPE, signal.SIGQUIT))
MASTERS = '[masters]\nlisten = "127.0.0.1:0"\nsecret_file = "{folder}/masters.secret"\n'
STALLED = os.pipe()
VERBS = {"serve": ("serve",), "gm": ("gm", "--name", "a"), "lm": ("lm", "--subcluster", "east")}


def started(folder: Path, verb: str = "serve", **circumstances: Any) -> tuple[Started, str]:
    secret = folder / "masters.secret"
    secret.write_text("0123456789abcdef" * 4)
    secret.chmod(0o600)
    more = MASTERS.format(folder=folder) + f'[log]\naudit_file = "{folder}/audit.log"'
    text, doors = configuration(folder, more=more)
    listens = "listens on" if verb == "lm" else " serves "
    return Started(folder, text, verb=VERBS[verb], listens=listens, **circumstances), f"http://{doors['rest']}"


def is_well(url: str) -> bool:
    return httpx.get(f"{url}/healthz", trust_env=False, timeout=60).status_code == 200


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("last", [signal.SIGTERM, signal.SIGINT])
def test_every_signal_is_answered_with_a_line_or_an_end_in_order(tmp_path, verb, last):
    heddle, url = started(tmp_path, verb)
    with heddle:
        for each in STAYS:
            heddle.process.send_signal(each)
        until(lambda: all(f'"{name}"' in heddle.told() for name in TOLD), "each is told of")
        until(lambda: "most recent call first" in heddle.told(), "SIGQUIT shows where the threads are")
        assert verb == "lm" or is_well(url)
        assert heddle.ended(by=last) == 0
        assert "ending" in heddle.told()
        assert not heddle.troubles()


@pytest.mark.parametrize("verb", VERBS)
def test_a_hangup_reads_the_configuration_anew_in_the_same_process(tmp_path, verb):
    heddle, url = started(tmp_path, verb)
    listens = "listens on" if verb == "lm" else " serves "
    with heddle:
        heddle.process.send_signal(signal.SIGHUP)
        until(lambda: "is read anew" in heddle.told(), "it is told of")
        for each in STAYS:  # while it is not there, too
            heddle.process.send_signal(each)
        until(lambda: heddle.told().count(listens) > 1, "it is there again")
        assert verb == "lm" or is_well(url)
        assert heddle.ended(by=signal.SIGTERM) == 0
        assert not heddle.troubles()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[tuple[Started, str]]:
    """Optimised, with open files for everybody, and nothing that a login gives."""
    alone = {"HOME": "", "USER": "", "LOGNAME": ""}
    heddle, url = started(tmp_path, environment=alone, python=("-OO",), before=lambda: os.umask(0))
    with heddle:
        yield heddle, url


def test_a_bare_process_serves_and_keeps_its_files_to_itself(bare):
    heddle, url = bare
    assert is_well(url)
    assert heddle.ended(by=signal.SIGTERM) == 0
    own = [file for file in heddle.folder.iterdir() if file not in (heddle.config, heddle.log)]
    assert {"heddle.db", "audit.log"} <= {file.name for file in own}
    assert {file.name: file.stat().st_mode & 0o077 for file in own if file.stat().st_mode & 0o077} == {}


def test_a_taken_port_ends_it_before_a_cluster_is_asked_and_is_worth_another_try(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as cluster:
        cluster.settimeout(0)
        text, doors = configuration(tmp_path)
        text = text.replace(doors["admin_rpc"], f"127.0.0.1:{taken.getsockname()[1]}")
        text = text.replace("http://127.0.0.1:9", f"http://127.0.0.1:{cluster.getsockname()[1]}")
        heddle = Started(tmp_path, text)
        heddle.begin()
        assert heddle.ended() == 1
        assert "server.admin_rpc" in heddle.told()
        assert "Address already in use" in heddle.told()
        with pytest.raises(BlockingIOError):
            cluster.accept()


def close_all() -> None:
    for number in range(3):
        os.close(number)


def nobody_reads() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    for number in (1, 2):
        os.dup2(writes, number)


def disk_is_full() -> None:
    for number in (1, 2):
        os.dup2(os.open("/dev/full", os.O_WRONLY), number)


def reader_sleeps() -> None:
    for number in (1, 2):
        os.dup2(STALLED[1], number)


@pytest.fixture(scope="module", autouse=True)
def stalled() -> Iterator[None]:
    """A pipe that is full, and whose reader does not read."""
    os.set_blocking(STALLED[1], False)
    with suppress(BlockingIOError):
        while True:
            os.write(STALLED[1], b"." * 4096)
    os.set_blocking(STALLED[1], True)
    yield
    for number in STALLED:
        os.close(number)


@pytest.mark.parametrize("verb", ["serve", "lm"])
@pytest.mark.parametrize("before", [close_all, nobody_reads, disk_is_full, reader_sleeps])
def test_it_serves_on_though_nobody_takes_what_it_says(tmp_path, verb, before):
    heddle, url = started(tmp_path, verb, before=before)
    heddle.begin()
    try:
        until(lambda: heddle.process.poll() is not None or connected(heddle), "it listens")
        assert heddle.process.poll() is None
        heddle.process.send_signal(signal.SIGHUP)
        assert verb == "lm" or is_well(url)
        assert all(file not in held(heddle) for file in ("heddle.db", "heddle.db-wal", "audit.log"))
        assert heddle.ended(by=signal.SIGTERM) == 0
    finally:
        heddle.__exit__()


def connected(heddle: Started) -> bool:
    """Whether it listens anywhere."""
    own = set()
    for each in Path(f"/proc/{heddle.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            own.add(str(each.readlink()))
    lines = Path(f"/proc/{heddle.process.pid}/net/tcp").read_text().splitlines()[1:]
    return any(f"socket:[{line.split()[9]}]" in own for line in lines if line.split()[3] == "0A")


def held(heddle: Started) -> set[str]:
    """Names of the files that it has as standard streams."""
    return {Path(f"/proc/{heddle.process.pid}/fd/{number}").readlink().name for number in range(3)}


def test_a_user_without_a_name_runs_it(tmp_path):
    probe = subprocess.run(["unshare", "-U", "--map-user=4242", "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip("no user namespaces here")
    heddle, url = started(
        tmp_path, environment={"USER": "", "LOGNAME": ""}, wrapper=("unshare", "-U", "--map-user=4242")
    )
    with heddle:
        assert is_well(url)
        assert heddle.ended(by=signal.SIGTERM) == 0


@pytest.mark.parametrize("verb", VERBS)
def test_no_signal_ends_it_while_it_starts(tmp_path, verb):
    """It takes a while until it answers signals; a rotation of logs, or a terminal that goes, waits for nothing."""
    heddle, url = started(tmp_path, verb)
    heddle.begin()
    try:
        until(
            lambda: heddle.process.poll() is not None or ignores(heddle, signal.SIGPROF),
            "it ignores signals, to the last",
        )
        for each in STAYS:
            heddle.process.send_signal(each)
        there = "listens on" if verb == "lm" else " serves "
        until(lambda: heddle.process.poll() is not None or there in heddle.told(), "it is there")
        assert verb == "lm" or is_well(url)
        assert heddle.ended(by=signal.SIGTERM) == 0
    finally:
        heddle.__exit__()


def ignores(heddle: Started, which: signal.Signals) -> bool:
    lines = Path(f"/proc/{heddle.process.pid}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigIgn"))
    return bool(int(mask, 16) >> which - 1 & 1)
