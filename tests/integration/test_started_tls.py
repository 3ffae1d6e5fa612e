"""`[server.tls]` of a started `heddle serve`: every client that speaks TLS comes in, however its bytes are cut."""

import asyncio
import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from tests.support.certificates import TestAuthority
from tests.support.started import Started, configuration

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 200
ASKED = b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Site:
    heddle: Started
    port: int
    authority: TestAuthority
    files: tuple[Path, Path]

    @property
    def trusts(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority.file)


@contextmanager
def a_site(folder: Path, request_timeout_s: float) -> Iterator[Site]:
    authority = TestAuthority(folder)
    certificate, key = authority.issue("heddle")
    tls = f'tls = {{ certificate = "{certificate}", key = "{key}" }}'
    text, doors = configuration(folder, server=f"request_timeout_s = {request_timeout_s}\nshutdown_s = 3600\n{tls}")
    with Started(folder, text) as heddle:
        yield Site(heddle, int(doors["rest"].rpartition(":")[2]), authority, (certificate, key))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Clients may take as long as this machine lets them."""
    with a_site(tmp_path_factory.mktemp("tls"), 3600) as patient:
        yield patient


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Who takes two seconds is cut."""
    with a_site(tmp_path_factory.mktemp("hasty"), 2) as started:
        yield started


class Talk:
    """A client whose bytes are sent as a test says."""

    def __init__(self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = site.trusts.wrap_bio(self._in, self._out, server_hostname="localhost")
        self._reader, self._writer = reader, writer

    @classmethod
    async def begin(cls, site: Site) -> "Talk":
        return cls(site, *await asyncio.open_connection("127.0.0.1", site.port))

    async def secured(self, piece: int) -> None:
        """Shake hands, so many bytes in each packet; the last of it stays here."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.flush(piece)
                await self._read()
            else:
                return  # what is left goes with the request

    async def asked(self) -> bytes:
        """Ask, and read to the end."""
        self._tls.write(ASKED)
        await self.flush(1 << 16)  # with what the handshake left here: one packet
        answer = b""
        while True:
            try:
                got = self._tls.read(1 << 16)
            except ssl.SSLWantReadError:
                await self._read()
            except ssl.SSLZeroReturnError:
                break
            else:
                if not got:
                    break
                answer += got
        self.leave()
        return answer

    async def flush(self, piece: int) -> None:
        data = self._out.read()
        for start in range(0, len(data), piece):
            self._writer.write(data[start : start + piece])
            await asyncio.sleep(0.001 if piece < 100 else 0)

    async def sent(self, count: int) -> None:
        """Send only so many bytes of the hello."""
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.do_handshake()
        self._writer.write(self._out.read()[:count])

    async def cut(self) -> None:
        """Wait for the other side to end it."""
        with suppress(ConnectionResetError):
            assert await self._reader.read() == b""
        self.leave()

    def leave(self) -> None:
        self._writer.close()

    async def _read(self) -> None:
        data = await self._reader.read(1 << 16)
        self._in.write(data) if data else self._in.write_eof()


async def by_stream(site: Site) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port, ssl=site.trusts)
    writer.write(ASKED)
    answer = await reader.read()
    writer.close()
    return answer


async def is_let_in(site: Site) -> bool:
    with suppress(ConnectionError, ssl.SSLError):
        return (await by_stream(site)).startswith(b"HTTP/1.1 ")
    return False


async def in_one_packet(site: Site) -> bytes:
    talk = await Talk.begin(site)
    await talk.secured(1 << 16)
    return await talk.asked()


async def in_pieces(site: Site) -> bytes:
    talk = await Talk.begin(site)
    await talk.secured(37)
    return await talk.asked()


async def late(site: Site) -> bytes:
    talk = await Talk.begin(site)
    await asyncio.sleep(0.3)
    await talk.secured(1 << 16)
    return await talk.asked()


@pytest.mark.parametrize("come", [by_stream, in_one_packet, in_pieces, late])
async def test_each_of_200_clients_is_let_in(site, come):
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*(come(site) for _ in range(AT_ONCE)))
    assert {answer[:12] for answer in answers} <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    assert not site.heddle.troubles()


async def test_hellos_that_are_there_before_the_server_looks_are_not_lost(site):
    async with asyncio.timeout(PATIENCE_S):
        site.heddle.process.send_signal(signal.SIGSTOP)
        talks = [await Talk.begin(site) for _ in range(AT_ONCE)]
        for talk in talks:
            await talk.sent(1 << 16)
        site.heddle.process.send_signal(signal.SIGCONT)

        async def answer(talk: Talk) -> bytes:
            await talk.secured(1 << 16)
            return await talk.asked()

        answers = await asyncio.gather(*map(answer, talks))
    assert all(answer.startswith(b"HTTP/1.1 ") for answer in answers)


@pytest.mark.parametrize("hello", [0, 1, 5, 100])
async def test_a_handshake_that_never_ends_is_cut_and_keeps_nobody_out(hasty, hello):
    async with asyncio.timeout(PATIENCE_S):
        talks = [await Talk.begin(hasty) for _ in range(AT_ONCE)]
        for talk in talks:
            with suppress(ConnectionError):  # on a slow machine the first are cut meanwhile
                await talk.sent(hello)
        while not await is_let_in(hasty):
            pass  # as slow as others
        await asyncio.gather(*(talk.cut() for talk in talks))
    assert not hasty.heddle.troubles()


@pytest.mark.parametrize(
    "told", [ASKED, b"\x00" * 3, b"\x16\x03\x01\xff\xff" + b"\xff" * 70_000, b"\x80\x2e\x01\x00\x02"]
)
async def test_what_is_no_tls_is_not_answered(hasty, told):
    async def answer() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", hasty.port)
        writer.write(told)
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*(answer() for _ in range(AT_ONCE)))
    assert not any(b"HTTP" in each for each in answers)
    assert not hasty.heddle.troubles()


async def test_clients_that_go_in_the_midst_leave_no_trace(site):
    async with asyncio.timeout(PATIENCE_S):
        for count in range(AT_ONCE):
            talk = await Talk.begin(site)
            await talk.sent(count)
            talk.leave()
        assert (await by_stream(site)).startswith(b"HTTP/1.1 ")
    assert not site.heddle.troubles()


def told_by_front(site: Site, server: str, monkeypatch: pytest.MonkeyPatch, ca_file: str = "") -> tuple[int, str]:
    monkeypatch.setenv("HEDDLE_CA_FILE", ca_file)
    told = CliRunner().invoke(app, ["doctor", "--server", server, "--user", "ada"])
    return told.exit_code, told.output


def test_the_doctor_says_what_was_wrong_with_a_handshake(site, monkeypatch):
    code, told = told_by_front(site, f"https://127.0.0.1:{site.port}", monkeypatch)
    assert (code, "does not prove who it is" in told) == (4, True)
    code, told = told_by_front(site, f"https://127.0.0.2:{site.port}", monkeypatch, str(site.authority.file))
    assert (code, "IP address mismatch" in told or "refused" in told) == (4, True)
    code, told = told_by_front(site, f"http://127.0.0.1:{site.port}", monkeypatch)
    assert (code, "write https://" in told) == (4, True)
    code, told = told_by_front(site, f"https://127.0.0.1:{site.port}", monkeypatch, str(site.authority.file))
    assert "the certificate of the web services" in told


def test_check_knows_its_own_heddle_from_another_server_at_its_ports(site, tmp_path):
    beside = CliRunner().invoke(app, ["serve", "--check", "-c", str(site.heddle.config)])
    assert (beside.exit_code, "note: a Heddle serves at" in beside.output) == (0, True), beside.output
    other = TestAuthority(tmp_path).issue("other")
    text = site.heddle.config.read_text()
    for mine, theirs in zip(site.files, other, strict=True):
        text = text.replace(str(mine), str(theirs))
    (tmp_path / "heddle.toml").write_text(text)
    taken = CliRunner().invoke(app, ["serve", "--check", "-c", str(tmp_path / "heddle.toml")])
    assert (taken.exit_code, "Address already in use" in taken.output) == (1, True), taken.output


def test_the_image_asks_it_whether_it_is_well(site):
    lines = (ROOT / "docker" / "heddle" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    (check,) = (line.partition(" CMD ")[2] for line in lines if line.startswith("HEALTHCHECK"))
    _, *arguments = json.loads(check)
    for port, code in ((str(site.port), 0), ("9", 1)):
        here = [each.replace("8088", port) for each in arguments]
        assert subprocess.run([sys.executable, *here], check=False, capture_output=True, timeout=60).returncode == code


async def test_silent_ones_do_not_hold_up_the_end(site):
    streams = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(5)]
    streams[0][1].write(b"\x16\x03\x01\x02\x00")
    assert site.heddle.ended(by=signal.SIGTERM) == 0
    for _, writer in streams:
        writer.close()
