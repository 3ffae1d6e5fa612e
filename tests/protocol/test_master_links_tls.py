"""Links between masters over TLS, on real sockets with real certificates: whoever is not who he says is refused."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509

from adapters.peers import LinkListener, LinkSettings, WebSocketDialer, WebSocketLink
from shim.app.master_tls import MasterTLS, open_master_tls
from shim.config.masters import MastersConfig, MastersTLSConfig
from shim.errors import ConfigError, InvariantViolationError, MasterLinkError
from shim.protocol.peers import ChallengeFrame, Credentials, Frame, ResyncFrame
from tests.doubles.clock import FakeClock
from tests.support.certificates import LOCAL, TestAuthority
from tests.support.proxy import Proxy

SETTINGS = LinkSettings(handshake_s=1.0, silent_after_s=1.0, send_within_s=1.0, max_frame_bytes=64 * 1024, max_links=4)


class Accepts:
    """What a listener does: remembers its links and what they say."""

    def __init__(self) -> None:
        self.links: list[WebSocketLink] = []
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    async def __call__(self, link: object) -> None:
        assert isinstance(link, WebSocketLink)
        self.links.append(link)
        while True:
            self.frames.put_nowait(await link.receive())


class Site:
    """A CA of masters, another one, and masters with certificates of either."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.other = TestAuthority(folder, "masters"), TestAuthority(folder, "others")
        self.clock = FakeClock()

    def config(
        self, name: str, *, by: TestAuthority | None = None, trusts: Path | None = None, days: int = 30, named: str = ""
    ) -> MastersConfig:
        """A configuration whose certificate names `named`, or else `name`."""
        uri = x509.UniformResourceIdentifier(f"heddle:{named or name}")
        certificate, key = (by or self.authority).issue(name.replace("/", "-"), days=days, names=(uri, *LOCAL))
        return MastersConfig(tls=MastersTLSConfig(certificate, key, trusts or self.authority.file))

    def tls(
        self, name: str, *, by: TestAuthority | None = None, trusts: Path | None = None, days: int = 30
    ) -> MasterTLS:
        opened = open_master_tls(self.config(name, by=by, trusts=trusts, days=days), name, self.clock.monotonic_s)
        assert opened is not None
        return opened


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@asynccontextmanager
async def listening(accept: Accepts, tls: MasterTLS | None, speaker: str = "lm/east") -> AsyncIterator[LinkListener]:
    credentials = Credentials(speaker, b"" if tls else b"a secret of masters")
    listener = LinkListener(credentials, accept, host="127.0.0.1", port=0, settings=SETTINGS, tls=tls)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop()


@asynccontextmanager
async def dialling(tls: MasterTLS | None, speaker: str = "gm/a") -> AsyncIterator[WebSocketDialer]:
    dialer = WebSocketDialer(Credentials(speaker, b"" if tls else b"a secret of masters"), SETTINGS, tls=tls)
    try:
        yield dialer
    finally:
        await dialer.close()


async def speaks(site: Site) -> tuple[str, str]:
    """Make a link, send a frame each way; whom each end takes the other for."""
    accept = Accepts()
    async with listening(accept, site.tls("lm/east")) as listener, dialling(site.tls("gm/a")) as dialer:
        link = await dialer.dial(listener.address, expected="lm/east")
        await link.send(ResyncFrame())
        assert await accept.frames.get() == ResyncFrame()
        (other,) = accept.links
        await other.send(ResyncFrame())
        assert await link.receive() == ResyncFrame()
        await link.close()
        return link.peer, other.peer


async def test_both_ends_are_who_their_certificates_say(site: Site) -> None:
    assert await speaks(site) == ("lm/east", "gm/a")


@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_who_listens_on_the_way_reads_only_what_is_plain(site: Site, *, is_encrypted: bool) -> None:
    accept, said = Accepts(), ChallengeFrame("canary-between-masters", b"n" * 32)
    ends = (site.tls("lm/east"), site.tls("gm/a")) if is_encrypted else (None, None)
    async with listening(accept, ends[0]) as listener, dialling(ends[1]) as dialer, Proxy(listener.address) as proxy:
        proxy.seen = bytearray()
        link = await dialer.dial(proxy.address, expected="lm/east")
        await accept.links[0].send(said)  # towards the dialer, where nothing is masked
        assert await link.receive() == said
        await link.close()
    assert (b"canary" in proxy.seen) != is_encrypted


async def refused(dialer_tls: MasterTLS | None, listener_tls: MasterTLS | None, told: str = ".") -> None:
    accept = Accepts()
    async with listening(accept, listener_tls) as listener, dialling(dialer_tls) as dialer:
        with pytest.raises(MasterLinkError, match=told):
            await dialer.dial(listener.address, expected="lm/east")
    assert accept.links == []


async def test_a_dialer_of_another_ca_is_refused(site: Site) -> None:
    await refused(site.tls("gm/a", by=site.other), site.tls("lm/east"))


async def test_a_listener_of_another_ca_is_refused(site: Site) -> None:
    await refused(site.tls("gm/a"), site.tls("lm/east", by=site.other))


@pytest.mark.parametrize("name", ["lm/west", "gm/b", "lm/east2"])
async def test_another_master_at_the_address_is_refused(site: Site, name: str) -> None:
    async with listening(Accepts(), site.tls(name)) as listener, dialling(site.tls("gm/a")) as dialer:
        with pytest.raises(MasterLinkError, match=f"lm/east was dialled, and '{name}' answers"):
            await dialer.dial(listener.address, expected="lm/east")


async def test_a_local_master_dials_nobody(site: Site) -> None:
    await refused(site.tls("lm/west"), site.tls("lm/east"), "403")


async def test_an_expired_dialer_is_refused(site: Site) -> None:
    await refused(site.tls("gm/a", days=-1), site.tls("lm/east"))


async def test_an_expired_listener_is_refused(site: Site) -> None:
    await refused(site.tls("gm/a"), site.tls("lm/east", days=-1), "expired")


async def test_a_dialer_without_tls_is_refused_whatever_secret_it_has(site: Site) -> None:
    await refused(None, site.tls("lm/east"))


async def test_a_listener_without_tls_is_not_spoken_to_in_clear(site: Site) -> None:
    await refused(site.tls("gm/a"), None)


@pytest.mark.parametrize("names", [(), ("heddle:gm/a", "heddle:gm/b"), ("spiffe:gm/a",), ("heddle:gm/",)])
async def test_a_dialer_whose_certificate_names_no_master_or_two_is_refused(site: Site, names: tuple[str, ...]) -> None:
    class AnyName:
        """TLS of somebody whose own checks are off."""

        def dialling(self) -> ssl.SSLContext:
            uris = [x509.UniformResourceIdentifier(name) for name in names]
            context = ssl.create_default_context(cafile=str(site.authority.file))
            context.check_hostname = False
            context.load_cert_chain(*site.authority.issue("somebody", names=(*uris, *LOCAL)))
            return context

        listening = dialling

    accept = Accepts()
    dialer = WebSocketDialer(Credentials("gm/a", b""), SETTINGS, tls=AnyName())
    async with listening(accept, site.tls("lm/east")) as listener:
        with pytest.raises(MasterLinkError, match="403"):
            await dialer.dial(listener.address, expected="lm/east")
    await dialer.close()
    assert accept.links == []


async def test_an_older_tls_is_not_spoken(site: Site) -> None:
    async with listening(Accepts(), site.tls("lm/east")) as listener:
        old = ssl.create_default_context(cafile=str(site.authority.file))
        old.load_cert_chain(*site.authority.issue("gm-a"))
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        host, _, port = listener.address.rpartition(":")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection(host, int(port), ssl=old)


async def test_who_dials_speaks_no_older_tls(site: Site) -> None:
    old = site.tls("lm/east")
    old.listening().minimum_version = ssl.TLSVersion.TLSv1_2
    old.listening().maximum_version = ssl.TLSVersion.TLSv1_2
    await refused(site.tls("gm/a"), old)


async def test_who_shows_no_certificate_does_not_come_to_http(site: Site) -> None:
    async with listening(Accepts(), site.tls("lm/east")) as listener:
        nobody = ssl.create_default_context(cafile=str(site.authority.file))
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=nobody)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(10)
        writer.close()


async def test_new_certificates_are_shown_without_a_restart(site: Site) -> None:
    tls = site.tls("lm/east", days=-1)
    accept = Accepts()
    async with listening(accept, tls) as listener, dialling(site.tls("gm/a")) as dialer:
        with pytest.raises(MasterLinkError, match="expired"):
            await dialer.dial(listener.address, expected="lm/east")
        site.config("lm/east")  # over the file of before
        await site.clock.advance(2.0)
        await (await dialer.dial(listener.address, expected="lm/east")).close()


async def test_a_change_by_half_leaves_what_was_there(site: Site, tmp_path: Path) -> None:
    tls = site.tls("lm/east")
    (tmp_path / "lm-east.crt").write_bytes((tmp_path / "masters.pem").read_bytes())
    await site.clock.advance(2.0)
    accept = Accepts()
    async with listening(accept, tls) as listener, dialling(site.tls("gm/a")) as dialer:
        await (await dialer.dial(listener.address, expected="lm/east")).close()


@pytest.mark.parametrize("named", ["lm/west", "gm/east"])
def test_a_certificate_of_another_name_is_told_at_the_start(site: Site, named: str) -> None:
    config = site.config("lm/east", named=named)
    with pytest.raises(ConfigError, match=f"names heddle:{named}, and has to name this one: URI:heddle:lm/east"):
        open_master_tls(config, "lm/east", site.clock.monotonic_s)


async def test_without_tls_and_secret_there_is_no_link() -> None:
    accept = Accepts()
    async with listening(accept, None) as listener:
        nobody = WebSocketDialer(Credentials("gm/a", b""), SETTINGS)
        with pytest.raises(InvariantViolationError):
            await nobody.dial(listener.address, expected="lm/east")
        await nobody.close()
    assert accept.links == []
