"""What tests do with a federation, on one that is made up."""

from pathlib import Path

import httpx
import pytest

from heddle.testing import Application, FederationError, MissingProgramError, Settings
from heddle.testing.federation import set_properties
from tests.support.made_up_clusters import ID, READY, MadeUp

RUNNING = {"id": ID, "state": "RUNNING", "finalStatus": "UNDEFINED", "diagnostics": ""}
DONE = {**RUNNING, "state": "FINISHED", "finalStatus": "SUCCEEDED"}
LOST = {**RUNNING, "state": "FAILED", "finalStatus": "FAILED", "diagnostics": "its master has ended with 1\n"}


def apps(*reports):
    return {f"/ws/v1/cluster/apps/{ID}": [{"app": report} for report in reports]}


def test_a_program_is_known_by_the_application_that_it_names(tmp_path):
    federation = MadeUp(tmp_path)
    app = federation.submit(["spark-submit", "--master", "yarn"], environment={"MORE": "1"})
    assert app.id == ID
    assert federation.environment == {
        "HADOOP_CONF_DIR": str(tmp_path),
        "YARN_CONF_DIR": str(tmp_path),
        "MORE": "1",
    }


@pytest.mark.parametrize(("code", "how"), [(1, "ended with 1"), (None, "was ended after 0 s")])
def test_a_program_that_submits_nothing_is_shown_with_what_it_printed(tmp_path, code, how):
    federation = MadeUp(tmp_path)
    federation.printed, federation.code = "no such queue: blue\n", code
    with pytest.raises(FederationError, match=f"spark-submit {how} and has submitted nothing:\nno such queue: blue"):
        federation.submit(["spark-submit"], timeout_s=0)
    assert federation.program.killed


def test_a_document_is_submitted_under_a_new_id(tmp_path):
    answers = {
        "/ws/v1/cluster/apps/new-application": [{"application-id": ID}],
        "/ws/v1/cluster/apps": [httpx.Response(202)],
    }
    federation = MadeUp(tmp_path, answers)
    assert federation.submit({"application-name": "it"}).id == ID
    assert federation.asked[-1] == (
        "POST",
        "/ws/v1/cluster/apps",
        {"application-name": "it", "application-id": ID},
    )


def test_what_heddle_refuses_is_told(tmp_path):
    with pytest.raises(FederationError, match="POST /ws/v1/cluster/apps/new-application: 404 no such thing"):
        MadeUp(tmp_path).submit({})


def test_the_end_is_waited_for_though_heddle_is_away_meanwhile(tmp_path):
    away = httpx.Response(503, text="not now")
    federation = MadeUp(tmp_path, {f"/ws/v1/cluster/apps/{ID}": [{"app": RUNNING}, away, {"app": DONE}]})
    app = Application(federation, ID)
    assert federation.wait(app) is app
    assert federation.wait(ID).state == "FINISHED"


def test_an_end_that_was_not_wanted_is_told_with_its_diagnostics(tmp_path):
    federation = MadeUp(tmp_path, apps(LOST))
    with pytest.raises(FederationError, match=f"{ID} ended FAILED, not SUCCEEDED: its master has ended with 1"):
        federation.wait(ID)
    assert federation.wait(ID, status="FAILED").id == ID
    assert federation.wait(ID, status="").id == ID


def test_who_waits_in_vain_is_told_why(tmp_path):
    answers = apps(RUNNING) | {f"/heddle/v1/apps/{ID}/why": [{"reason": "the queue is full"}]}
    with pytest.raises(FederationError, match=f"{ID} is RUNNING after 0 s: the queue is full"):
        MadeUp(tmp_path, answers).wait(ID, timeout_s=0)


def test_a_program_is_run_to_its_end(tmp_path):
    federation = MadeUp(tmp_path)
    federation.printed = "done\n"
    assert federation.run(["yarn", "top"]) == "done\n"
    federation.code = 3
    with pytest.raises(FederationError, match="yarn ended with 3:\ndone"):
        federation.run(["yarn", "top"])
    federation.code = None
    with pytest.raises(FederationError, match="yarn has not ended in time"):
        federation.run(["yarn", "top"], timeout_s=0)


def test_logs_are_in_order_and_name_their_files(tmp_path):
    assert MadeUp(tmp_path).logs(ID) == (
        "==> east-nm1 container_1 stdout\nfirst\n==> east-nm1 container_2 stdout\nsecond\n"
    )


FAULTS = [
    ("kill", "start", "killed", "kill", "start"),
    ("pause", "resume", "paused", "pause", "resume"),
    ("partition", "reunite", "partitioned", "cut", "join"),
]


@pytest.mark.parametrize(("do", "undo", "name", "done", "undone"), FAULTS)
def test_a_fault_is_known_until_it_is_undone(tmp_path, do, undo, name, done, undone):
    federation = MadeUp(tmp_path)
    getattr(federation, do)("east-rm")
    assert federation.faults == (f"east-rm is {name}",)
    with pytest.raises(FederationError, match=f"east-rm is {name} already"):
        getattr(federation, do)("east-rm")
    getattr(federation, undo)("east-rm")
    assert federation.faults == ()
    assert federation.done == [(done, "east-rm"), (undone, "east-rm")]
    with pytest.raises(FederationError, match=f"east-rm is not {name}; amiss are: none"):
        getattr(federation, undo)("east-rm")


def test_a_daemon_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    with pytest.raises(FederationError, match="no daemon west-rm: there are heddle, east-rm, east-nm1"):
        MadeUp(tmp_path).kill("west-rm")


def test_healing_undoes_everything_and_waits_for_the_nodes(tmp_path):
    few = {"nodes": None}
    federation = MadeUp(tmp_path, READY | {"/ws/v1/cluster/nodes": [few, *READY["/ws/v1/cluster/nodes"]]})
    federation.pause("east-rm")
    federation.kill("east-rm")
    federation.partition("heddle")
    federation.heal()
    assert federation.faults == ()
    assert federation.done[3:] == [("resume", "east-rm"), ("start", "east-rm"), ("join", "heddle")]
    assert federation.answers["/ws/v1/cluster/nodes"] == READY["/ws/v1/cluster/nodes"]


def test_a_cluster_is_believed_before_heddle(tmp_path):
    federation = MadeUp(tmp_path, READY)
    federation.active = [0, 0, 1]
    federation.wait_ready()
    assert federation.active == [1]


def test_java_has_the_clients_configuration(tmp_path):
    federation = MadeUp(tmp_path)
    federation.jars, federation.client_conf = Path("/jars"), Path("/conf")
    words = federation.java("org.example.Main", "in", class_path=["mine.jar"])
    assert words[:2] == ["java", "-Xmx256m"]
    assert words[-4:] == ["-cp", "mine.jar:/jars/*:/conf", "org.example.Main", "in"]
    alone = federation.java("org.example.Main", class_path=["spark/*"], hadoop=False, memory_mib=512)
    assert alone[1] == "-Xmx512m"
    assert alone[-2:] == ["spark/*:/conf", "org.example.Main"]


def test_a_block_without_a_daemon_gives_it_back(tmp_path):
    federation = MadeUp(tmp_path)
    with federation.without("east-rm"):
        assert federation.faults == ("east-rm is killed",)
    assert federation.faults == ()


def test_nodes_that_do_not_come_are_told_with_what_the_daemons_said(tmp_path):
    federation = MadeUp(tmp_path, READY | {"/ws/v1/cluster/nodes": [{"nodes": None}]})
    federation.pause("east-nm1")
    with pytest.raises(FederationError, match="0 of 1 nodes\namiss: east-nm1 is paused\n==> heddle\nheddle is well"):
        federation.wait_ready(timeout_s=0)
    with pytest.raises(FederationError, match="Heddle does not answer"):
        MadeUp(tmp_path).wait_ready(timeout_s=0)


def test_at_its_end_clients_are_ended(tmp_path):
    with MadeUp(tmp_path) as federation:
        federation.code = None
        federation.submit(["spark-submit"])
    assert federation.program.killed
    assert federation.done == [("start_up", ""), ("end", "")]


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"nodes": 0}])
def test_nothing_is_no_federation(wrong):
    with pytest.raises(FederationError, match="1 cluster and 1 node or more"):
        Settings(**wrong)


def test_what_is_missing_is_an_error_of_a_federation():
    assert issubclass(MissingProgramError, FederationError)


def test_properties_go_after_those_that_are_there(tmp_path):
    file = tmp_path / "yarn-site.xml"
    set_properties(file, {"a": "1 < 2"})
    set_properties(file, {"b": "&"})
    assert file.read_text() == (
        "<configuration>\n<property><name>a</name><value>1 &lt; 2</value></property>\n"
        "<property><name>b</name><value>&amp;</value></property>\n</configuration>\n"
    )
