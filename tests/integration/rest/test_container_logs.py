"""Logs of containers over the web services: where they are asked for, and who may read them."""

import json
from collections.abc import Mapping

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError, ResourceManagerError
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

ONE = ApplicationId(1_700_000_000_000, 6)
ATTEMPT = "appattempt_1700000000000_0006_000001"
CONTAINER = "container_1700000000000_0006_01_000002"
LOGS = f"/heddle/v1/containers/{CONTAINER}/logs"
LISTED = {
    "containerLogsInfo": [
        {
            "containerLogInfo": [
                {"fileName": "stdout", "fileSize": "12"},
                {"fileName": "syslog", "fileSize": 7},
                {"fileName": "../../etc/passwd", "fileSize": "1"},
                {"fileName": 5},
                "odd",
            ],
            "logAggregationType": "LOCAL",
        }
    ]
}


class KnowsAContainer:
    """A ResourceManager that tells where one container runs."""

    def __init__(
        self, address: object = "http://west-n1:8042", status: int = 200, *, member: str = "nodeHttpAddress"
    ) -> None:
        self.address = address
        self.member = member
        self.status = status

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """That, and all else as ever."""
        del timeout_s
        if not request.path.endswith(f"/appattempts/{ATTEMPT}/containers/{CONTAINER}"):
            return manager.take(request)
        told = {"containerId": CONTAINER, self.member: self.address}
        return RestAnswer(self.status, (("Content-Type", "application/json"),), json.dumps(told).encode())


class Nodes:
    """NodeManagers of a sub-cluster: what they were asked, and what they answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, RestRequest]] = []
        self.answers: Mapping[str, RestAnswer | ResourceManagerError] = {
            f"/ws/v1/node/containers/{CONTAINER}/logs": RestAnswer(200, (), json.dumps(LISTED).encode()),
            f"/ws/v1/node/containerlogs/{CONTAINER}/stdout": RestAnswer(200, (), b"hello \xff"),
        }

    async def ask(self, address: str, request: RestRequest) -> RestAnswer:
        self.asked.append((address, request))
        answer = self.answers.get(request.path, RestAnswer(404, (), b""))
        if isinstance(answer, ResourceManagerError):
            raise answer
        return answer


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.fixture
async def server(nodes: Nodes) -> ScriptedServer:
    opened = ScriptedServer(
        rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)), nodes={SubClusterId("west"): nodes.ask}
    )
    opened.federation["west"].add_application(ONE, user="bob")
    opened.federation["west"].behave(KnowsAContainer())
    await opened.poll()
    return opened


async def test_files_are_those_of_the_node_that_its_cluster_tells(server, nodes):
    told = body_of(await server.ask("GET", f"{LOGS}?user.name=bob"))
    assert told == {
        "container": CONTAINER,
        "cluster": "west",
        "node": "west-n1:8042",
        "files": [{"file": "stdout", "bytes": 12}, {"file": "syslog", "bytes": 7}],
    }
    ((address, request),) = nodes.asked
    assert (address, request.user) == ("west-n1:8042", "bob")


async def test_an_old_cluster_tells_the_node_by_the_address_of_the_logs(server, nodes):
    url = f"http://west-n1:8042/node/containerlogs/{CONTAINER}/bob"
    server.federation["west"].behave(KnowsAContainer(url, member="logUrl"))
    assert body_of(await server.ask("GET", f"{LOGS}?user.name=bob"))["node"] == "west-n1:8042"


async def test_the_end_of_a_file_is_text_whatever_was_printed(server, nodes):
    told = body_of(await server.ask("GET", f"{LOGS}/stdout?tail=100&user.name=bob"))
    assert told == {"container": CONTAINER, "file": "stdout", "text": "hello \ufffd", "start": None, "size": None}
    assert nodes.asked[0][1].parameters == (("size", "-100"),)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("tail=9", {"text": "one\nno on", "start": 4, "size": 13}),
        ("tail=9&after=8", {"text": "no on", "start": 8, "size": 13}),
        ("tail=9&after=13", {"text": "", "start": 13, "size": 13}),
        ("tail=9&after=900", {"text": "", "start": 13, "size": 13}),
    ],
)
async def test_of_a_file_that_grows_what_came_after_an_offset_is_told(server, nodes, query, shown):
    head = b"Container: c on n_1\nLogType:stdout\nLogLength:13\nLogContents:\n"
    answer = RestAnswer(200, (), head + b"one\nno on" + b"End of LogType:stdout. It runs.\n***\n")
    nodes.answers = {f"/ws/v1/node/containerlogs/{CONTAINER}/stdout": answer}
    told = body_of(await server.ask("GET", f"{LOGS}/stdout?{query}&user.name=bob"))
    assert told == {"container": CONTAINER, "file": "stdout"} | shown


async def test_a_search_asks_a_node_for_a_mebibyte_and_tells_the_lines(server, nodes):
    answer = RestAnswer(200, (), b"LogLength:24\nLogContents:\na (x.*)\nb\nc (x.*) d\na x\nEnd of LogType:stdout\n")
    nodes.answers = {f"/ws/v1/node/containerlogs/{CONTAINER}/stdout": answer}
    told = body_of(await server.ask("GET", f"{LOGS}/stdout?grep=(x.*)&user.name=bob"))
    assert (told["text"], told["matches"], told["searched"], told["more"]) == ("a (x.*)\nc (x.*) d\n", 2, 24, False)
    assert nodes.asked[0][1].parameters == (("size", "-1048576"),)


@pytest.mark.parametrize("grep", ["x%0Ay", "x%0D", "x" * 201])
async def test_what_is_no_text_of_one_line_is_refused(server, nodes, grep):
    assert (await server.ask("GET", f"{LOGS}/stdout?grep={grep}&user.name=bob")).status == 400
    assert nodes.asked == []


@pytest.mark.parametrize(("user", "status"), [("alice", 403), ("bob", 200), ("queen", 200), ("", 401)])
@pytest.mark.parametrize("path", [LOGS, f"{LOGS}/stdout"])
async def test_logs_are_for_the_applications_user_and_for_operators(server, nodes, path, user, status):
    answer = await server.ask("GET", f"{path}?user.name={user}" if user else path)
    assert answer.status == (403 if not user else status)
    assert bool(nodes.asked) == (status == 200)


@pytest.mark.parametrize("file", ["..", ".", "a%2fb", "..%2f..%2fetc%2fpasswd", "a%00", "a%20b", "%2e%2e", "x" * 256])
async def test_a_name_that_is_no_file_reaches_no_node(server, nodes, file):
    assert (await server.ask("GET", f"{LOGS}/{file}?user.name=bob")).status in (400, 404)
    assert nodes.asked == []


@pytest.mark.parametrize("tail", ["0", "-1", "1048577", "x"])
async def test_a_length_that_is_none_is_refused(server, nodes, tail):
    assert (await server.ask("GET", f"{LOGS}/stdout?tail={tail}&user.name=bob")).status == 400
    assert nodes.asked == []


@pytest.mark.parametrize("container", ["container_1", "container_1700000000000_0006_01_000002;x", "..", "%2e%2e"])
async def test_what_is_no_container_is_refused(server, nodes, container):
    assert (await server.ask("GET", f"/heddle/v1/containers/{container}/logs?user.name=bob")).status in (400, 404)
    assert nodes.asked == []


@pytest.mark.parametrize("told", [KnowsAContainer(status=404), KnowsAContainer(""), KnowsAContainer(5)])
async def test_a_container_that_nobody_knows_any_more_points_at_yarn_logs(server, nodes, told):
    server.federation["west"].behave(told)
    answer = await server.ask("GET", f"{LOGS}?user.name=bob")
    assert answer.status == 404
    assert "yarn logs" in body_of(answer)["RemoteException"]["message"]
    assert nodes.asked == []


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (RestAnswer(404, (), b""), 404),
        (RestAnswer(503, (), b'{"RemoteException":{"message":"...webapp.NotFoundException: Unknown container"}}'), 404),
        (RestAnswer(503, (), b"busy"), 503),
        (RestAnswer(401, (), b""), 503),
        (RestAnswer(500, (), b""), 503),
        (NeverReachedError("west", "refused"), 503),
        (MalformedAnswerError("west", "a node tells an address that is not of its cluster"), 503),
    ],
)
async def test_a_node_that_does_not_tell_is_named(server, nodes, answer, status):
    nodes.answers = {f"/ws/v1/node/containers/{CONTAINER}/logs": answer}
    told = await server.ask("GET", f"{LOGS}?user.name=bob")
    assert told.status == status
    assert "west-n1:8042 of west" in body_of(told)["RemoteException"]["message"]


@pytest.mark.parametrize(
    "listed",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"containerLogsInfo":null}',
        b'{"containerLogsInfo":[null,5,{"containerLogInfo":{"fileName":"stderr","fileSize":"x"}}]}',
        b'{"containerLogsInfo":{"containerLogInfo":[{"fileName":"stderr","fileSize":99999999999999999999999}]}}',
    ],
)
async def test_any_form_of_a_list_is_read_or_left_out(server, nodes, listed):
    nodes.answers = {f"/ws/v1/node/containers/{CONTAINER}/logs": RestAnswer(200, (), listed)}
    files = body_of(await server.ask("GET", f"{LOGS}?user.name=bob"))["files"]
    assert files in ([], [{"file": "stderr", "bytes": -1}])
