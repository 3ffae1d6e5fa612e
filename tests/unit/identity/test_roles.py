"""Roles of users: by name, by a group, or as everybody."""

import pytest

from shim.domain.roles import Role
from shim.errors import UnavailableError
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
