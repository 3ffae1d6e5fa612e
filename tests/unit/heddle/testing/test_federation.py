"""What tests do with a federation, on one that is made up."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from heddle.testing import Application, Cluster, Federation, FederationError, MissingProgramError, Settings
from heddle.testing.federation import Program, set_properties

ID = "application_1700000000000_0007"
RUNNING = {"id": ID, "state": "RUNNING", "finalStatus": "UNDEFINED", "diagnostics": ""}
DONE = {**RUNNING, "state": "FINISHED", "finalStatus": "SUCCEEDED"}
LOST = {**RUNNING, "state": "FAILED", "finalStatus": "FAILED", "diagnostics": "its master has ended with 1\n"}
READY = {
    "/heddle/v1/clusters": [{"clusters": [{"id": "east", "state": "RUNNING"}]}],
    "/ws/v1/cluster/nodes": [
        {"nodes": {"node": [{"state": "RUNNING", "availMemoryMB": 1024, "usedMemoryMB": 0}]}},
    ],
}


class MadeUpProgram(Program):
    """One that has ended, or never does."""

    def __init__(self, printed: Path, text: str, code: int | None) -> None:
        super().__init__(printed)
        printed.write_text(text)
        self.code = code
        self.killed = False

    def exit_code(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.killed = True
        self.code = -9 if self.code is None else self.code


class MadeUp(Federation):
    """One cluster, whose answers are a table: the last one of a path is given again and again."""

    def __init__(self, folder: Path, answers: Mapping[str, list[object]] | None = None) -> None:
        super().__init__(Settings(clusters=1), user="ada")
        self.answers = {path: list(rows) for path, rows in (answers or {}).items()}
        self.asked: list[tuple[str, str, object]] = []
        self.active = [1]
        self.done: list[tuple[str, str]] = []
        self.printed, self.code = f"Submitted application {ID}\n", 0
        self.url, self.shared, self.client_conf, self.jars = "http://heddle", folder, folder, folder
        self.clusters = {"east": Cluster("east", "3.4.2", "http://east", ("east-rm", "east-nm1"), folder)}
        self._http = httpx.Client(
            base_url=self.url, params={"user.name": self.user}, transport=httpx.MockTransport(self.answer)
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["user.name"] == "ada"
        path = request.url.path
        self.asked.append((request.method, path, json.loads(request.content) if request.content else None))
        rows = self.answers.get(path)
        if rows is None:
            return httpx.Response(404, text="no such thing")
        found = rows.pop(0) if len(rows) > 1 else rows[0]
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    def start_up(self) -> None:
        self.done.append(("start_up", ""))

    def _end(self) -> None:
        self.done.append(("end", ""))

    def _launch(self, command, environment, printed):
        self.launched, self.environment = command, environment
        self.program = MadeUpProgram(printed, self.printed, self.code)
        return self.program

    def _kill(self, daemon: str) -> None:
        self.done.append(("kill", daemon))

    def _start(self, daemon: str) -> None:
        self.done.append(("start", daemon))

    def _pause(self, daemon: str) -> None:
        self.done.append(("pause", daemon))

    def _resume(self, daemon: str) -> None:
        self.done.append(("resume", daemon))

    def _cut(self, daemon: str) -> None:
        self.done.append(("cut", daemon))

    def _join(self, daemon: str) -> None:
        self.done.append(("join", daemon))

    def _active_nodes(self, cluster: Cluster) -> int:
        assert cluster.id == "east"
        return self.active.pop(0) if len(self.active) > 1 else self.active[0]

    def daemon_log(self, daemon: str) -> str:
        return f"{daemon} is well\n"

    def _container_logs(self, application):
        assert application == ID
        yield "east-nm1 container_2 stdout", "second\n"
        yield "east-nm1 container_1 stdout", "first"
        yield "east-nm1 container_1 stderr", ""


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
    with pytest.raises(FederationError, match="nothing is heard of Heddle"):
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
