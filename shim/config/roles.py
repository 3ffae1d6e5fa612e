"""The section `[security.roles]` of the configuration, and groups that are stated instead of asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.config.tree import Key, key
from shim.domain.roles import Role
from shim.domain.users import USER_NAME

_GROUP = r"[^\s,;=*][^,;=*]{0,255}"
_LISTED = rf"{USER_NAME}|group:{_GROUP}|\*"
_FORM = "a user name, group:NAME, or *"
_STATEMENT = rf"{USER_NAME}=({_GROUP}(,{_GROUP})*)?"
GROUP_OVERRIDES = rf"({_STATEMENT}(;{_STATEMENT})*;?)?"
"""What `user=group1,group2;user2=` looks like."""


def _listed(about: str) -> tuple[str, ...]:
    return key((), about=Key(about, pattern=_LISTED, form=_FORM))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class RolesConfig:
    """Roles: users, `group:NAME`, or `*` for everybody. Each role may do what those before it may.

    Nobody listed anywhere: there are no roles, as in [security/roles.md](security/roles.md#without-roles).
    """

    viewers: tuple[str, ...] = _listed("May look; who is in no role may do nothing. Only `*` counts for the nameless.")
    users: tuple[str, ...] = _listed("May submit, change their applications and reservations, and have tokens.")
    operators: tuple[str, ...] = _listed("May operate ResourceManagers, cordon, drain, see and end what others have.")
    administrators: tuple[str, ...] = _listed(
        "May change policies, and read the audit, beside those of `security.admins` and the user that Heddle runs as."
    )

    @property
    def by_role(self) -> Mapping[Role, tuple[str, ...]]:
        return {
            Role.VIEWER: self.viewers,
            Role.USER: self.users,
            Role.OPERATOR: self.operators,
            Role.ADMINISTRATOR: self.administrators,
        }


def stated_groups(text: str) -> Mapping[str, frozenset[str]]:
    """The groups of each user in `user=group1,group2;user2=`; the last word on a user holds."""
    found: dict[str, frozenset[str]] = {}
    for statement in filter(None, text.split(";")):
        user, _, groups = statement.partition("=")
        found[user] = frozenset(filter(None, groups.split(",")))
    return found
