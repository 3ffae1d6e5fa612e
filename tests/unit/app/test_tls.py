import time
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from shim.app.queues import access_to_jobs
from shim.app.tls import master_tls_facts, tls_facts
from shim.config.masters import MastersConfig, MastersTLSConfig
from shim.config.sections import ServerConfig, TLSConfig
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError
from shim.federation.findings import Level
from shim.federation.tls_findings import NO_TLS, tls_findings
from tests.doubles.clock import FakeClock
from tests.doubles.federation import a_runtime, in_memory_clusters
from tests.doubles.resource_manager import ScriptedResourceManager
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


def test_gateways_of_hdfs_are_known_by_their_ca_and_shown_heddle_s_tickets(tmp_path):
    authority, tickets = TestAuthority(tmp_path), []
    clusters = replace(
        in_memory_clusters({SubClusterId("east"): ScriptedResourceManager("east", clock=FakeClock())}),
        prove=tickets.append,
    )

    def access(file):
        return access_to_jobs(a_runtime(clusters, FakeClock(), config=f'[hdfs]\nca_file = "{file}"\n'))

    found = access(authority.file)
    assert len(found.tls().get_ca_certs()) == 1
    found.prove("namenode")
    assert tickets == ["namenode"]
    with pytest.raises(ConfigError, match=r"hdfs\.ca_file"):
        access(tmp_path / "none")


def told_of_masters(config: MastersConfig) -> list[str]:
    found = tls_findings(NO_TLS, (), master_tls_facts(config, (), time.time()))
    return [f"{each.level.value}: {each.message}" for each in found if each.level is not Level.OK]


@pytest.mark.parametrize(
    ("issued", "told"),
    [
        ({"days": -2}, "has expired"),
        ({"in_days": 2}, "certificate is not yet valid"),
        ({"purpose": ExtendedKeyUsageOID.CLIENT_AUTH}, "purpose"),
        ({"purpose": ExtendedKeyUsageOID.SERVER_AUTH}, "purpose"),
    ],
)
def test_a_certificate_that_other_masters_refuse_is_an_error_told_once(tmp_path, issued, told):
    authority = TestAuthority(tmp_path)
    certificate, key = authority.issue("gm-a", **issued)
    (found,) = told_of_masters(certified(authority, certificate=certificate, key_file=key))
    assert found.startswith("error")
    assert told in found


def test_a_certificate_of_another_ca_than_that_of_masters_is_told(tmp_path):
    (found,) = told_of_masters(certified(TestAuthority(tmp_path), ca=TestAuthority(tmp_path, "other").file))
    assert "refuse the certificate of this one" in found
    assert told_of_masters(certified(TestAuthority(tmp_path))) == []


def named(*names: str) -> list[x509.GeneralName]:
    return [x509.DNSName(each) for each in names]


def told_of_web(
    authority: TestAuthority, rest: str = "127.0.0.1:8088", *host_names: str, **issued: object
) -> list[str]:
    certificate, key = authority.issue("heddle", **issued)  # type: ignore[arg-type]
    server = ServerConfig(rest=rest, host_names=host_names, tls=TLSConfig(certificate, key, authority.file))
    found = tls_findings(tls_facts(server, time.time()), (), None)
    return [f"{each.level.value}: {each.message}" for each in found if each.level is not Level.OK]


def test_a_certificate_that_clients_take_is_no_trouble_and_theirs_is_not_asked_for(tmp_path):
    assert told_of_web(TestAuthority(tmp_path)) == []


@pytest.mark.parametrize(
    ("issued", "told"),
    [
        ({"days": -2}, "has expired"),
        ({"in_days": 2}, "certificate is not yet valid"),
        ({"purpose": ExtendedKeyUsageOID.CLIENT_AUTH}, "purpose"),
    ],
)
def test_a_certificate_that_clients_refuse_is_an_error_told_once(tmp_path, issued, told):
    (found,) = told_of_web(TestAuthority(tmp_path), **issued)
    assert found.startswith("error")
    assert told in found


@pytest.mark.parametrize(
    ("rest", "asked", "names", "is_told"),
    [
        ("10.0.0.1:8088", (), named("rm.example.org"), True),
        ("0.0.0.0:8088", (), named("rm.example.org"), True),
        ("0.0.0.0:8088", ("rm.example.org",), named("rm.example.org"), False),
        ("0.0.0.0:8088", ("RM.example.org",), named("*.example.org"), False),
        ("0.0.0.0:8088", ("a.rm.example.org",), named("*.example.org"), True),
        ("0.0.0.0:8088", ("*.example.org",), named("*.example.org"), False),
        ("rm.example.org:8088", ("*",), named("rm.example.org"), False),
        ("rm.example.org:8088", ("*",), (), True),
    ],
)
def test_a_certificate_for_none_of_the_names_that_clients_write_is_told(tmp_path, rest, asked, names, is_told):
    found = told_of_web(TestAuthority(tmp_path), rest, *asked, names=names)
    assert [("for none of" in each, each.startswith("warning")) for each in found] == [(True, True)] * is_told
