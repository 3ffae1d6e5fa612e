"""Roles of users: by name, by a group, or as everybody."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.roles import Role

_ANY = "*"
_GROUP = "group:"

Groups = Callable[[], frozenset[str]]
"""Asks for a user's groups; only called if a role is given to a group."""


@dataclass(frozen=True, slots=True)
class RoleRules:
    """Roles of users and groups.

    Attributes:
        listed: By role: users, `group:NAME`, or `*` for everybody. None at all: roles are not configured.
    """

    listed: Mapping[Role, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def are_configured(self) -> bool:
        """True if anybody is given a role; if not, each caller may do what his name lets him."""
        return any(self.listed.values())

    def of_everybody(self) -> Role:
        return max((role for role, names in self.listed.items() if _ANY in names), default=Role.NOBODY)

    def of_user(self, user: str, groups: Groups) -> Role:
        """The highest role that a user has by name or by a group; `*` does not count.

        Raises:
            UnavailableError: If his groups cannot be told now, and decide.
        """
        by_name = max((role for role, names in self.listed.items() if user in names), default=Role.NOBODY)
        for role in sorted(self.listed, reverse=True):
            if role <= by_name:
                break
            named = {each.removeprefix(_GROUP) for each in self.listed[role] if each.startswith(_GROUP)}
            if named and not named.isdisjoint(groups()):
                return role
        return by_name


def with_overrides(
    groups_of: Callable[[str], frozenset[str]], overrides: Mapping[str, frozenset[str]], *, of_provider: str = ""
) -> Callable[[str], frozenset[str]]:
    """The groups of users, where some have other groups than this machine says.

    Args:
        groups_of: What the machine, or a directory, says.
        overrides: By user; empty for a user without groups.
        of_provider: What stands before groups of an identity provider: who names groups in a directory gives nobody
            one of those. Empty if there is no provider.
    """
    if not overrides and not of_provider:
        return groups_of

    def groups(user: str) -> frozenset[str]:
        stated = overrides.get(user)
        if stated is not None:
            return stated
        told = groups_of(user)
        return frozenset(each for each in told if not each.startswith(of_provider)) if of_provider else told

    return groups
