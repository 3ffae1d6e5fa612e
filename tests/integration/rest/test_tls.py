"""TLS at the web services, with real certificates on real sockets."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest

from adapters.yarn import RestResourceManager
from shim.app.bootstrap import Heddle
from shim.app.connections import resolve
from shim.app.tls_files import ReloadedContext, TLSFiles
from shim.config.loader import parse
from shim.config.subclusters import PollConfig, SubClusterConfig
from shim.errors import ConfigError, ResourceManagerError
from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.messages import Answer, Request
from shim.server.rest.server import RestServer
from shim.server.rest.tls_greeting import TLSOffer
from tests.doubles.settings import usual
from tests.support.certificates import TestAuthority

LIMITS = usual(ConnectionLimits, request_timeout_s=60, max_connections=4)
HASTY = usual(ConnectionLimits, request_timeout_s=0.3, max_connections=4)


class TellsHowItCame:
    """`/ready` is answered at once, all else by a task: whether it came over TLS."""

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        if request.raw_path != "/ready":
            return None
        return (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%-5b" % str(request.is_secure).encode(),)

    async def answer(self, request: Request) -> Answer:
        return Answer(200, (), str(request.is_secure).encode())


@contextlib.asynccontextmanager
async def serving(
    files: TLSFiles, *, moments: Sequence[float] = (0.0,), hsts_s: int = 60, limits: ConnectionLimits = LIMITS
) -> AsyncIterator[RestServer]:
    """A server whose clock shows the last of `moments`."""
    reloaded = ReloadedContext(files, lambda: moments[-1])
    offer = TLSOffer(reloaded.now, hsts_s)
    server = RestServer(TellsHowItCame(), host="127.0.0.1", port=0, limits=limits, tls=offer)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(grace_s=0.1)


def trusting(authority: TestAuthority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.file)


async def get(server: RestServer, path: str, context: ssl.SSLContext) -> httpx.Response:
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:
        return await client.get(f"{server.url}{path}")


async def serial(server: RestServer, context: ssl.SSLContext) -> str:
    """Of the certificate that the server shows."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    shown = writer.get_extra_info("peercert")["serialNumber"]
    writer.close()
    return str(shown)


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path)


@pytest.mark.parametrize("path", ["/ready", "/other"])
async def test_both_ways_of_answering_come_over_tls_and_tell_browsers_to_stay(authority, path):
    async with serving(TLSFiles(*authority.issue("heddle"))) as server:
        answer = await get(server, path, trusting(authority))
    assert server.url.startswith("https://")
    assert (answer.text.strip(), answer.headers["strict-transport-security"]) == ("True", "max-age=60")


async def test_without_hsts_nothing_is_told(authority):
    async with serving(TLSFiles(*authority.issue("heddle")), hsts_s=0) as server:
        answer = await get(server, "/ready", trusting(authority))
    assert "strict-transport-security" not in answer.headers


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1")
async def test_tls_older_than_1_2_is_refused(authority):
    context = trusting(authority)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    files = TLSFiles(*authority.issue("heddle"))
    assert files.context().minimum_version is ssl.TLSVersion.TLSv1_2  # whatever the machine's OpenSSL allows
    async with serving(files) as server:
        with pytest.raises(httpx.ConnectError):
            await get(server, "/ready", context)


async def test_plain_http_is_not_answered(authority):
    async with serving(TLSFiles(*authority.issue("heddle"))) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
        told = await reader.read()
        writer.close()
    assert b"HTTP" not in told


async def test_who_stays_silent_before_the_handshake_is_cut(authority):
    async with serving(TLSFiles(*authority.issue("heddle")), limits=HASTY) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        ended = await asyncio.wait_for(_end(reader), 5)
        writer.close()
    assert ended == b""


async def test_who_stays_silent_before_the_handshake_is_counted(authority):
    async with serving(TLSFiles(*authority.issue("heddle"))) as server:
        streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(LIMITS.max_connections + 2)]
        await asyncio.wait_for(asyncio.gather(*(_end(reader) for reader, _ in streams[:2])), 5)
        assert server.connections == LIMITS.max_connections
        assert (await get(server, "/ready", trusting(authority))).status_code == 200
        for _, writer in streams:
            writer.close()


async def _end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def test_only_clients_of_the_ca_come_in(authority, tmp_path):
    clients, others = TestAuthority(tmp_path, "clients"), TestAuthority(tmp_path, "others")
    async with serving(TLSFiles(*authority.issue("heddle"), client_ca=clients.file)) as server:
        known, foreign = trusting(authority), trusting(authority)
        known.load_cert_chain(*clients.issue("knox"))
        foreign.load_cert_chain(*others.issue("mallory"))
        assert (await get(server, "/other", known)).status_code == 200
        for refused in (foreign, trusting(authority)):
            with pytest.raises(httpx.TransportError):
                await get(server, "/other", refused)


async def test_a_changed_certificate_is_shown_without_a_restart_and_a_broken_one_is_not(authority):
    moments = [0.0]
    files = TLSFiles(*authority.issue("heddle"))
    async with serving(files, moments=moments) as server:
        first = await serial(server, trusting(authority))
        authority.issue("heddle")
        assert await serial(server, trusting(authority)) == first  # not looked at before its time
        moments.append(1.0)
        second = await serial(server, trusting(authority))
        files.certificate.write_text("not a certificate")
        moments.append(2.0)
        assert await serial(server, trusting(authority)) == second != first
        authority.issue("heddle")
        moments.append(3.0)
        assert await serial(server, trusting(authority)) not in (first, second)


def reaching(
    server: RestServer, authority: TestAuthority, certificate: Path | None = None, key: Path | None = None
) -> RestResourceManager:
    web = (server.url,)
    told = SubClusterConfig("east", web=web, ca_file=authority.file, certificate=certificate, key_file=key)
    return resolve(told, PollConfig()).connect()


async def test_heddle_shows_its_own_certificate_to_a_resource_manager_that_asks_for_one(authority, tmp_path):
    clients = TestAuthority(tmp_path, "clients")
    certificate, key = clients.issue("heddle-as-client")
    async with serving(TLSFiles(*authority.issue("rm"), client_ca=clients.file)) as server:
        known, nobody = reaching(server, authority, certificate, key), reaching(server, authority)
        assert (await known.query("/other")).status == 200
        with pytest.raises(ResourceManagerError):
            await nobody.query("/other")
        await known.close()
        await nobody.close()


def test_a_certificate_for_a_resource_manager_needs_its_key(authority):
    certificate, _ = authority.issue("heddle")
    told = SubClusterConfig("east", web=("https://rm:8090",), certificate=certificate)
    with pytest.raises(ConfigError, match=r"subcluster\.key: is missing"):
        resolve(told, PollConfig())


def test_a_key_that_others_can_read_is_not_used(authority):
    certificate, key = authority.issue("heddle")
    key.chmod(0o640)
    with pytest.raises(ConfigError, match="others may read"):
        TLSFiles(certificate, key).context()


def test_a_key_of_another_certificate_is_not_used(authority):
    certificate, _ = authority.issue("heddle")
    _, key = authority.issue("other")
    with pytest.raises(ConfigError, match=r"server\.tls\.certificate"):
        TLSFiles(certificate, key).context()


async def test_a_whole_heddle_gives_out_cookies_for_tls_alone(authority, tmp_path):
    certificate, key = authority.issue("heddle")
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        tls = {{ certificate = "{certificate}", key = "{key}" }}
        [store]
        url = "sqlite:///{tmp_path}/heddle.db"
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        """
    async with (
        Heddle(parse(text, source="heddle.toml", environment={})) as heddle,
        httpx.AsyncClient(verify=trusting(authority), trust_env=False) as client,
    ):
        answer = await client.get(f"{heddle.url}/ws/v1/cluster/metrics?user.name=alice")
        found = (await client.get(f"{heddle.url}/heddle/v1/doctor")).json()["findings"]
    assert "; Secure" in answer.headers["set-cookie"]
    assert "max-age=31536000" in answer.headers["strict-transport-security"]
    assert [each["level"] for each in found if each["check"] == "tls"] == ["ok"]


async def test_the_doctor_of_a_whole_heddle_names_a_certificate_for_a_cluster_that_has_expired(authority, tmp_path):
    certificate, key = authority.issue("heddle-as-client", days=-1)
    text = f"""
        [server]
        rest = "127.0.0.1:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{tmp_path}/heddle.db"
        [[subcluster]]
        id = "east"
        web = "https://127.0.0.1:9"
        ca_file = "{authority.file}"
        certificate = "{certificate}"
        key = "{key}"
        """
    async with (
        Heddle(parse(text, source="heddle.toml", environment={})) as heddle,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        expired = await tls_findings_of(client, heddle)
        key.chmod(0o644)
        unreadable = await tls_findings_of(client, heddle)
    assert [(each["cluster"], each["level"]) for each in expired] == [("east", "ok"), ("east", "error")]
    assert f"({certificate}) has expired" in expired[1]["message"]
    assert [(each["cluster"], each["level"]) for each in unreadable] == [("east", "error")]
    assert "others may read" in unreadable[0]["message"]


async def tls_findings_of(client: httpx.AsyncClient, heddle: Heddle) -> list[dict[str, str]]:
    found = (await client.get(f"{heddle.url}/heddle/v1/doctor")).json()["findings"]
    return [each for each in found if each["check"] == "tls"]
