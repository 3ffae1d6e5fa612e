"""Aggregated logs in HDFS by its web gateway: what is read, which redirects are followed, and what is bounded."""

import itertools
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.hdfs import WebAccess, followed
from adapters.yarn.log_folder import WebLogFolder
from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of
from tests.support.web_hdfs import WebHDFS, refusal, served_hdfs

APPLICATION = "application_1700000000000_0006"
CONTAINER = "container_1700000000000_0006_01_000001"
ID = ApplicationId.parse(APPLICATION)
LOGS = f"/heddle/v1/apps/{APPLICATION}/logs"
WRITTEN = Path(__file__).parents[2] / "unit" / "protocol" / "yarn" / "written_by_hadoop"
NEW, OLD = f"/app logs/ada/bucket-logs-tfile/0006/{APPLICATION}", f"/app logs/ada/logs/{APPLICATION}"
ROOT = "/app logs"


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    """One for all: reading what the machine trusts takes longer than a test."""
    return ssl.create_default_context()


@pytest.fixture
def hdfs() -> WebHDFS:
    return WebHDFS(
        {f"{NEW}/west_45454": (WRITTEN / "none").read_bytes(), f"{OLD}/old_1": (WRITTEN / "gz").read_bytes()}
    )


@pytest.fixture
def folder(hdfs, tls) -> Iterator[WebLogFolder]:
    with served_hdfs(hdfs) as address:
        yield WebLogFolder(f"{address}{ROOT}", WebAccess("heddle", (), 1.0, tls=lambda: tls))


def contents(folder: WebLogFolder, user: str = "ada") -> dict[str, bytes]:
    with folder.opened(user, ID) as opened:
        return {each.node: each.read(0, each.size) for each in opened}


@pytest.mark.parametrize("is_gateway", [True, False])
def test_files_of_nodes_are_read_wherever_a_hadoop_puts_them(hdfs, folder, is_gateway):
    hdfs.is_gateway = is_gateway
    hdfs.files[f"{NEW}/west_2.tmp"] = b"is being written"
    assert contents(folder) == {
        "west_45454": hdfs.files[f"{NEW}/west_45454"],
        "old_1": hdfs.files[f"{OLD}/old_1"],
    }
    assert {query["user.name"] for _, _, query in hdfs.asked} == {"heddle"}
    assert {server for server, _, _ in hdfs.asked} == ({"name"} if is_gateway else {"name", "data"})


async def test_heddle_shows_what_lies_in_hdfs(hdfs, folder):
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), archives={SubClusterId("west"): folder})
    told = body_of(await server.ask("GET", f"{LOGS}?user.name=ada"))
    assert [(each["node"], len(each["files"]), each["wrong"]) for each in told["nodes"]] == [
        ("west_45454", 6, ""),
        ("old_1", 6, ""),
    ]
    end = body_of(await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?tail=5&user.name=ada"))
    assert (end["text"], end["size"]) == ("\noh d", 12)
    assert (await server.ask("GET", f"{LOGS}?user.name=eve&of=ada")).status == 403
    assert (await server.ask("GET", f"{LOGS}?user.name=eve")).status == 404


@pytest.mark.parametrize("user", ["..", "a/b", "", "a\0", "\udcff", "ada%2f.."])
def test_a_user_that_is_no_name_of_a_folder_has_no_logs(hdfs, folder, user):
    assert contents(folder, user) == {}
    assert all(path.startswith(f"{ROOT}/{user}/") for _, path, _ in hdfs.asked)


def test_a_file_is_the_same_in_whatever_parts_it_is_read(hdfs, folder):
    data = bytes(number % 251 for number in range(260_000))
    hdfs.files = {f"{OLD}/old_1": data}
    hdfs.is_gateway = True
    with folder.opened("ada", ID) as opened:
        node = next(opened)

        @settings(max_examples=40, deadline=None)
        @given(st.tuples(st.integers(0, 300_000), st.integers(0, 90_000)))
        def each_part_is_the_same(look):
            offset, count = look
            assert node.read(offset, count) == data[offset : offset + count]

        each_part_is_the_same()


def test_what_is_read_one_after_the_other_is_asked_for_in_few_parts(hdfs, folder):
    hdfs.is_gateway = True
    hdfs.files = {f"{OLD}/old_1": bytes(16 * 1024 * 1024)}
    with folder.opened("ada", ID) as opened:
        node = next(opened)
        for offset in range(0, node.size, 65_536):
            node.read(offset, 65_536)
    assert sum(query["op"] == "OPEN" for _, _, query in hdfs.asked) < 12


# -- redirects ---------------------------------------------------------------------------------------------------------

TARGET = "/webhdfs/v1/logs/ada%20b/x"
ASKED = f"{TARGET}?op=OPEN&offset=0"
ALLOWED = ("gateway.example.org", "node1.example.org", ".east.example.org", "fd00::1")


@pytest.mark.parametrize(
    "host", ["gateway.example.org", "node1.example.org", "NODE1.example.org", "n.east.example.org", "[fd00::1]"]
)
def test_hosts_that_are_named_are_followed(host):
    assert followed(f"http://{host}:9864{ASKED}", TARGET, "http", ALLOWED) == f"http://{host}:9864{ASKED}"


@pytest.mark.parametrize(
    "location",
    [
        "",
        "/webhdfs/v1/x",
        f"http://169.254.169.254:80{ASKED}",
        f"http://127.0.0.1:9864{ASKED}",
        f"http://east.example.org:9864{ASKED}",
        f"http://evileast.example.org:9864{ASKED}",
        f"http://node1.example.org.evil:9864{ASKED}",
        f"http://node1.example.org:9864@evil:80{ASKED}",
        f"http://evil:80\\@node1.example.org:9864{ASKED}",
        f"http://evil#@node1.example.org:9864{ASKED}",
        f"http://node1.example.org{ASKED}",
        f"http://node1.example.org:0{ASKED}",
        f"http://node1.example.org:99999{ASKED}",
        f"http://node1.example.org:9864{TARGET}",
        f"http://node1.example.org:9864{TARGET}?op=DELETE",
        f"http://node1.example.org:9864{TARGET}?op=OPEN&op=DELETE",
        "http://node1.example.org:9864/webhdfs/v1/logs/eve/x?op=OPEN",
        "http://node1.example.org:9864/jmx?op=OPEN",
        f"https://node1.example.org:9864{ASKED}",
        f"file://node1.example.org:9864{ASKED}",
        f"http://node1.example.org:9864{ASKED}\r\nHost: evil",
        f"http://[::1:9864{ASKED}",
    ],
)
def test_any_other_address_is_not_followed(location):
    with pytest.raises(OSError, match="redirect leads to"):
        followed(location, TARGET, "http", ALLOWED)


def test_a_name_node_that_sends_elsewhere_is_not_obeyed(hdfs, folder):
    with served_hdfs(WebHDFS({})) as other:
        path = f"/webhdfs/v1{NEW}/west_45454".replace(" ", "%20")
        hdfs.redirect = f"http://localhost:{other.rpartition(':')[2]}{path}?op=OPEN"
        with pytest.raises(OSError, match="redirect leads to localhost: name it in aggregated_logs_nodes"):
            contents(folder)
    assert {server for server, _, _ in hdfs.asked} == {"name"}


def test_a_data_node_that_sends_on_is_not_obeyed(hdfs, folder):
    hdfs.instead["OPEN"] = lambda _: (307, {"Location": f"{hdfs.data_node}/webhdfs/v1/x?op=OPEN"}, b"")
    with pytest.raises(OSError, match="answers 307"):
        contents(folder)


# -- gateways that misbehave -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "answer", "told"),
    [
        ("LISTSTATUS", refusal(403, "AccessControlException"), "does not let heddle read them"),
        ("LISTSTATUS", refusal(403, "StandbyException"), "is a standby NameNode"),
        ("LISTSTATUS", (500, {}, b"<html>"), "answers 500"),
        ("LISTSTATUS", (307, {"Location": "http://evil"}, b""), "answers 307"),
        ("LISTSTATUS", (200, {}, b"[]"), "does not list folders"),
        ("LISTSTATUS", (200, {}, b"{" * 100_000), "does not list folders"),
        ("LISTSTATUS", (200, {}, b"\xff"), "does not list folders"),
        ("LISTSTATUS", (200, {}, b" " * (8 * 1024 * 1024 + 1)), "more than was asked for"),
        ("LISTSTATUS", (200, {"Content-Length": "9"}, b"short"), "does not answer"),
        ("LISTSTATUS", (401, {"WWW-Authenticate": "Negotiate"}, b""), "answers 401"),
        ("OPEN", (200, {}, b"short"), "tells less"),
        ("OPEN", (200, {}, bytes(1024 * 1024 * 16)), "more than was asked for"),
        ("OPEN", refusal(404, "FileNotFoundException"), "tells less"),
        ("OPEN", (200, {"Transfer-Encoding": "chunked"}, b"zz\r\n"), "does not answer"),
    ],
)
def test_what_is_wrong_is_told_and_ends(hdfs, folder, operation, answer, told):
    hdfs.instead[operation] = lambda _: answer
    is_never_whole = answer[1].get("Content-Length") == "9"
    short = replace(folder, access=replace(folder.access, limit_s=0.5 if is_never_whole else 8.0))
    with pytest.raises(OSError, match=told) as caught:
        contents(short)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("said", ["", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"])
def test_a_gateway_that_says_a_byte_now_and_then_is_cut(folder, said):
    """Each byte was in time for its read; all of them together went on without end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        has_ended = threading.Event()

        def trickle():
            with suppress(OSError):
                link, _ = listener.accept()
                with link:
                    link.recv(65536)
                    link.sendall(said.encode())
                    while not has_ended.wait(0.02):
                        link.sendall(b"x")

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        address = f"webhdfs://127.0.0.1:{listener.getsockname()[1]}/logs"
        slow = replace(folder, address=address, access=replace(folder.access, limit_s=0.5))
        with pytest.raises(OSError, match=r"takes more than|does not answer"):
            contents(slow)
        has_ended.set()
        thread.join(10.0)


def test_a_gateway_has_one_time_for_everything(hdfs, folder):
    ticks = itertools.count()
    slow = replace(folder, access=replace(folder.access, limit_s=4.0, monotonic_s=lambda: float(next(ticks))))
    with pytest.raises(OSError, match="takes more than 4 s"):
        contents(slow)
    assert len(hdfs.asked) < 5


def test_a_gateway_that_is_away_is_told(hdfs, tls):
    with served_hdfs(hdfs) as address:
        away = address
    with pytest.raises(OSError, match="does not answer"):
        contents(WebLogFolder(f"{away}{ROOT}", WebAccess("heddle", (), 1.0, tls=lambda: tls)))


# -- tickets -----------------------------------------------------------------------------------------------------------


class Ticket:
    """A login that wants `proved` of the server."""

    token = b"ticket"

    def check(self, answer: bytes) -> None:
        if answer != b"proved":
            raise ValueError("it does not prove who it is")


@pytest.mark.parametrize(("proof", "is_believed"), [("cHJvdmVk", True), ("", False), ("bm8=", False), ("!", False)])
def test_a_gateway_that_asks_for_a_ticket_gets_one_and_proves_itself(hdfs, folder, proof, is_believed):
    def guarded(headers):
        if headers.get("Authorization") != "Negotiate dGlja2V0":
            return 401, {"WWW-Authenticate": "Negotiate"}, b""
        status, _, body = refusal(404, "FileNotFoundException")
        return status, {"WWW-Authenticate": f"Negotiate {proof}"}, body

    hdfs.instead["LISTSTATUS"] = guarded
    asking = replace(folder, access=replace(folder.access, prove=lambda _: Ticket()))
    if is_believed:
        assert contents(asking) == {}
        names = [query.get("user.name") for _, _, query in hdfs.asked]
        assert names == ["heddle", *[None] * (len(names) - 1)], "a NameNode refuses another name than the ticket's"
        assert len(names) > 1
    else:
        with pytest.raises(OSError, match="127"):
            contents(asking)
