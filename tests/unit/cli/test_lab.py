"""`heddle lab` and `heddle demo` where nothing has to be started."""

import getpass
import json
import os
import sys

import pytest
import typer
from typer.testing import CliRunner

from heddle.client.workflows import CALLS
from shim.cli.demo import Patient
from shim.cli.front import ExitCode, FrontError
from shim.cli.lab import fail_with_log, print_lab
from shim.cli.main import app
from shim.errors import LabError
from shim.lab import Lab, LabSpec
from shim.lab.layout import lay_out
from shim.lab.processes import MARKER, spawn, state_of, terminate_all
from shim.lab.state import ClusterRecord, DaemonRecord, LabState, write_state


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def sleeping_lab(tmp_path):
    """A lab whose only daemon is a program that sleeps."""
    (tmp_path / ".heddle-lab").touch()
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    log = tmp_path / "east" / "east-rm" / "daemon.log"
    process = spawn(command, environment=os.environ | {MARKER: str(tmp_path)}, log=log)
    spec = LabSpec.of(clusters=1, nodes=1)
    (layout,) = lay_out(spec, base_port=21_000, first_octet=10)
    daemon = DaemonRecord("east-rm", "east", "org.Main", str(log.parent), layout.primary.web, process)
    write_state(tmp_path, LabState((ClusterRecord(spec.clusters[0], layout, "/jars"),), (daemon,), spec.tuning))
    yield tmp_path, process
    terminate_all(tmp_path, timeout_s=20)


def states(folder):
    return [row["state"] for row in json.loads(run("lab", "status", "--dir", folder, "-o", "json").stdout)]


def test_verbs_do_what_they_say_and_status_tells_it(sleeping_lab):
    folder, process = sleeping_lab
    assert states(folder) == ["running"]
    for verb, outcome in (("pause", "paused"), ("resume", "running"), ("kill", "dead")):
        assert run("lab", verb, "east-rm", "--dir", folder).exit_code == 0
        assert states(folder) == [outcome]
    assert state_of(process) is None


def test_a_daemon_that_is_not_there_has_its_own_exit_code(sleeping_lab):
    result = run("lab", "pause", "east-nm9", "--dir", sleeping_lab[0])
    assert (result.exit_code, result.stderr) == (3, "no daemon 'east-nm9' in this lab; it has east-rm\n")


def test_a_dry_run_only_says_what_would_happen(sleeping_lab):
    folder, _ = sleeping_lab
    assert (
        run("lab", "kill", "east-rm", "--dry-run", "--dir", folder).stdout == "would kill east-rm, which is running\n"
    )
    assert run("lab", "kill", "east-nm9", "--dry-run", "--dir", folder).stdout == "there is no east-nm9\n"
    assert run("lab", "down", "--dry-run", "--dir", folder).stdout.startswith("would end every process")
    assert run("demo", "down", "--dry-run", "--dir", folder).stdout.startswith("would end every process")
    assert states(folder) == ["running"]


def test_down_says_how_many_ended_and_again_that_there_was_nothing(sleeping_lab):
    folder, process = sleeping_lab
    assert run("lab", "down", "--dir", folder).stdout == "1 processes ended\n"
    assert state_of(process) is None
    assert run("lab", "down", "--dir", folder).stdout == "no lab was running\n"
    assert run("demo", "down", "--dir", folder).stdout == "nothing was running\n"


def test_what_would_be_started_is_said_without_starting_it(tmp_path):
    folder = tmp_path / "lab"
    result = run("lab", "up", "--hadoop", "west=3.5.0", "--nodes", 1, "--dir", folder, "--dry-run")
    assert "would start 4 daemons" in result.stdout
    assert "east (3.4.2, 1 nodes), west (3.5.0, 1 nodes)" in result.stdout
    assert not folder.exists()


@pytest.mark.parametrize(("arguments", "daemons"), [((), 4), (("--kerberos",), 5), (("--realm", "ONE.LAB"), 4)])
def test_a_kdc_is_started_where_tickets_are_asked_for(tmp_path, arguments, daemons):
    result = run("lab", "up", *arguments, "--nodes", 1, "--dir", tmp_path / "lab", "--dry-run")
    assert f"would start {daemons} daemons" in result.stdout


def test_a_secured_lab_tells_how_to_get_a_ticket(tmp_path, capsys):
    spec = LabSpec.of(clusters=1, nodes=1, realm="ONE.LAB")
    (layout,) = lay_out(spec, base_port=21_000, first_octet=10)
    write_state(tmp_path, LabState((ClusterRecord(spec.clusters[0], layout, "/jars"),), (), spec.tuning))
    print_lab(Lab(tmp_path))
    told, kerberos = capsys.readouterr().out, tmp_path / "kerberos"
    assert f"export KRB5_CONFIG={kerberos}/krb5-ONE.LAB.conf" in told
    assert f"kinit -k -t {kerberos}/administrator-ONE.LAB.keytab {getpass.getuser()}@ONE.LAB" in told


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("up", "--kerberos", "--realm", "east=lower"), 1, "'lower' is no realm"),
        (("up", "--kerberos", "--protection", "none"), 1, "choose one of authentication, integrity, privacy"),
        (("up", "--hadoop", "2.7.1"), 1, "Hadoop 2.7.1 is not supported"),
        (("up", "--clusters", 11), 1, "11 clusters; a lab has 1 to 10"),
        (("status",), 3, "start one with `heddle lab up`"),
        (("pause", "east-rm"), 3, "start one with `heddle lab up`"),
    ],
)
def test_mistakes_end_with_a_message_and_their_code(arguments, code, told, tmp_path):
    result = run("lab", *arguments, "--dir", tmp_path / "none")
    assert result.exit_code == code
    assert told in result.stderr


def test_a_missing_java_is_said_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    result = run("lab", "up", "--dir", tmp_path / "lab")
    assert result.exit_code == 1
    assert "no java in PATH" in result.stderr
    assert "apt-get install openjdk-17-jre-headless" in result.stderr


def test_a_log_in_a_message_keeps_its_lines_and_drives_no_terminal(capsys):
    with pytest.raises(typer.Exit):
        fail_with_log(LabError("east-rm ended. Last lines of x:\nfirst \x1b[31mred\nsecond"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "east-rm ended. Last lines of x:"
    assert lines[-1] == "second"
    assert not any("\x1b" in line for line in lines)


def test_a_preset_says_what_its_clusters_are(tmp_path):
    told = run("lab", "up", "--preset", "mixed", "--dry-run", "--dir", tmp_path / "lab").stdout
    assert "would start 11 daemons" in told
    assert "east (3.1.1, 3 nodes), west (3.4.2, 3 nodes), north (3.2.4, 2 nodes)" in told


class Begins:
    """A Heddle that refuses so many calls first."""

    def __init__(self, refusals, code=ExitCode.UNAVAILABLE):
        self.left = refusals
        self.code = code

    def ask(self, call):
        if self.left:
            self.left -= 1
            raise FrontError(self.code, "its queues are not known yet")
        return {"call": call}


def test_a_demo_waits_for_clusters_that_take_nothing_yet_and_for_nothing_else():
    call = CALLS.clusters()
    assert Patient(Begins(2), most_s=60.0).ask(call) == {"call": call}
    with pytest.raises(FrontError, match="not known yet"):
        Patient(Begins(2), most_s=0.0).ask(call)
    with pytest.raises(FrontError):
        Patient(Begins(1, ExitCode.FAILED), most_s=60.0).ask(call)
