"""Who is calling, and for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.roles import Right, Role
from shim.errors import BadRequestError, ForbiddenError, NotAuthenticatedError
from shim.identity.roles import RoleRules
from shim.identity.service import (
    Caller,
    IdentityRules,
    IdentityService,
    ImpersonationError,
    ProxyRule,
    is_from,
    network_of,
)
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

SECRET = b"s" * 32
FRONT = ProxyRule(hosts=("10.0.0.0/8", "127.0.0.1"), users=("bob", "root"), groups=("analysts",))


def service(*, clock=None, secret=SECRET, groups=None, **rules):
    rules.setdefault("proxy_users", {"front": FRONT, "other": ProxyRule()})
    return IdentityService(
        usual(IdentityRules, **rules),
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


@pytest.mark.parametrize("name", ["@x", "alice@", "a/b/c", "/h", 'a"b', "a;b", "a,b", "group:analysts", "*", ".."])
@pytest.mark.parametrize("role", ["user_name", "do_as"])
def test_a_name_without_a_canonical_form_is_refused_in_every_role(name, role):
    with pytest.raises(BadRequestError):
        identify(service(), **{"user_name": "front", role: name})


def test_a_name_that_a_cookie_cannot_hold_gets_none():
    caller = identify(service(), user_name="a b")
    assert (caller.user, caller.new_cookie) == ("a b", None)


@pytest.mark.parametrize("form", ["bob", "bob@REALM", "bob/host", "bob/host@REALM"])
def test_every_form_of_a_name_is_the_same_user_in_every_role(form):
    subject = service(admins=("bob",))
    caller = identify(subject, user_name=form)
    assert (caller.user, caller.real_user, subject.is_operator(caller)) == ("bob", "bob", True)
    assert identify(subject, cookie=cookie_value(caller)).user == "bob"
    impersonated = identify(subject, user_name="front@REALM", do_as=form)
    assert (impersonated.user, impersonated.real_user) == ("bob", "front")


@pytest.mark.parametrize("form", ["other", "other@X", "other/h", "other/h@X"])
def test_a_service_user_is_no_target_in_any_form(form):
    rules = {"front": ProxyRule(hosts=("*",), users=("*",)), "other": ProxyRule()}
    with pytest.raises(ImpersonationError, match="not allowed to impersonate other"):
        identify(service(proxy_users=rules), user_name="front", do_as=form)


def test_a_cookie_of_an_older_heddle_with_a_whole_principal_names_the_short_one():
    subject = service()
    issued = subject.issue_cookie("alice@REALM")
    assert issued is not None
    assert identify(subject, cookie=issued.partition("=")[2].partition(";")[0]).user == "alice"


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


def test_a_rule_without_hosts_lets_nobody_in():
    subject = service(proxy_users={"front": ProxyRule(users=("bob",))})
    with pytest.raises(ImpersonationError, match="Unauthorized connection"):
        identify(subject, user_name="front", do_as="bob")


@pytest.mark.parametrize("users", [("other",), ("*",)])
def test_a_service_user_is_no_target_even_where_a_rule_lists_it(users):
    subject = service(proxy_users={"front": ProxyRule(hosts=("*",), users=users), "other": ProxyRule()})
    with pytest.raises(ImpersonationError, match="not allowed to impersonate other"):
        identify(subject, user_name="front", do_as="other")


@pytest.mark.parametrize("target", ["root", "heddle"])
@pytest.mark.parametrize(
    ("rule", "is_allowed"),
    [
        (ProxyRule(hosts=("*",), users=("*",)), False),
        (ProxyRule(hosts=("*",), groups=("*",)), False),
        (ProxyRule(hosts=("*",), groups=("wheel",)), False),
        (ProxyRule(hosts=("*",), users=("root", "heddle")), True),
    ],
    ids=["everybody", "every group", "a group of it", "its name"],
)
def test_operators_and_heddles_own_users_are_acted_for_only_by_name(target, rule, is_allowed):
    subject = service(
        proxy_users={"front": rule},
        admins=("root",),
        own_users=frozenset({"heddle"}),
        groups={"root": ("wheel",), "heddle": ("wheel",)},
    )
    if not is_allowed:
        with pytest.raises(ImpersonationError, match="not allowed to impersonate"):
            identify(subject, user_name="front", do_as=target)
        return
    caller = identify(subject, user_name="front", do_as=target)
    assert subject.is_operator(caller) is (target == "root")


def test_a_service_user_that_operates_heddle_does_not_lend_that_to_those_it_acts_for():
    subject = service(admins=("front",))
    assert subject.is_operator(identify(subject, user_name="front"))
    assert not subject.is_operator(identify(subject, user_name="front", do_as="bob"))


def test_an_operator_that_somebody_acts_for_without_being_told_so_operates_nothing():
    subject = service(admins=("root",), proxy_users={"front": ProxyRule(hosts=("*",), users=("*",))})
    caller = Caller("root", "front")  # as from a token that was issued under another rule
    assert not subject.is_operator(caller)
    with pytest.raises(ForbiddenError):
        subject.require(caller, Right.OPERATE)


def test_a_rule_for_everybody_reaches_no_operator_of_a_resource_manager():
    subject = service(proxy_users={"front": ProxyRule(hosts=("*",), users=("*", "bob"))})
    for may in (identify(subject, user_name="yarn"), identify(subject, user_name="front", do_as="bob")):
        assert subject.refuse_wildcard_operator(may) is may
    with pytest.raises(ImpersonationError, match=r"security\.proxyuser\.front\.users"):
        subject.refuse_wildcard_operator(identify(subject, user_name="front", do_as="yarn"))


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
    assert subject.is_operator(identify(subject, user_name=user)) is is_admin


@pytest.mark.parametrize(
    ("address", "more", "is_admin"),
    [
        ("127.0.0.1", {}, True),
        ("127.9.9.9", {}, True),
        ("::1", {}, True),
        ("::ffff:127.0.0.1", {}, True),
        ("10.0.0.1", {}, False),
        ("::ffff:10.0.0.1", {}, False),
        ("fe80::1", {}, False),
        ("localhost", {}, False),
        ("", {}, False),
        ("127.0.0.1", {"is_forwarded": True}, False),
    ],
)
def test_whom_heddle_runs_as_is_an_administrator_on_this_machine_alone(address, more, is_admin):
    subject = service(local_admin="heddle")
    caller = subject.identify(user_name="heddle", do_as=None, cookie=None, address=address, **more)
    assert (subject.is_operator(caller), subject.is_named_admin(caller)) == (is_admin, is_admin)
    by_cookie = subject.identify(user_name=None, do_as=None, cookie=cookie_value(caller), address=address, **more)
    assert subject.is_operator(by_cookie) is is_admin


def test_nobody_becomes_the_one_whom_heddle_runs_as_by_a_rule_a_token_or_a_provider():
    rules = {"front": ProxyRule(hosts=("*",), users=("*",)), "named": ProxyRule(hosts=("*",), users=("heddle",))}
    subject = service(local_admin="heddle", proxy_users=rules)
    with pytest.raises(ImpersonationError):
        subject.identify(user_name="front", do_as="heddle", cookie=None, address="127.0.0.1")
    named = subject.identify(user_name="named", do_as="heddle", cookie=None, address="127.0.0.1")
    for caller in (named, Caller("heddle", "heddle", has_login=True), Caller("heddle", "heddle", token_id="t1")):  # noqa: S106 - a name
        assert not subject.is_operator(caller)
    assert subject.role_of_user("heddle") is Role.USER


OPS = {Role.VIEWER: ("*",), Role.USER: ("eve",), Role.OPERATOR: ("olga", "group:ops"), Role.ADMINISTRATOR: ("ada",)}
NOBODY_BY_ROLE = {Role.OPERATOR: ("olga",)}
OF_ALL = {Role.OPERATOR: ("*",), Role.USER: ("eve",), Role.ADMINISTRATOR: ("ada",)}
BY_STAR, BY_NAME = ProxyRule(hosts=("*",), users=("*",)), ProxyRule(hosts=("*",), users=("olga", "ada", "root"))


@pytest.mark.parametrize(
    ("listed", "more", "caller", "role", "is_named"),
    [
        # without roles: everybody is a user, the administrators are more
        ({}, {}, Caller("alice", "alice"), Role.USER, False),
        ({}, {}, Caller("root", "root"), Role.ADMINISTRATOR, True),
        ({}, {}, Caller("root", "star"), Role.USER, False),
        ({}, {}, Caller("root", "named"), Role.ADMINISTRATOR, False),
        ({}, {}, Caller("root", "nobody"), Role.USER, False),
        ({}, {"admins": ("*",)}, Caller("alice", "alice"), Role.ADMINISTRATOR, False),
        ({}, {"admins": ("*", "root")}, Caller("root", "root"), Role.ADMINISTRATOR, True),
        ({}, {"admins": ("*",)}, Caller("dr.who", "dr.who", is_anonymous=True), Role.VIEWER, False),
        (
            {},
            {"admins": ("*",), "allow_anonymous": True},
            Caller("dr.who", "dr.who", is_anonymous=True),
            Role.ADMINISTRATOR,
            False,
        ),
        ({}, {}, Caller("root", "root", is_anonymous=True), Role.VIEWER, False),
        ({}, {"allow_anonymous": True}, Caller("root", "root", is_anonymous=True), Role.ADMINISTRATOR, False),
        # with roles: a viewer by everybody's, or by none
        (OPS, {}, Caller("mallory", "mallory"), Role.VIEWER, False),
        (OPS, {}, Caller("eve", "eve"), Role.USER, False),
        (OPS, {}, Caller("eve", "star"), Role.USER, False),
        (OPS, {}, Caller("olga", "olga"), Role.OPERATOR, False),
        (OPS, {}, Caller("olga", "star"), Role.USER, False),
        (OPS, {}, Caller("olga", "named"), Role.OPERATOR, False),
        (OPS, {}, Caller("ada", "ada"), Role.ADMINISTRATOR, True),
        (OPS, {}, Caller("ada", "star"), Role.USER, False),
        (OPS, {}, Caller("mallory", "mallory", groups=frozenset({"ops"})), Role.OPERATOR, False),
        (OPS, {}, Caller("of-ops", "of-ops"), Role.OPERATOR, False),
        (OPS, {}, Caller("dr.who", "dr.who", is_anonymous=True), Role.VIEWER, False),
        (OPS, {"allow_anonymous": True}, Caller("eve", "eve", is_anonymous=True), Role.USER, False),
        (NOBODY_BY_ROLE, {}, Caller("eve", "eve"), Role.NOBODY, False),
        (NOBODY_BY_ROLE, {}, Caller("olga", "star"), Role.USER, False),
        (NOBODY_BY_ROLE, {}, Caller("eve", "eve", is_anonymous=True), Role.NOBODY, False),
        (OF_ALL, {}, Caller("eve", "star"), Role.OPERATOR, False),
        (OF_ALL, {}, Caller("ada", "star"), Role.OPERATOR, False),
        (OF_ALL, {}, Caller("ada", "ada"), Role.ADMINISTRATOR, True),
        (OF_ALL, {}, Caller("eve", "eve", is_anonymous=True), Role.VIEWER, False),
        # whom Heddle runs as: on this machine, as nobody else
        ({}, {"local_admin": "heddle"}, Caller("heddle", "heddle", is_local=True), Role.ADMINISTRATOR, True),
        ({}, {"local_admin": "heddle"}, Caller("heddle", "heddle"), Role.USER, False),
        ({}, {"local_admin": "heddle"}, Caller("heddle", "star", is_local=True), Role.USER, False),
        ({}, {"local_admin": "heddle"}, Caller("alice", "heddle", is_local=True), Role.USER, False),
        ({}, {"local_admin": "heddle"}, Caller("alice", "alice", is_local=True), Role.USER, False),
    ],
)
def test_the_role_of_a_caller(listed, more, caller, role, is_named):
    rules = {"admins": ("root",), "proxy_users": {"star": BY_STAR, "named": BY_NAME}} | more
    subject = service(roles=RoleRules(listed), groups={"of-ops": ("ops",)}, **rules)
    assert subject.role_of(caller) is role
    assert subject.is_named_admin(caller) is is_named
    for right in Right:
        assert subject.may(caller, right) is (role >= subject.needed(right))


@pytest.mark.parametrize(
    ("listed", "user", "role"),
    [
        ({}, "alice", Role.USER),
        ({}, "root", Role.ADMINISTRATOR),
        (OPS, "mallory", Role.VIEWER),
        (OPS, "olga", Role.OPERATOR),
        (OPS, "of-ops", Role.OPERATOR),
        (OF_ALL, "eve", Role.OPERATOR),
        (OF_ALL, "ada", Role.ADMINISTRATOR),
    ],
)
def test_the_role_of_a_user_who_proves_his_name(listed, user, role):
    assert service(admins=("root",), roles=RoleRules(listed), groups={"of-ops": ("ops",)}).role_of_user(user) is role


def test_a_right_that_a_role_lacks_is_refused_with_what_to_do_next():
    assert service(roles=RoleRules(OPS)).needed(Right.OPERATE) is Role.OPERATOR
    with pytest.raises(ForbiddenError, match=r"that takes the role operator, see security\.roles"):
        service(roles=RoleRules(OPS)).require(Caller("eve", "eve"), Right.OPERATE)
    with pytest.raises(ForbiddenError, match=r"list the user in security\.admins"):
        service().require(Caller("eve", "eve"), Right.OPERATE)
    with pytest.raises(NotAuthenticatedError):
        service().require(Caller("eve", "eve", is_anonymous=True), Right.OPERATE)
    assert service().require(ALICE, Right.SUBMIT) is ALICE


ALICE = Caller("alice", "alice")


def test_groups_are_of_the_user_that_is_acted_for_and_of_nobody_who_is_not_named():
    subject = service(groups={"alice": ("ops",), "front": ("gates",)})
    assert subject.groups_of(Caller("alice", "front")) == {"ops"}
    assert subject.groups_of(Caller("alice", "alice", is_anonymous=True)) == frozenset()


@pytest.mark.parametrize(
    ("address", "hosts", "is_in"),
    [
        ("10.1.2.3", ("10.0.0.0/8",), True),
        ("10.1.2.3", ("10.1.2.4/8",), True),
        ("10.1.2.3", ("192.168.0.0/16", "10.1.2.3"), True),
        ("10.1.2.3", (), False),
        ("10.1.2.3", ("10.1.2.4",), False),
        ("gate.example", ("gate.example",), True),
        ("10.1.2.3", ("gate.example", "10.1.2.3"), True),
        ("gate.example", ("10.0.0.0/8",), False),
        ("fe80::1", ("fe80::/10",), True),
    ],
)
def test_an_address_is_among_hosts_by_network_or_as_it_is_written(address, hosts, is_in):
    assert is_from(address, hosts) is is_in


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("gate.example", "gate.example"),
    ],
)
def test_the_network_of_a_host(address, network):
    assert network_of(address) == network
