"""Roles of users: by name, by a group, or as everybody."""

import pytest

from shim.domain.roles import Role
from shim.errors import UnavailableError
from shim.identity.provider_claims import ClaimRules
from shim.identity.roles import RoleRules, with_overrides

RULES = RoleRules(
    {
        Role.VIEWER: ("*",),
        Role.USER: ("alice", "eve", "group:analysts"),
        Role.OPERATOR: ("group:ops", "olga", "eve"),
        Role.ADMINISTRATOR: ("ada",),
    }
)


def silent() -> frozenset[str]:
    raise UnavailableError("the directory does not answer")


@pytest.mark.parametrize(
    ("user", "groups", "role"),
    [
        ("nobody", (), Role.NOBODY),
        ("alice", (), Role.USER),
        ("bob", ("analysts",), Role.USER),
        ("bob", ("analysts", "ops"), Role.OPERATOR),
        ("alice", ("ops",), Role.OPERATOR),
        ("olga", (), Role.OPERATOR),
        ("eve", (), Role.OPERATOR),
        ("analysts", (), Role.NOBODY),
    ],
)
def test_the_highest_role_by_name_or_group(user: str, groups: tuple[str, ...], role: Role) -> None:
    assert RULES.of_user(user, lambda: frozenset(groups)) is role


def test_who_has_the_highest_role_that_groups_could_give_needs_no_groups() -> None:
    assert RULES.of_user("ada", silent) is Role.ADMINISTRATOR
    assert RULES.of_user("olga", silent) is Role.OPERATOR
    with pytest.raises(UnavailableError):
        RULES.of_user("alice", silent)


def test_everybody_has_what_the_star_is_listed_for() -> None:
    assert RULES.of_everybody() is Role.VIEWER
    assert RoleRules().of_everybody() is Role.NOBODY
    assert (RULES.are_configured, RoleRules().are_configured) == (True, False)
    assert not RoleRules({Role.USER: ()}).are_configured


def test_stated_groups_go_before_those_of_the_machine() -> None:
    groups_of = with_overrides(
        lambda user: frozenset({f"of-{user}"}), {"alice": frozenset({"ops"}), "bob": frozenset()}
    )
    assert groups_of("alice") == {"ops"}
    assert groups_of("bob") == frozenset()
    assert groups_of("carol") == {"of-carol"}


IN_THE_DIRECTORY = {"ada": {"analysts", "oidc:ops", "oidc:"}, "Ada": {"ops"}, "eve": {"xoidc:ops", "OIDC:ops"}}


@pytest.mark.parametrize(
    ("user", "claimed", "role"),
    [
        ("ada", (), Role.USER),  # whoever may name groups in the directory names none of the provider's
        ("ada", ("oidc:ops",), Role.OPERATOR),
        ("ada", ("oidc:analysts",), Role.USER),  # nor does the provider name one of the directory's
        ("Ada", (), Role.NOBODY),
        ("eve", (), Role.NOBODY),
        ("eve", ("oidc:ops",), Role.OPERATOR),
        ("mallory", ("analysts",), Role.NOBODY),
    ],
)
def test_groups_of_a_provider_and_of_a_directory_are_never_each_others(
    user: str, claimed: tuple[str, ...], role: Role
) -> None:
    """What a login at a provider has: its claims, as far as they are known groups, and the directory's groups."""
    rules = RoleRules({Role.OPERATOR: ("group:oidc:ops",), Role.USER: ("group:analysts",)})
    claims = ClaimRules("sub", "groups", "oidc:", known_groups=frozenset({"oidc:ops", "analysts"}))
    told = claims.user_of({"sub": user, "groups": [each.removeprefix("oidc:") for each in claimed]})
    groups_of = with_overrides(
        lambda name: frozenset(IN_THE_DIRECTORY.get(name, set())), {}, of_provider=claims.groups_prefix
    )
    assert rules.of_user(told.user, lambda: told.groups | groups_of(told.user)) is role


def test_what_an_operator_states_himself_may_be_any_group_and_without_a_provider_all_count() -> None:
    stated = with_overrides(lambda _: frozenset(), {"ada": frozenset({"oidc:ops"})}, of_provider="oidc:")
    assert stated("ada") == {"oidc:ops"}
    assert with_overrides(lambda _: frozenset({"oidc:ops"}), {})("ada") == {"oidc:ops"}
