"""TLS to a real PostgreSQL: who is believed, who is refused, and that nothing goes on in clear text instead."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from cryptography import x509
from sqlalchemy import text
from sqlalchemy.engine import make_url

from shim.errors import StoreUnavailableError
from shim.store import open_state_store
from shim.store.copies import copying_of, look
from shim.store.looking import look_at_policy
from shim.store.postgresql import postgresql_engine
from tests.doubles.builders import a_record
from tests.doubles.postgresql import LocalPostgreSQL, ServedTLS
from tests.support.certificates import TestAuthority
from tests.support.databases import emptied

VARIABLES = ("PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY")


@dataclass(frozen=True)
class Guarded:
    """A server that takes nobody without TLS and a certificate of its CA, and the files of its clients."""

    server: LocalPostgreSQL
    ca: Path
    other_ca: Path
    ours: Mapping[str, str]

    def url(self, host: str = "127.0.0.1", **words: object) -> str:
        return f"{self.server.url.replace('127.0.0.1', host)}?{urlencode({**self.ours, **words})}"


def guarded(folder: Path, names: tuple[x509.GeneralName, ...]) -> tuple[LocalPostgreSQL, Guarded]:
    authority, other = TestAuthority(folder), TestAuthority(folder, "other")
    certificate, key = authority.issue("server", names=names)
    own, own_key = authority.issue("client")
    server = LocalPostgreSQL(ServedTLS(certificate, key, authority.file))
    return server, Guarded(server, authority.file, other.file, {"sslcert": str(own), "sslkey": str(own_key)})


@pytest.fixture(scope="module")
def site(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server whose certificate names localhost, not 127.0.0.1.

    `postgres_url` is wanted for what it does where no PostgreSQL is installed.
    """
    server, site = guarded(tmp_path_factory.mktemp("tls"), (x509.DNSName("localhost"),))
    with server:
        yield site


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def open_sockets() -> int:
    found = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # one that was open while the folder was read
            found += str(file.readlink()).startswith("socket:")
    return found


async def refused(url: str, match: str | None = None) -> None:
    """The server is not believed, or refuses; the connection has ended by then, without which no loop can be closed."""
    before = open_sockets()
    with pytest.raises(StoreUnavailableError, match=match):
        await open_state_store(url)
    async with asyncio.timeout(60):
        while open_sockets() > before:  # noqa: ASYNC110 - asyncpg has no event for it
            await asyncio.sleep(0.01)


async def is_encrypted(url: str) -> bool:
    engine = postgresql_engine(make_url(url))
    try:
        async with engine.connect() as connection:
            asked = text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            return bool((await connection.execute(asked)).scalar_one())
    finally:
        await engine.dispose()


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
async def test_every_mode_but_disable_encrypts(site: Guarded, mode: str) -> None:
    assert await is_encrypted(site.url("localhost", sslmode=mode, sslrootcert=site.ca))


async def test_a_store_lives_over_tls(site: Guarded) -> None:
    url = site.url("localhost", sslmode="verify-full", sslrootcert=site.ca)
    store = await open_state_store(url)
    await store.insert_intent(a_record(1))
    await store.close()
    assert await look_at_policy(url) is None
    facts = await asyncio.to_thread(look, url, {})
    assert sum(facts.states.values()) == 1


@pytest.mark.parametrize(
    ("words", "host"),
    [
        pytest.param({"sslmode": "verify-full", "sslrootcert": "other"}, "localhost", id="another CA"),
        pytest.param({"sslmode": "verify-ca", "sslrootcert": "other"}, "localhost", id="another CA without names"),
        pytest.param({"sslmode": "require", "sslrootcert": "other"}, "localhost", id="a CA makes require verify"),
        pytest.param({"sslmode": "verify-full", "sslrootcert": "ca"}, "127.0.0.1", id="another host name"),
        pytest.param({"sslmode": "disable"}, "localhost", id="clear text"),
        pytest.param({"sslmode": "require", "sslcert": "", "sslkey": ""}, "localhost", id="no certificate of ours"),
    ],
)
async def test_others_are_refused(site: Guarded, words: dict[str, str], host: str) -> None:
    files = {"other": site.other_ca, "ca": site.ca}
    url = site.url(host, **{name: files.get(value, value) for name, value in words.items()})
    await refused(url)


async def test_verify_ca_does_not_look_at_names(site: Guarded) -> None:
    assert await is_encrypted(site.url("127.0.0.1", sslmode="verify-ca", sslrootcert=site.ca))


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
async def test_a_server_without_tls_is_refused_and_hears_no_login(site: Guarded, postgres_url: str, mode: str) -> None:
    words = urlencode({"sslmode": mode, "sslrootcert": site.ca})
    await refused(f"{postgres_url}?{words}", match="SSL")


@pytest.mark.parametrize("mode", ["disable", "prefer"])
async def test_a_server_without_tls_is_taken_by_who_does_not_need_it(postgres_url: str, mode: str) -> None:
    assert not await is_encrypted(f"{await emptied(postgres_url)}?sslmode={mode}")


async def test_an_expired_server_is_refused(postgres_url: str, tmp_path: Path) -> None:
    authority = TestAuthority(tmp_path)
    certificate, key = authority.issue("server", days=-1)
    with LocalPostgreSQL(ServedTLS(certificate, key)) as server:
        await refused(f"{server.url}?sslmode=verify-full&sslrootcert={authority.file}", match="expired")
        assert await is_encrypted(f"{server.url}?sslmode=require")


async def test_libpqs_variables_stand_in_for_the_url(site: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(site.other_ca))
    await refused(site.url("localhost"))
    assert await is_encrypted(site.url("localhost", sslrootcert=site.ca))


async def test_copies_go_over_the_same_tls(site: Guarded, tmp_path: Path) -> None:
    url = site.url("localhost", sslmode="verify-full", sslrootcert=site.ca)
    store = await open_state_store(url)
    await store.close()
    copied = await asyncio.to_thread(copying_of(url).backup, tmp_path / "copy", force=False, dry_run=False)
    back = await asyncio.to_thread(copying_of(url).restore, tmp_path / "copy", force=True, dry_run=False)
    assert copied.submissions == back.submissions
    await drop_kept(url)


async def drop_kept(url: str) -> None:
    engine = postgresql_engine(make_url(url))
    async with engine.begin() as connection:
        kept = await connection.execute(text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'before_restore_%'"))
        for (schema,) in kept.all():
            await connection.execute(text(f'DROP SCHEMA "{schema}" CASCADE'))
    await engine.dispose()


@pytest.mark.parametrize("tool", ["backup", "restore"])
async def test_tools_do_not_speak_to_another(site: Guarded, tmp_path: Path, tool: str) -> None:
    good = site.url("localhost", sslmode="verify-full", sslrootcert=site.ca)
    await (await open_state_store(good)).close()
    await asyncio.to_thread(copying_of(good).backup, tmp_path / "copy", force=False, dry_run=False)
    bad = copying_of(site.url("localhost", sslmode="verify-full", sslrootcert=site.other_ca))
    with pytest.raises(StoreUnavailableError):
        await asyncio.to_thread(getattr(bad, tool), tmp_path / "copy", force=True, dry_run=False)
