"""Roles and rights: every right has a role, and a higher role has no less."""

from shim.domain.roles import NEEDED, NEEDED_WITHOUT_ROLES, RIGHT_OF_SCOPE, Right, Role, TokenScope


def test_every_right_takes_a_role_with_and_without_roles() -> None:
    assert set(NEEDED) == set(NEEDED_WITHOUT_ROLES) == set(Right)
    assert NEEDED[Right.OPEN] is NEEDED_WITHOUT_ROLES[Right.OPEN] is Role.NOBODY
    assert all(NEEDED[right] > Role.NOBODY for right in Right if right is not Right.OPEN)


def test_roles_are_in_their_order() -> None:
    assert Role.NOBODY < Role.VIEWER < Role.USER < Role.OPERATOR < Role.ADMINISTRATOR
    assert [role.told for role in Role] == ["nobody", "viewer", "user", "operator", "administrator"]


def test_every_scope_of_a_token_has_a_right_behind_it() -> None:
    assert set(RIGHT_OF_SCOPE) == set(TokenScope)
