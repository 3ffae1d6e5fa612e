"""Who is calling, and for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import BadRequestError, NotAuthenticatedError
from shim.services.identity import Caller, IdentityRules, IdentityService, ImpersonationError, ProxyRule
from shim.testing.clock import FakeClock

SECRET = b"s" * 32
FRONT = ProxyRule(hosts=("10.0.0.0/8", "127.0.0.1"), users=("bob", "root"), groups=("analysts",))


def service(*, clock=None, secret=SECRET, groups=None, **rules):
    rules.setdefault("proxy_users", {"front": FRONT, "other": ProxyRule()})
    return IdentityService(
        IdentityRules(**rules),
        secret=secret,
        clock=clock or FakeClock(),
        groups_of=lambda user: frozenset((groups or {}).get(user, ())),
    )


def identify(subject, **given):
    return subject.identify(**{"user_name": None, "do_as": None, "cookie": None, "address": "127.0.0.1", **given})


def cookie_value(caller: Caller) -> str:
    assert caller.new_cookie is not None
    return caller.new_cookie.partition("=")[2].partition(";")[0]


def test_nobody_named_is_the_static_user():
    caller = identify(service(static_user="dr.who"))
    assert (caller.user, caller.is_anonymous, caller.new_cookie) == ("dr.who", True, None)


def test_user_name_is_believed_and_rewarded_with_a_cookie():
    caller = identify(service(), user_name="alice")
    assert (caller.user, caller.real_user, caller.is_anonymous) == ("alice", "alice", False)
    assert caller.new_cookie is not None
    assert caller.new_cookie.startswith('hadoop.auth="u=alice&p=alice&t=simple-dt&e=')
    assert "HttpOnly" in caller.new_cookie
    assert "SameSite=Strict" in caller.new_cookie


def test_t18_the_cookie_alone_names_the_user_and_goes_before_user_name():
    subject = service()
    cookie = cookie_value(identify(subject, user_name="alice"))
    caller = identify(subject, user_name="bob", cookie=cookie)
    assert (caller.user, caller.new_cookie) == ("alice", None)


def test_the_realm_is_cut_off():
    assert identify(service(), user_name="alice@REALM").user == "alice"


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.replace("u=alice", "u=root"),
        lambda value: value[:-6] + '"',
        lambda value: value.replace("&s=", "&s=x"),
        lambda _: '"u=root&p=root&t=simple&e=99999999999999&s="',
        lambda _: "x" * 5000,
        lambda _: "",
        lambda _: "&s=",
    ],
)
def test_s5_a_forged_or_cut_cookie_counts_as_none(change):
    subject = service()
    cookie = change(cookie_value(identify(subject, user_name="alice")))
    assert identify(subject, cookie=cookie).is_anonymous


def test_s5_a_cookie_of_another_secret_counts_as_none():
    cookie = cookie_value(identify(service(secret=b"o" * 32), user_name="alice"))
    assert identify(service(), cookie=cookie).is_anonymous


async def test_s5_a_cookie_expires():
    clock = FakeClock()
    subject = service(clock=clock, cookie_validity_s=60.0)
    cookie = cookie_value(identify(subject, user_name="alice"))
    await clock.advance(61.0)
    assert identify(subject, cookie=cookie).is_anonymous


@given(st.text(max_size=300))
def test_any_text_for_a_cookie_names_nobody(text):
    assert identify(service(), cookie=text).is_anonymous


@pytest.mark.parametrize("name", ["", "a&b", "a\r\nSet-Cookie: x=y", "a\x00", "x" * 257])
def test_s4_names_that_would_break_a_header_or_a_log_are_refused(name):
    with pytest.raises(BadRequestError):
        identify(service(), user_name=name)


@pytest.mark.parametrize("name", ['a"b', "a;b", "a b", "a,b"])
def test_a_name_that_a_cookie_cannot_hold_gets_none(name):
    caller = identify(service(), user_name=name)
    assert (caller.user, caller.new_cookie) == (name, None)


@pytest.mark.parametrize(
    ("real", "target", "address", "is_allowed"),
    [
        ("front", "bob", "127.0.0.1", True),
        ("front", "bob", "10.1.2.3", True),
        ("front", "bob", "192.168.0.1", False),
        ("front", "bob", "not-an-address", False),
        ("front", "carol", "127.0.0.1", True),
        ("front", "mallory", "127.0.0.1", False),
        ("front", "other", "127.0.0.1", False),
        ("alice", "bob", "127.0.0.1", False),
        ("other", "bob", "127.0.0.1", False),
    ],
)
def test_s3_acting_for_others_follows_the_rules(real, target, address, is_allowed):
    subject = service(groups={"carol": ("analysts",)})
    if not is_allowed:
        with pytest.raises(ImpersonationError, match=r"not allowed to impersonate|Unauthorized connection"):
            identify(subject, user_name=real, do_as=target, address=address)
        return
    caller = identify(subject, user_name=real, do_as=target, address=address)
    assert (caller.user, caller.real_user) == (target, real)


def test_acting_for_somebody_without_a_name_of_ones_own_is_ignored():
    assert identify(service(), do_as="bob").user == "dr.who"


def test_a_cookie_may_act_for_others_too():
    subject = service()
    cookie = cookie_value(identify(subject, user_name="front"))
    assert identify(subject, cookie=cookie, do_as="bob").user == "bob"


def test_s1_changes_need_a_name_unless_allowed():
    with pytest.raises(NotAuthenticatedError):
        service().require_user(identify(service()))
    open_service = service(allow_anonymous=True)
    assert open_service.require_user(identify(open_service)).user == "dr.who"


@pytest.mark.parametrize(
    ("admins", "user", "is_admin"),
    [((), "alice", False), (("alice",), "alice", True), (("*",), "bob", True), (("*",), None, False)],
)
def test_admins_are_those_that_are_listed(admins, user, is_admin):
    subject = service(admins=admins)
    assert subject.is_admin(identify(subject, user_name=user)) is is_admin
