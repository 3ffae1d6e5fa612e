"""Groups from a real directory: members, levels, TLS, and names that mean something to filters."""

import signal
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.ldap import DirectorySettings, LDAPGroups
from shim.errors import UnavailableError
from tests.doubles.postgresql import free_port
from tests.support.certificates import TestAuthority
from tests.support.directory import ADMIN, BASE, PASSWORD, a_directory
from tests.support.freezing import freeze

GROUPS = "(|(&(objectClass=groupOfNames)(member={dn}))(&(objectClass=posixGroup)(memberUid={user})))"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    with a_directory(tmp_path_factory.mktemp("directory")) as made:
        yield made


def _ber(tag, *parts):
    content = b"".join(parts)
    return bytes((tag, 0x84)) + len(content).to_bytes(4, "big") + content


@contextmanager
def an_endless_directory(size):
    """A server that takes every login, and answers a search with ever more entries; with what it has sent so far."""
    sent = [0]

    def serve(listener):
        with suppress(OSError):
            link, _ = listener.accept()
            with link:
                number = link.recv(4096)[4:5]
                done = _ber(0x61, b"\x0a\x01\x00", b"\x04\x00", b"\x04\x00")
                link.sendall(_ber(0x30, b"\x02\x01", number, done))
                number = link.recv(4096)[4:5]
                while True:
                    name = b"uid=ada%d,dc=x" % sent[0]
                    value = _ber(0x30, _ber(0x04, b"uid"), _ber(0x31, _ber(0x04, b"a" * size)))
                    entry = _ber(0x64, _ber(0x04, name), _ber(0x30, value))
                    link.sendall(_ber(0x30, b"\x02\x01", number, entry))
                    sent[0] += len(entry)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"ldap://127.0.0.1:{listener.getsockname()[1]}", sent
    thread.join(120.0)


@pytest.fixture(scope="module")
def asked(directory):
    return DirectorySettings(
        urls=(directory.tls_url,),
        start_tls=False,
        ca_file=directory.authority.file,
        bind_dn=ADMIN,
        password=PASSWORD,
        user_base=f"ou=people,{BASE}",
        user_filter="(&(objectClass=posixAccount)(uid={user}))",
        group_base=f"ou=groups,{BASE}",
        group_filter=GROUPS,
        group_name="cn",
        levels=0,
        timeout_s=5.0,
    )


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("ada", {"analysts", "ops"}),
        ("bob", {"ops"}),
        ("nina", set()),
        ("stranger", set()),
        ("", set()),
        ("ada\0", set()),
    ],
)
def test_a_user_has_the_groups_that_name_the_entry_or_the_user(asked, user, groups):
    assert LDAPGroups(asked)(user) == groups


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        (0, {"analysts", "ops"}),
        (1, {"analysts", "ops", "data"}),
        (2, {"analysts", "ops", "data", "everybody"}),
        (9, {"analysts", "ops", "data", "everybody", "circle"}),
    ],
)
def test_groups_of_groups_count_as_many_levels_up_as_is_said_and_circles_end(asked, levels, groups):
    assert LDAPGroups(replace(asked, levels=levels))("ada") == groups


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("*", {"stars", "odd"}),
        ("a(b)c", {"odd"}),
        ("*)(uid=ada", set()),
        ("ada)(objectClass=*", set()),
        ("ada))(|(uid=*", set()),
        ("\\61da", set()),
        ("{dn}", set()),
        ("a*", set()),
    ],
)
def test_what_a_name_holds_is_never_a_part_of_the_filter(asked, user, groups):
    assert LDAPGroups(asked)(user) == groups


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_no_made_up_name_has_groups_or_breaks_a_question(asked, user):
    assert LDAPGroups(asked)(user) <= ({"stars", "odd"} if user in {"*", "a(b)c"} else set())


@pytest.mark.parametrize(
    "user",
    ["ADA", "Ada", "\uff41da", "\u24d0da", "ada ", " ada", "ada\u00ad", "\u200bada", "a\u0064\u0061\ufe0f", "AdA"],
)
def test_a_name_that_only_looks_like_anothers_has_none_of_its_groups(asked, user):
    """A directory compares without case, width and marks; to Heddle, and to ResourceManagers, these are two users."""
    assert LDAPGroups(asked)(user) == frozenset()
    assert LDAPGroups(replace(asked, group_filter="(|(member={dn})(memberUid={user})(cn=ops))"))(user) == frozenset()


def test_an_entry_is_a_users_by_any_attribute_that_the_filter_compares(asked):
    either = "(&(objectClass=posixAccount)(|(homeDirectory=/home/{user})(UID={user})))"
    assert LDAPGroups(replace(asked, user_filter=either))("ada") == {"analysts", "ops"}
    with pytest.raises(UnavailableError, match="several entries"):
        LDAPGroups(replace(asked, user_filter=either))("x")


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_directory_that_answers_without_end_is_given_up(asked, size):
    with an_endless_directory(size) as (url, sent):
        groups = LDAPGroups(replace(asked, urls=(url,), ca_file=None, bind_dn="", password=""))
        with pytest.raises(UnavailableError, match="answers with more than"):
            groups("ada")
    assert sent[0] < 64 * 1024 * 1024


def test_two_entries_of_one_name_are_nobody(asked):
    with pytest.raises(UnavailableError, match="several entries"):
        LDAPGroups(replace(asked, user_base=BASE))("twin")


def test_where_there_is_tls_from_the_start_none_is_asked_for(asked):
    assert LDAPGroups(replace(asked, start_tls=True))("bob") == {"ops"}


def test_tls_may_be_asked_for_on_a_connection_that_begins_without(asked, directory):
    assert LDAPGroups(replace(asked, urls=(directory.url,), start_tls=True))("bob") == {"ops"}


def test_a_server_that_another_authority_vouches_for_is_told_no_password(asked, directory, tmp_path):
    stranger = TestAuthority(tmp_path, "stranger")
    for urls, start_tls in (((directory.tls_url,), False), ((directory.url,), True)):
        lookup = LDAPGroups(replace(asked, urls=urls, start_tls=start_tls, ca_file=stranger.file))
        with pytest.raises(UnavailableError, match="the directory at"):
            lookup("ada")


def test_a_server_that_is_away_is_passed_over_for_the_next(asked, directory):
    away = f"ldaps://127.0.0.1:{free_port()}"
    assert LDAPGroups(replace(asked, urls=(away, directory.tls_url)))("bob") == {"ops"}
    with pytest.raises(UnavailableError, match="Can't contact LDAP server"):
        LDAPGroups(replace(asked, urls=(away,)))("bob")


def test_a_wrong_password_is_said_and_not_shown(asked):
    with pytest.raises(UnavailableError, match="Invalid credentials") as caught:
        LDAPGroups(replace(asked, password="wrong-and-secret"))("ada")  # noqa: S106 - it is wrong
    assert "wrong-and-secret" not in str(caught.value)


def test_a_server_that_hangs_is_not_waited_for(asked, directory):
    freeze(directory.process.pid)
    try:
        with pytest.raises(UnavailableError, match="Timed out"):
            LDAPGroups(replace(asked, urls=(directory.url,), timeout_s=0.3))("ada")
        with pytest.raises(UnavailableError, match=r"Timed out|takes connections and hangs"):
            LDAPGroups(replace(asked, urls=(directory.url,), start_tls=True, timeout_s=0.3))("ada")
        with pytest.raises(UnavailableError, match="takes connections and hangs"):
            LDAPGroups(replace(asked, timeout_s=0.3))("ada")
    finally:
        directory.process.send_signal(signal.SIGCONT)


def test_a_look_at_the_directory_names_what_is_wrong(asked):
    LDAPGroups(asked).check()
    with pytest.raises(UnavailableError, match=r"security\.ldap\.user_base"):
        LDAPGroups(replace(asked, user_base=f"ou=nowhere,{BASE}")).check()
    with pytest.raises(UnavailableError, match=r"security\.ldap\.group_base"):
        LDAPGroups(replace(asked, group_base=f"ou=nowhere,{BASE}")).check()
