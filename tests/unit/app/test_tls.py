from pathlib import Path

from shim.app.tls import master_tls_facts
from shim.config.masters import MastersConfig, MastersTLSConfig
from tests.support.certificates import TestAuthority

ADDRESSES = ("10.0.0.2:8700", "127.0.0.1:8701", "10.0.0.1:8700", "10.0.0.2:8700", "[::1]:8700", "gm.example:8700")


def certified(authority: TestAuthority, **changes: Path) -> MastersConfig:
    certificate, key = authority.issue("gm")
    files = {"certificate": certificate, "key_file": key, "ca": authority.file, **changes}
    return MastersConfig(tls=MastersTLSConfig(**files))


def test_masters_beyond_this_machine_are_named_once_where_there_is_no_tls():
    told = master_tls_facts(MastersConfig(), ADDRESSES, 0.0)
    assert told.plain == ("10.0.0.1:8700", "10.0.0.2:8700", "gm.example:8700")


def test_with_tls_no_address_is_plain_and_both_certificates_are_looked_at(tmp_path):
    authority = TestAuthority(tmp_path)
    told = master_tls_facts(certified(authority), ADDRESSES, 0.0)
    assert (told.plain, told.trouble) == ((), "")
    assert [each.file for each in told.certificates] == [str(tmp_path / "gm.crt"), str(authority.file)]


def test_a_file_that_cannot_be_used_is_told_by_its_key_of_the_configuration(tmp_path):
    told = master_tls_facts(certified(TestAuthority(tmp_path), key_file=tmp_path / "none"), ADDRESSES, 0.0)
    assert "masters.tls.key" in told.trouble
