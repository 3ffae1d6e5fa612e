"""https towards a cluster's web servers: who is believed, who is refused, and that nothing is said in clear instead."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509

from adapters.yarn import RestResourceManager
from shim.app.connections import SubCluster, resolve
from shim.app.tls_files import TLSFiles
from shim.config.subclusters import PollConfig, SubClusterConfig
from shim.errors import ConfigError, NeverReachedError, ResourceManagerError
from shim.ports.resource_manager import RestRequest
from tests.support.certificates import TestAuthority

PING = RestRequest("GET", "/ws/v1/cluster/info")


class WebServer:
    """Answers every request with the serial number of the client's certificate, and keeps what was said to it."""

    def __init__(self) -> None:
        self.heard = b""
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while head := await reader.read(4096):
                self.heard += head
                shown = (writer.get_extra_info("peercert") or {}).get("serialNumber", "none").encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(shown), shown))
        writer.close()


@contextlib.asynccontextmanager
async def web_server(context: ssl.SSLContext | None) -> AsyncIterator[WebServer]:
    server = WebServer()
    socket = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    server.address = f"https://127.0.0.1:{socket.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        socket.close()


def cluster(address: str, *, moments: list[float] | None = None, **keys: object) -> SubCluster:
    """As the configuration makes it; its clock shows the last of `moments`."""
    told = SubClusterConfig("east", web=(address,), **keys)  # type: ignore[arg-type]
    return resolve(told, PollConfig(), lambda: moments[-1] if moments else 0.0)


@contextlib.asynccontextmanager
async def manager_of(found: SubCluster) -> AsyncIterator[RestResourceManager]:
    manager = found.connect()
    try:
        yield manager
    finally:
        await manager.close()


async def answer_of(found: SubCluster) -> str:
    async with manager_of(found) as manager:
        return (await manager.forward(PING)).body.decode()


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path)


async def test_a_server_of_the_named_ca_is_believed(authority):
    async with web_server(TLSFiles(*authority.issue("rm")).context()) as server:
        assert await answer_of(cluster(server.address, ca_file=authority.file)) == "none"


@pytest.mark.parametrize("wrong", ["CA", "machine's CAs", "expired", "name"])
async def test_a_server_that_cannot_prove_itself_hears_no_request(authority, tmp_path, wrong):
    trusted = {"CA": TestAuthority(tmp_path, "other").file, "machine's CAs": None}.get(wrong, authority.file)
    names = {"names": (x509.DNSName("elsewhere.example"),)} if wrong == "name" else {}
    shown = authority.issue("rm", days=-1 if wrong == "expired" else 30, **names)
    async with web_server(TLSFiles(*shown).context()) as server:
        with pytest.raises(NeverReachedError, match="its certificate is not trusted"):
            await answer_of(cluster(server.address, ca_file=trusted))
        assert server.heard == b""


async def test_a_server_without_tls_hears_no_request(authority):
    async with web_server(None) as server:
        with pytest.raises(ResourceManagerError):
            await answer_of(cluster(server.address, ca_file=authority.file))
        assert b"HTTP" not in server.heard
        assert b"user.name" not in server.heard


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1")
async def test_a_server_of_older_tls_hears_no_request(authority):
    context = TLSFiles(*authority.issue("rm")).context()
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    async with web_server(context) as server:
        found = cluster(server.address, ca_file=authority.file)
        made = found.settings.for_https()
        assert isinstance(made, ssl.SSLContext)
        assert made.minimum_version is ssl.TLSVersion.TLSv1_2  # whatever the machine's OpenSSL allows
        with pytest.raises(NeverReachedError):
            await answer_of(found)
        assert server.heard == b""


async def test_a_server_that_wants_a_certificate_is_shown_heddles(authority, tmp_path):
    clients = TestAuthority(tmp_path, "clients")
    certificate, key = clients.issue("heddle")
    async with web_server(TLSFiles(*authority.issue("rm"), client_ca=clients.file).context()) as server:
        named = cluster(server.address, ca_file=authority.file, certificate=certificate, key_file=key)
        assert int(await answer_of(named), 16) == serial(certificate)
        server.heard = b""
        with pytest.raises(ResourceManagerError):
            await answer_of(cluster(server.address, ca_file=authority.file))
        assert server.heard == b""


async def test_nodes_are_asked_by_the_same_rules(authority, tmp_path):
    async with web_server(TLSFiles(*authority.issue("node")).context()) as server:
        node = server.address.removeprefix("https://")
        answer = await cluster(server.address, ca_file=authority.file).ask_node(node, PING)
        assert answer.body == b"none"
        server.heard = b""
        with pytest.raises(ResourceManagerError):
            await cluster(server.address, ca_file=TestAuthority(tmp_path, "other").file).ask_node(node, PING)
        assert server.heard == b""


async def test_new_files_are_used_without_a_restart_and_broken_ones_are_not(authority, tmp_path):
    clients, moments = TestAuthority(tmp_path, "clients"), [0.0]
    certificate, key = clients.issue("heddle")
    async with web_server(TLSFiles(*authority.issue("rm"), client_ca=clients.file).context()) as server:
        keys = {"ca_file": authority.file, "certificate": certificate, "key_file": key}
        async with manager_of(cluster(server.address, moments=moments, **keys)) as manager:

            async def shown_at(moment_s: float) -> int:
                moments.append(moment_s)
                return int((await manager.forward(PING)).body, 16)

            first = await shown_at(0.0)
            clients.issue("heddle")
            assert await shown_at(0.5) == first  # not looked at before its time
            second = await shown_at(1.5)
            assert second == serial(certificate) != first
            certificate.write_text("not a certificate")
            assert await shown_at(3.0) == second
            clients.issue("heddle")
            assert await shown_at(4.5) == serial(certificate) != second


async def test_a_ca_that_is_taken_away_is_believed_no_more_though_a_connection_is_open(authority, tmp_path):
    moments = [0.0]
    async with web_server(TLSFiles(*authority.issue("rm")).context()) as server:
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(authority.file.read_bytes())
        async with manager_of(cluster(server.address, moments=moments, ca_file=trusted)) as manager:
            assert (await manager.forward(PING)).status == 200
            trusted.write_bytes(TestAuthority(tmp_path, "other").file.read_bytes())
            moments.append(2.0)
            with pytest.raises(NeverReachedError, match="its certificate is not trusted"):
                await manager.forward(PING)


def test_a_key_that_others_can_read_is_not_used(authority):
    certificate, key = authority.issue("heddle")
    key.chmod(0o644)
    with pytest.raises(ConfigError, match=r"subcluster\.key: others may read"):
        cluster("https://rm:8090", certificate=certificate, key_file=key)


def serial(certificate: Path) -> int:
    return x509.load_pem_x509_certificate(certificate.read_bytes()).serial_number
