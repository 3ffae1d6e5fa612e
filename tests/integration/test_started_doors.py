"""Every listener and every way to log in, at started processes: 200 callers at once each.

One process per configuration; each row of the table is a check at one of them. What other servers are needed (a KDC, a
directory, a provider of identities) is run for the configuration that names it.
"""

import asyncio
import base64
import signal
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from cryptography import x509

from adapters.kerberos import WebInitiator
from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.app.host_limits import SystemClock
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError, NoAnswerError
from shim.identity.cookies import Cookies
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import QualityOfProtection
from shim.protocol.proto import APPLICATION_CLIENT, HA_SERVICE
from shim.protocol.proto.messages import (
    GetDelegationTokenRequestProto,
    GetDelegationTokenResponseProto,
    GetNewApplicationResponseProto,
    GetServiceStatusResponseProto,
    TokenProto,
)
from shim.protocol.rest.token_strings import decode_token
from tests.doubles.postgresql import free_addresses
from tests.doubles.settings import usual
from tests.support.certificates import LOCAL, TestAuthority
from tests.support.directory import ADMIN, BASE, PASSWORD, a_directory
from tests.support.heddle_process import until
from tests.support.kdc import LOCALHOST, REALM, LocalKDC
from tests.support.started import Started, configuration
from tests.support.ticket_calls import by_ticket, by_token, calling

AT_ONCE, DEAR = 200, 50
"""Callers at one time; of logins that take the processor a while, fewer."""
PATIENCE_S = 300
NEW, WHO = "/ws/v1/cluster/apps/new-application", "/heddle/v1/console/caller"
RM, HTTP = f"rm/{LOCALHOST}@{REALM}", f"HTTP/{LOCALHOST}@{REALM}"
ADA, OOZIE = f"ada@{REALM}", f"oozie/{LOCALHOST}@{REALM}"
SECRET = b"0123456789abcdef" * 4
KNOX = '[security.proxyuser.{user}]\nhosts = ["127.0.0.1"]\nusers = ["ada"]\n'


@dataclass
class Site:
    """One configuration's processes.

    Attributes:
        doors: `host:port` by key of `[server]`.
        url: Of the web services; `trusts` what signed their certificate.
        more: What else a check needs, by name.
    """

    running: list[Started]
    doors: dict[str, str]
    trusts: ssl.SSLContext | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        scheme = "http" if self.trusts is None else "https"
        return f"{scheme}://{LOCALHOST}:{self.doors['rest'].rpartition(':')[2]}"

    def web(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=0)
        verify: ssl.SSLContext | bool = True if self.trusts is None else self.trusts
        return httpx.AsyncClient(base_url=self.url, verify=verify, trust_env=False, timeout=PATIENCE_S, limits=limits)


async def each_of(count: int, come: Callable[[int], Awaitable[object]]) -> list[object]:
    async with asyncio.timeout(PATIENCE_S):
        return list(await asyncio.gather(*map(come, range(count))))


async def statuses(site: Site, path: str, count: int = AT_ONCE, *, method: str = "GET", **shown: Any) -> set[int]:
    async with site.web() as web:

        async def come(_: int) -> int:
            return (await web.request(method, path, **shown)).status_code

        return {int(str(each)) for each in await each_of(count, come)}


def secret_file(folder: Path) -> Path:
    file = folder / "secret"
    file.touch(mode=0o600)
    file.write_bytes(SECRET)
    return file


# -- configurations ----------------------------------------------------------------------------------------------------


def plain(folder: Path, held: ExitStack, _: pytest.FixtureRequest) -> Site:
    """Names are believed; every door is open."""
    (proxy,) = free_addresses(1)
    more = f'[security]\nsecret_file = "{secret_file(folder)}"\n{KNOX.format(user="knox")}'
    text, doors = configuration(folder, server=f'proxy = "{proxy}"\nrequest_timeout_s = 30', more=more)
    heddle = held.enter_context(Started(folder, text))
    return Site([heddle], {**doors, "proxy": proxy})


def tickets(folder: Path, held: ExitStack, request: pytest.FixtureRequest) -> Site:
    """Tickets everywhere, and TLS at the web services."""
    kdc: LocalKDC = request.getfixturevalue("kdc")
    request.getfixturevalue("kerberos")
    keytabs = {principal: kdc.keytab(principal) for principal in (RM, HTTP, ADA, OOZIE)}
    authority = TestAuthority(folder)
    certificate, key = authority.issue("heddle", names=(*LOCAL, x509.DNSName(LOCALHOST)))
    more = (
        f"{KNOX.format(user='oozie')}[security.kerberos]\n"
        f'principal = "{RM}"\nkeytab = "{keytabs[RM]}"\nweb_principal = "{HTTP}"\nweb_keytab = "{keytabs[HTTP]}"\n'
        'protection = ["authentication", "integrity", "privacy"]\n'
    )
    tls = f'tls = {{ certificate = "{certificate}", key = "{key}" }}\nanswer_within_s = 0.2'
    text, doors = configuration(folder, server=tls, more=more)
    heddle = held.enter_context(Started(folder, text, environment=kdc.environment))
    return Site([heddle], doors, ssl.create_default_context(cafile=authority.file), {"keytabs": keytabs})


def certificates(folder: Path, held: ExitStack, _: pytest.FixtureRequest) -> Site:
    """TLS that lets in clients of one CA alone."""
    authority, clients = TestAuthority(folder), TestAuthority(folder, "clients")
    certificate, key = authority.issue("heddle", names=(*LOCAL, x509.DNSName(LOCALHOST)))
    tls = f'tls = {{ certificate = "{certificate}", key = "{key}", client_ca = "{clients.file}" }}'
    text, doors = configuration(folder, server=tls)
    trusts = {}
    for name, signer in (("own", clients), ("foreign", authority), ("none", None)):
        trusts[name] = ssl.create_default_context(cafile=authority.file)
        if signer is not None:
            trusts[name].load_cert_chain(*signer.issue(f"client-{name}"))
    return Site([held.enter_context(Started(folder, text))], doors, trusts["own"], trusts)


def of_groups(folder: Path, held: ExitStack, users: str) -> str:
    """Sections of a directory, and of roles by its groups."""
    directory = held.enter_context(a_directory(folder / "ldap"))
    password = folder / "password"
    password.touch(mode=0o600)
    password.write_text(PASSWORD)
    return (
        f'[security.roles]\nviewers = ["*"]\nusers = ["group:{users}"]\noperators = ["group:ops"]\n'
        f'[security.ldap]\nurls = ["{directory.tls_url}"]\nca_file = "{directory.authority.file}"\n'
        f'bind_dn = "{ADMIN}"\nbind_password_file = "{password}"\nuser_base = "{BASE}"\n'
        'user_filter = "(&(objectClass=posixAccount)(!(ou:dn:=more))(uid={user}))"\n'
    )


def groups(folder: Path, held: ExitStack, _: pytest.FixtureRequest) -> Site:
    """Roles by groups of a directory."""
    text, doors = configuration(folder, more=of_groups(folder, held, "analysts"))
    return Site([held.enter_context(Started(folder, text))], doors)


def of_provider(folder: Path, held: ExitStack, request: pytest.FixtureRequest, door: str) -> tuple[Any, str]:
    """A provider, and the section that names it."""
    make = request.getfixturevalue("oidc_provider")
    issuer = held.enter_context(make(f"http://{door}", groups={}, resource="https://heddle.example.com"))
    client_secret = folder / "client-secret"
    client_secret.touch(mode=0o600)
    client_secret.write_text(issuer.client_secret)
    return issuer, (
        f'[security.oidc]\nissuer = "{issuer.issuer}"\nclient_id = "heddle"\n'
        f'client_secret_file = "{client_secret}"\nurl = "http://{door}"\n'
        'audiences = ["https://heddle.example.com"]\n'
    )


def provider(folder: Path, held: ExitStack, request: pytest.FixtureRequest) -> Site:
    """Tokens of an OpenID provider."""
    text, doors = configuration(folder)
    issuer, section = of_provider(folder, held, request, doors["rest"])
    text += '[security]\ngroup_overrides = "robot=;"\n[security.roles]\nviewers = ["*"]\nusers = ["robot"]\n' + section
    return Site([held.enter_context(Started(folder, text))], doors, more={"issuer": issuer})


def provider_and_groups(folder: Path, held: ExitStack, request: pytest.FixtureRequest) -> Site:
    """An OpenID provider says who somebody is, and a directory what he may."""
    text, doors = configuration(folder)
    issuer, section = of_provider(folder, held, request, doors["rest"])
    text += of_groups(folder, held, "machines") + section
    return Site([held.enter_context(Started(folder, text))], doors, more={"issuer": issuer})


def extras(folder: Path, held: ExitStack, request: pytest.FixtureRequest) -> Site:
    """PostgreSQL for a store, and a collector of traces."""
    url = request.getfixturevalue("postgres_url").replace("postgresql://", "postgresql+asyncpg://")
    collector = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    held.callback(collector.server_close)
    held.callback(collector.shutdown)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    text, doors = configuration(folder)
    text = text.replace(f"sqlite:///{folder}/heddle.db", url)
    traces = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    _Collector.took.clear()
    return Site([held.enter_context(Started(folder, text, environment=traces))], doors)


class _Collector(BaseHTTPRequestHandler):
    """Takes traces."""

    took: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.took.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        """Say nothing."""


def masters(folder: Path, held: ExitStack, *, is_encrypted: bool) -> Site:
    """A Global Master and a Local Master, with links by TLS or by a secret."""
    links = dict(zip(("gm/a", "lm/east"), free_addresses(2), strict=True))
    authority = TestAuthority(folder, "masters")
    text, doors = configuration(folder)
    running = []
    for name, verb, listens in (
        ("gm/a", ("gm", "--name", "a"), " serves "),
        ("lm/east", ("lm", "--subcluster", "east"), "listens on"),
    ):
        uri = x509.UniformResourceIdentifier(f"heddle:{name}")
        certificate, key = authority.issue(name.replace("/", "-"), names=(uri, *LOCAL))
        tls = f'[masters.tls]\ncertificate = "{certificate}"\nkey = "{key}"\nca = "{authority.file}"\n'
        section = f'[masters]\nlisten = "{links[name]}"\n' + (
            tls if is_encrypted else f'secret_file = "{secret_file(folder)}"\n'
        )
        running.append(held.enter_context(Started(folder, text + section, verb=verb, listens=listens)))
    return Site(running, doors, more={"links": links, "is_encrypted": is_encrypted})


CONFIGURATIONS: dict[str, Callable[[Path, ExitStack, pytest.FixtureRequest], Site]] = {
    "plain": plain,
    "tickets": tickets,
    "certificates": certificates,
    "groups": groups,
    "provider": provider,
    "provider and groups": provider_and_groups,
    "extras": extras,
    "masters by a secret": lambda folder, held, _: masters(folder, held, is_encrypted=False),
    "masters by TLS": lambda folder, held, _: masters(folder, held, is_encrypted=True),
}


# -- checks ------------------------------------------------------------------------------------------------------------


async def web_services(site: Site) -> None:
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST") == {200}


async def metrics(site: Site) -> None:
    assert await statuses(site, "/metrics") == {200}


async def pages(site: Site) -> None:
    origin = f"http://{LOCALHOST}:{site.doors['proxy'].rpartition(':')[2]}"
    assert await statuses(site, f"{origin}/proxy/application_1_0001/?user.name=ada") <= {403, 404, 421, 502, 503}


async def live_events(site: Site) -> None:
    async with site.web() as web:

        async def first(_: int) -> int:
            async with web.stream("GET", "/heddle/v1/live?watch=clusters&user.name=ada") as stream:
                return stream.status_code

        assert set(await each_of(AT_ONCE, first)) <= {200, 503}


async def api_token(site: Site) -> None:
    async with site.web() as web:
        wanted = {"name": "ci", "scopes": ["submit"]}
        made = await web.post("/heddle/v1/tokens?user.name=ada", json=wanted)
    shown = {"Authorization": f"Bearer {made.json()['token']}"}
    assert await statuses(site, NEW, method="POST", headers=shown) == {200}
    forged = {"Authorization": shown["Authorization"][:-1] + "~"}
    assert await statuses(site, NEW, method="POST", headers=forged) == {401}


async def proxy_user(site: Site) -> None:
    assert await statuses(site, f"{NEW}?user.name=knox&doAs=ada", method="POST") == {200}
    assert await statuses(site, f"{NEW}?user.name=knox&doAs=carl", method="POST") == {403}


async def proxy_user_of_rpc(site: Site) -> None:
    """Who acts for somebody over RPC is let in by the same rules, and the refused hear why."""
    refused: list[tuple[str, bool]] = []

    async def come(number: int) -> None:
        for_whom = "ada" if number % 2 else "carl"
        channel = YarnRPC(
            RPCTarget(SubClusterId("heddle"), addresses_of([site.doors["client_rpc"]])),
            usual(RPCSettings, real_user="knox", connect_timeout_s=PATIENCE_S),
        )
        try:
            told = await channel.call(
                RPCCall(APPLICATION_CLIENT.name, "getNewApplication", b"", for_whom), timeout_s=60
            )
            if told.refusal is not None:
                refused.append((for_whom, "not allowed to impersonate" in told.refusal.message))
        except NeverReachedError as exc:
            refused.append((for_whom, "not allowed to impersonate" in str(exc)))
        finally:
            await channel.close()

    await each_of(DEAR, come)
    assert refused == [("carl", True)] * (DEAR // 2)


async def shared_connections(site: Site) -> None:
    """A gateway sends requests of many users over few connections: each is answered as its own user, and no other."""
    limits = httpx.Limits(max_connections=4, max_keepalive_connections=4)
    async with httpx.AsyncClient(base_url=site.url, trust_env=False, timeout=PATIENCE_S, limits=limits) as gateway:

        async def come(number: int) -> None:
            gateway.cookies.clear()
            told = await gateway.get(f"{WHO}?user.name=u{number}", headers={"X-Forwarded-User": "root"})
            assert told.json()["user"] == f"u{number}"

        await each_of(AT_ONCE, come)


async def other_hosts(site: Site) -> None:
    """A name of another host leads nowhere, however it is written."""
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example"):
        assert await statuses(site, f"{NEW}?user.name=ada", DEAR, method="POST", headers={"Host": host}) <= {400, 421}


async def cookie(site: Site) -> None:
    forged = Cookies(b"x" * 32, SystemClock(), validity_s=1000, kind="simple-dt").issue("ada") or ""
    async with site.web() as web:
        good = (await web.get("/ws/v1/cluster/info?user.name=ada")).headers["set-cookie"].partition(";")[0]
    assert await statuses(site, NEW, method="POST", headers={"Cookie": good}) == {200}
    assert not await statuses(site, NEW, method="POST", headers={"Cookie": forged.partition(";")[0]}) & {200}


async def rpc(site: Site, door: str, login: Any, count: int, user: str = "ada") -> None:
    """New ids by client RPC, a connection each."""

    async def come(_: int) -> None:
        async with calling(site.doors[door], login) as ask:
            assert isinstance(await ask("getNewApplication", user=user), GetNewApplicationResponseProto)

    await each_of(count, come)


async def client_rpc(site: Site) -> None:
    await rpc(site, "client_rpc", None, AT_ONCE)


async def operators(site: Site, login: Any, count: int) -> None:
    wish = HA_SERVICE.methods["getServiceStatus"].request()

    async def come(_: int) -> None:
        async with calling(site.doors["admin_rpc"], login) as ask:
            told = await ask("getServiceStatus", wish, protocol=HA_SERVICE)
            assert isinstance(told, GetServiceStatusResponseProto)

    await each_of(count, come)


async def admin_rpc(site: Site) -> None:
    await operators(site, None, AT_ONCE)


async def scheduler_rpc(site: Site) -> None:
    """Nobody's token leads nowhere, and every one of its holders is told so, or cut."""

    async def come(number: int) -> None:
        token = TokenProto(identifier=b"nobody-%d" % number, password=b"x" * 20)
        with suppress(NoAnswerError, NeverReachedError):
            async with calling(site.doors["scheduler_rpc"], by_token(token)) as ask:
                told = await ask("getNewApplication")
                assert not isinstance(told, GetNewApplicationResponseProto)

    await each_of(AT_ONCE, come)


async def half_open(site: Site) -> None:
    """Those that say half a word, or none, at every door at once, keep nobody out; at the web services they are cut."""
    streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, str]] = []
    for address in site.doors.values():
        host, port = address.rsplit(":", 1)
        for _ in range(50):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"G" if len(streams) % 2 else b"")
            streams.append((reader, writer, address))
    await web_services(site)
    await client_rpc(site)
    async with asyncio.timeout(PATIENCE_S):
        for reader, writer, address in streams:
            if address == site.doors["rest"]:
                with suppress(ConnectionResetError):
                    await reader.read()
            writer.close()


def ticket_for_web(site: Site, principal: str) -> dict[str, str]:
    token = WebInitiator(principal, site.more["keytabs"][principal]).token_for(LOCALHOST)
    return {"Authorization": f"Negotiate {base64.b64encode(token).decode()}"}


async def web_tickets(site: Site) -> None:
    async with site.web() as web:

        async def come(number: int) -> int:
            shown = ticket_for_web(site, ADA if number % 2 else OOZIE)
            acts_for = "?doAs=ada" if number % 2 == 0 else ""
            return (await web.post(f"{NEW}{acts_for}", headers=shown)).status_code

        assert set(await each_of(DEAR, come)) == {200}


async def rpc_tickets(site: Site) -> None:
    for quality in QualityOfProtection:
        await rpc(site, "client_rpc", by_ticket(ADA, site.more["keytabs"][ADA], (quality,)), DEAR)
    await operators(site, by_ticket(ADA, site.more["keytabs"][ADA]), DEAR)


async def delegation_tokens(site: Site) -> None:
    """One of the web over the web and over RPC, and one of RPC over RPC."""
    async with site.web() as web:
        answer = await web.get("/?op=GETDELEGATIONTOKEN", headers=ticket_for_web(site, ADA))
    token = answer.json()["Token"]["urlString"]
    assert await statuses(site, NEW, method="POST", headers={"X-Hadoop-Delegation-Token": token}) == {200}
    assert await statuses(site, NEW, method="POST", params={"delegation": token}) == {200}
    await rpc(site, "client_rpc", by_token(decode_token(token)), AT_ONCE)
    async with calling(site.doors["client_rpc"], by_ticket(ADA, site.more["keytabs"][ADA])) as ask:
        issued = await ask("getDelegationToken", GetDelegationTokenRequestProto(renewer=ADA))
        assert isinstance(issued, GetDelegationTokenResponseProto)
    await rpc(site, "client_rpc", by_token(issued.token), AT_ONCE)


async def layers_beside_tokens(site: Site) -> None:
    """Tickets and tokens at one server at one time, by each layer: none is taken for another, or for another's."""
    async with calling(site.doors["client_rpc"], by_ticket(ADA, site.more["keytabs"][ADA])) as ask:
        issued = await ask("getDelegationToken", GetDelegationTokenRequestProto(renewer=ADA))
    forged = TokenProto(identifier=issued.token.identifier, password=b"x" * 20)
    logins: list[tuple[Any, bool]] = []
    for quality in ((each,) for each in QualityOfProtection):
        logins += [(by_ticket(ADA, site.more["keytabs"][ADA], quality), True), (by_token(issued.token, quality), True)]
        logins.append((by_token(forged, quality), False))

    async def come(number: int) -> None:
        login, is_good = logins[number % len(logins)]
        try:
            async with calling(site.doors["client_rpc"], login) as ask:
                for _ in range(3):
                    told = await ask("getNewApplication")
                    assert isinstance(told, GetNewApplicationResponseProto) is is_good
        except (NoAnswerError, NeverReachedError):
            assert not is_good

    await each_of(len(logins) * 6, come)


async def names_are_nobody(site: Site) -> None:
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST") == {401}
    async with calling(site.doors["client_rpc"], None) as ask:
        assert "SIMPLE authentication is not enabled" in (await ask("getNewApplication")).message


async def roles_of_groups(site: Site) -> None:
    """A user of the group may, one without is refused; 200 at once, when the directory has not been asked yet."""
    for user, allowed in (("ada", {200}), ("nina", {403})):
        path = f"{NEW}?user.name={user}"
        assert await statuses(site, path, method="POST") <= allowed | {503}
        async with asyncio.timeout(PATIENCE_S):
            while 503 in await statuses(site, path, 1, method="POST"):  # noqa: ASYNC110 - it is asked meanwhile
                await asyncio.sleep(0.1)
        assert await statuses(site, path, method="POST") == allowed


async def tokens_of_a_provider(site: Site) -> None:
    shown = {"Authorization": f"Bearer {site.more['issuer'].access_token('robot')}"}
    assert await statuses(site, WHO, headers=shown) == {200}
    assert await statuses(site, f"{NEW}?user.name=robot", method="POST") == {401}
    assert await statuses(site, "/oidc/login?next=/console/", count=DEAR) == {302}


async def roles_of_a_directory_for_tokens(site: Site) -> None:
    """The provider's word is who it is, the directory's what he may; who is in no group there may look alone."""
    robot, other = (
        {"Authorization": f"Bearer {site.more['issuer'].access_token(each)}"} for each in ("robot", "other-robot")
    )
    async with asyncio.timeout(PATIENCE_S):
        while 503 in await statuses(site, NEW, DEAR, method="POST", headers=robot):  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.1)
    assert await statuses(site, NEW, method="POST", headers=robot) == {200}
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST", headers=robot) == {401}
    assert await statuses(site, f"{NEW}?doAs=ada", method="POST", headers=robot) == {403}
    assert not await statuses(site, NEW, DEAR, method="POST", headers=other) & {200}
    assert await statuses(site, WHO, headers=other) == {200}


async def clients_of_a_ca(site: Site) -> None:
    """Who shows a certificate of the CA is let in; all others hear nothing, and keep nobody out."""
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST") == {200}
    for name in ("foreign", "none"):
        async with replace(site, trusts=site.more[name]).web() as web:

            async def come(_: int, web: httpx.AsyncClient = web) -> None:
                with pytest.raises((httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)):
                    await web.get("/healthz")

            await each_of(DEAR, come)
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST") == {200}


async def store_of_extras(site: Site) -> None:
    await web_services(site)
    await api_token(site)
    await client_rpc(site)


async def traces(_: Site) -> None:
    await asyncio.to_thread(until, lambda: "/v1/traces" in _Collector.took, "the collector is told")


async def links(site: Site) -> None:
    """The two find each other; who says nothing, or proves nothing, is cut and keeps neither from it."""

    def joined() -> bool:
        told = httpx.get(f"{site.url}/heddle/v1/masters?user.name=ada", trust_env=False, timeout=60).json()
        return [each["is_linked"] for each in told["links"]] == [True]

    async def stranger(number: int) -> None:
        address = tuple(site.more["links"].values())[number % 2]
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n", b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")[number // 2 % 4]
        )
        with suppress(ConnectionResetError):
            while await reader.read(1 << 16):
                pass
        writer.close()

    await each_of(AT_ONCE, stranger)
    await asyncio.to_thread(until, joined, "the masters have a link")
    assert await statuses(site, f"{NEW}?user.name=ada", method="POST") == {200}


TABLE: tuple[tuple[str, Callable[[Site], Awaitable[None]]], ...] = (
    ("plain", web_services),
    ("plain", metrics),
    ("plain", pages),
    ("plain", live_events),
    ("plain", api_token),
    ("plain", proxy_user),
    ("plain", proxy_user_of_rpc),
    ("plain", shared_connections),
    ("plain", other_hosts),
    ("plain", cookie),
    ("plain", client_rpc),
    ("plain", admin_rpc),
    ("plain", scheduler_rpc),
    ("plain", half_open),
    ("tickets", web_tickets),
    ("tickets", rpc_tickets),
    ("tickets", delegation_tokens),
    ("tickets", layers_beside_tokens),
    ("tickets", names_are_nobody),
    ("certificates", clients_of_a_ca),
    ("groups", roles_of_groups),
    ("provider", tokens_of_a_provider),
    ("provider and groups", roles_of_a_directory_for_tokens),
    ("extras", store_of_extras),
    ("extras", traces),
    ("masters by a secret", links),
    ("masters by TLS", links),
)


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[str, tuple[ExitStack, Site]]]:
    kept: dict[str, tuple[ExitStack, Site]] = {}
    yield kept
    for held, _ in kept.values():
        held.close()


@pytest.mark.parametrize(
    ("name", "check"), [pytest.param(name, check, id=f"{name}: {check.__name__}") for name, check in TABLE]
)
async def test_every_door_and_every_login_of_started_masters(request, opened, tmp_path_factory, name, check):
    if name == "tickets":
        request.getfixturevalue("kerberos")
    if name not in opened:
        for held, _ in opened.values():  # one configuration at a time: the table names them in turn
            held.close()
        opened.clear()
        held = ExitStack()
        opened[name] = held, CONFIGURATIONS[name](tmp_path_factory.mktemp("doors"), held, request)
    _, site = opened[name]
    await check(site)
    for each in site.running:
        assert each.process.poll() is None
        assert not each.troubles()
    if (name, check) == next(row for row in reversed(TABLE) if row[0] == name):
        held, _ = opened.pop(name)
        with held:
            assert [each.ended(by=signal.SIGTERM) for each in site.running] == [0] * len(site.running)
