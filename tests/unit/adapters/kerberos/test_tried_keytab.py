import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.kerberos.tried_keytab import KerberosFileError, issued_at_s, principals_in


def counted(form, data):
    return struct.pack(f">{form}", len(data)) + data


def keytab_entry(realm, *names, kvno=1):
    body = struct.pack(">H", len(names)) + counted("H", realm) + b"".join(counted("H", name) for name in names)
    body += struct.pack(">IIBH", 1, 1_700_000_000, kvno, 18) + counted("H", b"\0" * 32)
    return struct.pack(">i", len(body)) + body


def cache_principal(realm, *names):
    return struct.pack(">II", 1, len(names)) + b"".join(counted("I", each) for each in (realm, *names))


ADA = cache_principal(b"ONE.LAB", b"ada")


def credential(issued_s, *, addresses=(), authorisation=()):
    def pairs(each):
        return struct.pack(">I", len(each)) + b"".join(struct.pack(">H", 2) + counted("I", data) for data in each)

    key = struct.pack(">H", 18) + counted("I", b"\1" * 32)
    times = struct.pack(">IIIIBI", issued_s, issued_s, issued_s + 60, 0, 0, 0x40E10000)
    tickets = counted("I", b"a ticket") + counted("I", b"")
    service = cache_principal(b"ONE.LAB", b"krbtgt", b"ONE.LAB")
    return ADA + service + key + times + pairs(addresses) + pairs(authorisation) + tickets


def cache(*credentials):
    return b"\x05\x04" + counted("H", b"\0\1\0\x08" + b"\0" * 8) + ADA + b"".join(credentials)


def test_each_principal_of_a_keytab_is_told_once():
    hole = struct.pack(">i", -7) + b"\xff" * 7
    data = b"\x05\x02" + keytab_entry(b"ONE.LAB", b"rm", b"a") + hole + keytab_entry(b"ONE.LAB", b"rm", b"a", kvno=2)
    assert principals_in(data + keytab_entry(b"TWO", b"ada")) == ("rm/a@ONE.LAB", "ada@TWO")


def test_an_empty_keytab_has_nobody():
    assert principals_in(b"\x05\x02") == ()


def test_the_first_ticket_of_a_cache_tells_when_it_was_issued():
    first = credential(1_700_000_001, addresses=[b"\x7f\0\0\1", b"\0" * 16], authorisation=[b"x"])
    assert issued_at_s(cache(first, credential(1_700_000_009))) == 1_700_000_001


def test_settings_that_lie_among_the_tickets_are_read_over():
    assert issued_at_s(cache(credential(0, authorisation=[b"yes"]), credential(1_700_000_002))) == 1_700_000_002


@pytest.mark.parametrize("data", [b"", b"\x05\x03", cache(), cache(credential(0)), cache(credential(9))[:40]])
def test_what_has_no_ticket_is_refused(data):
    with pytest.raises(KerberosFileError):
        issued_at_s(data)


@pytest.mark.parametrize("data", [b"", b"\x05\x04", b"\x05\x02\0\0\0\x09", b"\x05\x02\0", b"\x05\x02\0\0\0\x01\0"])
def test_what_is_no_keytab_is_refused(data):
    with pytest.raises(KerberosFileError):
        principals_in(data)


@given(st.binary(max_size=200))
def test_other_bytes_end_in_our_own_error_alone(data):
    for read, sign in ((principals_in, b"\x05\x02"), (issued_at_s, b"\x05\x04")):
        try:
            read(sign + data)
        except KerberosFileError:
            continue
