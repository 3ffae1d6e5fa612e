"""Roles and stated groups in the configuration."""

import pytest

from shim.config.loader import parse
from shim.config.roles import stated_groups
from shim.domain.roles import Role
from shim.errors import ConfigError

CLUSTER = '[[subcluster]]\nid = "east"\nweb = "http://east:8088"\n'


def security(text: str):
    return parse(f"{CLUSTER}{text}", source="heddle.toml", environment={}).security


def test_roles_are_lists_of_users_and_groups() -> None:
    roles = security('[security.roles]\nviewers = ["*"]\noperators = ["group:yarn ops", "olga"]\n').roles
    assert roles.by_role == {
        Role.VIEWER: ("*",),
        Role.USER: (),
        Role.OPERATOR: ("group:yarn ops", "olga"),
        Role.ADMINISTRATOR: (),
    }


def test_no_roles_are_the_default() -> None:
    assert not any(security("").roles.by_role.values())


@pytest.mark.parametrize("listed", ["group:", "@ops", "a b@c", "olga@REALM", ""])
def test_what_is_no_user_and_no_group_is_refused(listed: str) -> None:
    with pytest.raises(ConfigError, match=r"a user name, group:NAME, or \*"):
        security(f'[security.roles]\nusers = ["{listed}"]\n')


@pytest.mark.parametrize("text", ["alice", "alice=a,,b", "=a", "alice=a;;bob=b", "alice=a bob=b=c"])
def test_what_states_no_groups_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="groups of users"):
        security(f'[security]\ngroup_overrides = "{text}"\n')


def test_groups_are_stated_as_hadoop_states_them() -> None:
    text = security('[security]\ngroup_overrides = "alice=analysts,ops;bob=;"\n').group_overrides
    assert stated_groups(text) == {"alice": {"analysts", "ops"}, "bob": frozenset()}
    assert stated_groups("") == {}
