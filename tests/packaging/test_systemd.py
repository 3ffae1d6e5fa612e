"""The units for systemd: systemd reads them, they give little away, and Heddle runs under what they forbid."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from tests.doubles.postgresql import free_addresses
from tests.support.confined import filtered_calls
from tests.support.heddle_process import until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "operators" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
PROGRAM = "/opt/heddle/bin/heddle"
MOST_EXPOSED = 11
"""Tenths: `systemd-analyze security` gives 0 to what can do nothing, and 10.0 to what can do all."""

pytestmark = pytest.mark.usefixtures("analyzer")


@pytest.fixture(scope="module")
def analyzer():
    if shutil.which("systemd-analyze") is None:
        if os.environ.get("CI"):
            raise pytest.UsageError("CI has no systemd-analyze: make setup")
        pytest.skip("no systemd-analyze on this machine: make setup")


def sections_of(path):
    """Section by section the values of each key: a key may come several times."""
    found: dict[str, dict[str, list[str]]] = {}
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            found[section] = {}
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[section].setdefault(key, []).append(value)
    return found


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_systemd_finds_nothing_wrong_with_a_unit(path, tmp_path):
    copy = tmp_path / path.name.replace("@", "@east")
    copy.write_text(path.read_text().replace(PROGRAM, sys.executable))  # it looks whether the program is there
    assert analyze("verify", "--man=no", "--recursive-errors=no", str(copy)) == (0, "")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_gives_away_no_more_than_it_needs(path, tmp_path):
    copy = tmp_path / path.name.replace("@", "@east")
    copy.write_text(path.read_text())
    code, told = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", str(copy))
    assert code == 0, told


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_start_verbs_and_options_that_there_are(path):
    service = sections_of(path)["Service"]
    for line in service["ExecStart"] + service.get("ExecStartPre", []):
        program, *words = line.replace("%H", "gm-1").replace("%I", "east").split()
        assert program == PROGRAM
        told = CliRunner().invoke(app, [*words[:-1], "/nowhere/heddle.toml"])
        assert told.exit_code == 2
        assert "/nowhere/heddle.toml" in told.output, told.output


def test_all_units_are_hardened_alike():
    hardening = [path.read_text().partition("# nothing of the machine")[2] for path in UNITS]
    assert len(UNITS) == 3
    assert len(set(hardening)) == 1
    assert len(hardening[0].splitlines()) > 20


def test_the_user_of_the_units_is_one_that_sysusers_makes():
    line = (FOLDER / "heddle.sysusers").read_text().splitlines()[-1]
    assert line.split()[:2] == ["u", "heddle"]
    done = subprocess.run(
        ["systemd-sysusers", "--dry-run", str(FOLDER / "heddle.sysusers")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name: sections_of(path)["Service"]["User"] for path in UNITS} == {
        path.name: ["heddle"] for path in UNITS
    }


def test_heddle_serves_under_the_filter_of_its_unit(tmp_path):
    (rest,) = free_addresses(1)
    config = tmp_path / "heddle.toml"
    config.write_text(
        f'[server]\nrest = "{rest}"\nclient_rpc = "127.0.0.1:0"\nscheduler_rpc = "127.0.0.1:0"\n'
        'admin_rpc = "127.0.0.1:0"\n[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:1"\n'
    )
    calls = filtered_calls(sections_of(FOLDER / "heddle.service")["Service"]["SystemCallFilter"])
    assert "prlimit64" in calls
    assert not calls & {"chroot", "mount", "ptrace", "setuid", "sched_setaffinity"}
    command = [sys.executable, "-m", "tests.support.confined", ",".join(sorted(calls))]
    inside = [sys.executable, "-m", "shim", "serve", "-c", str(config)]
    log = tmp_path / "heddle.log"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        log.open("wb") as written,
        subprocess.Popen([*command, *inside], cwd=tmp_path, env=environment, stdout=written, stderr=written) as it,
    ):
        try:
            until(lambda: it.poll() is not None or b"serves east" in log.read_bytes(), "it serves", within_s=240)
            assert "Seccomp:\t2" in Path(f"/proc/{it.pid}/status").read_text()
            it.send_signal(signal.SIGTERM)
            assert it.wait(timeout=120) == 0, log.read_text()
        finally:
            it.kill()


def test_the_filter_refuses_what_it_does_not_name():
    calls = filtered_calls(["@system-service", "~@privileged @resources"])
    code = "import os; os.chroot('/')"
    command = [sys.executable, "-m", "tests.support.confined", ",".join(calls), sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "PermissionError: [Errno 1]" in done.stderr
