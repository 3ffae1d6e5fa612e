import pytest

from shim.lab.kdc import KDC, KDCMissingError, require_kdc

REALMS = ("ONE.LAB", "OTHER.LAB")


@pytest.fixture
def key_centre(tmp_path):
    return KDC(tmp_path, "127.0.0.1:20021", REALMS, domains={"localhost": "ONE.LAB"})


def test_a_process_that_is_told_of_it_finds_no_ticket_of_whoever_runs_it(key_centre, tmp_path):
    assert all(str(tmp_path) in value for value in key_centre.environment.values())


def test_clients_of_each_realm_have_a_configuration_of_their_own(key_centre, tmp_path):
    assert key_centre.krb5_conf == key_centre.krb5_conf_of("ONE.LAB") == tmp_path / "krb5-ONE.LAB.conf"
    assert key_centre.krb5_conf_of("OTHER.LAB") == tmp_path / "krb5-OTHER.LAB.conf"


def test_a_machine_without_a_kdc_says_what_to_install(monkeypatch, key_centre):
    monkeypatch.setattr("shim.lab.kdc._PATH", "/nowhere")
    with pytest.raises(KDCMissingError, match=r"no kdb5_util, krb5kdc, kadmin\.local, kinit, klist: install a KDC"):
        require_kdc()
    with pytest.raises(KDCMissingError, match="no krb5kdc on this machine"):
        _ = key_centre.command
