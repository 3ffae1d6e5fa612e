import time

import pytest

from adapters.kerberos import kdc_ahead_s
from adapters.kerberos.tried_keytab import principals_in
from shim.protocol.hrpc.sasl import SASLError
from tests.support.kdc import LOCALHOST, REALM

HEDDLE = f"heddle/{LOCALHOST}@{REALM}"


@pytest.fixture(scope="module")
def keytab(kdc):
    return kdc.keytab(HEDDLE)


@pytest.mark.parametrize("off_s", [0, 400, -400])
def test_a_real_kdc_tells_how_its_clock_stands(kerberos, keytab, off_s):
    began_s = time.monotonic()
    ahead_s = kdc_ahead_s(HEDDLE, keytab, lambda: time.time() - off_s)
    took_s = time.monotonic() - began_s
    assert ahead_s == pytest.approx(off_s, abs=1 + took_s), "tickets tell whole seconds"


def test_a_key_that_the_kdc_does_not_take_is_told(kerberos):
    principal = f"old/{LOCALHOST}@{REALM}"
    old = kerberos.keytab(principal)
    kerberos.keytab(principal)
    with pytest.raises(SASLError, match=r"to log in as old/.*write the key anew"):
        kdc_ahead_s(principal, old, time.time)


def test_a_kdc_that_is_not_there_is_told(kerberos, keytab, tmp_path, monkeypatch):
    conf = kerberos.krb5_conf.read_text().replace(kerberos.address, "127.0.0.1:9")
    (tmp_path / "krb5.conf").write_text(conf)
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    with pytest.raises(SASLError, match=r"name the realm's KDC in krb5\.conf"):
        kdc_ahead_s(HEDDLE, keytab, time.time)


def test_a_real_keytab_tells_whose_keys_it_has(kdc):
    principals = (HEDDLE, f"HTTP/{LOCALHOST}@{REALM}")
    assert principals_in(kdc.keytab(*principals).read_bytes()) == principals
