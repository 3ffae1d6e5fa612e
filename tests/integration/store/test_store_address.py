"""What the address of a PostgreSQL may say of TLS, and what is told before anything is connected."""

from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from shim.errors import ConfigError
from shim.store.postgresql import check_store_url, tool_settings, unverified_server
from tests.support.certificates import TestAuthority

SERVER = "postgresql+asyncpg://heddle:secret@db.example/heddle"


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    return TestAuthority(tmp_path).file


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("sslmode=verify_full", "sslmode=verify_full is not known; write one of disable, prefer, require"),
        ("sslmode=allow", "sslmode=allow is not known"),
        ("sslmode=require&sslmode=disable", "sslmode= is there more than once"),
        ("ssl=require", "ssl= is not known; known are sslmode"),
        ("sslmode=verify-full", "sslmode=verify-full needs sslrootcert=FILE"),
        ("sslmode=verify-ca&sslrootcert=/no/such", "sslrootcert=/no/such cannot be used: No such file"),
        ("sslcert=/no/such", "sslcert=FILE and sslkey=FILE come together"),
        ("sslcert=/no/such&sslkey=/no/such", "sslcert=/no/such cannot be used: No such file"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_key(query: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_store_url(f"{SERVER}?{query}")
    assert "store.url" in str(caught.value)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_holds_no_certificate_is_told(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ConfigError, match=r"ca\.pem cannot be used"):
        check_store_url(f"{SERVER}?sslmode=verify-full&sslrootcert={tmp_path}/ca.pem")


def test_a_key_of_another_certificate_is_told(tmp_path: Path) -> None:
    authority = TestAuthority(tmp_path)
    (certificate, _), (_, key) = authority.issue("one"), authority.issue("two")
    with pytest.raises(ConfigError, match=r"one\.crt cannot be used"):
        check_store_url(f"{SERVER}?sslcert={certificate}&sslkey={key}")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "db.example"),
        ("sslmode=disable", "db.example"),
        ("sslmode=prefer&sslrootcert=CA", "db.example"),
        ("sslmode=require", "db.example"),
        ("sslmode=require&sslrootcert=CA", ""),
        ("sslmode=verify-ca&sslrootcert=CA", ""),
        ("sslmode=verify-full&sslrootcert=CA", ""),
    ],
)
def test_who_could_be_another_is_named(query: str, named: str, ca: Path) -> None:
    assert unverified_server(f"{SERVER}?{query.replace('CA', str(ca))}") == named


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///heddle.db",
        "postgresql://heddle@127.0.0.1/heddle",
        "postgresql://heddle@[::1]/heddle",
        "postgresql://heddle@localhost:5433/heddle",
        "postgresql://heddle@/heddle?host=/var/run/postgresql",
        "postgresql:///heddle",
    ],
)
def test_nobody_is_between_on_one_machine(url: str) -> None:
    assert not unverified_server(url)


def test_each_of_several_servers_counts() -> None:
    assert unverified_server("postgresql:///heddle?host=127.0.0.1:5432&host=a.example:5433&host=b.example:5434") == (
        "a.example, b.example"
    )


def test_the_cas_of_the_home_folder_are_believed(tmp_path: Path, ca: Path) -> None:
    (tmp_path / ".postgresql").mkdir()
    ca.rename(tmp_path / ".postgresql" / "root.crt")
    assert not unverified_server(f"{SERVER}?sslmode=verify-full")


def test_tools_get_all_by_their_environment(ca: Path) -> None:
    url = make_url(f"postgresql://heddle:secret@/heddle?host=a:1&host=b:2&sslmode=verify-full&sslrootcert={ca}")
    assert tool_settings(url) == {
        "PGHOST": "a,b",
        "PGPORT": "1,2",
        "PGPASSWORD": "secret",
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": str(ca),
    }
