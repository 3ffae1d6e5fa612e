"""Roles: what callers may do at Heddle, and which role each kind of call takes."""

from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType

# Scopes: what an API token lets its holder do of what its user may do.


class TokenScope(StrEnum):
    """A part of what a user may do. Each token reads; the others are apart: who operates does not submit by that."""

    READ = "read"
    SUBMIT = "submit"
    """Submissions, and changes of applications and reservations."""
    OPERATE = "operate"
    """What operators of Heddle and of ResourceManagers change: clusters, policies, labels, nodes."""


class Role(IntEnum):
    """A set of rights; each has those of all before it."""

    NOBODY = 0
    VIEWER = 1
    USER = 2
    OPERATOR = 3
    ADMINISTRATOR = 4

    @property
    def told(self) -> str:
        """The role's name as people and programs are told it."""
        return self.name.lower()


class Right(Enum):
    """A kind of call; its value completes "may not ..."."""

    OPEN = "call what is open to everybody"
    """Probes, the console's files, a login: nothing of applications is told."""
    READ = "look at clusters and applications"
    SUBMIT = "submit or change applications and reservations"
    OWN_TOKENS = "have tokens"
    """To make, list and end tokens of the caller's own."""
    OPERATE_CLUSTERS = "operate ResourceManagers"
    """Labels, nodes, the scheduler's configuration: ResourceManagers judge the user, too."""
    DIAGNOSE = "see what is wrong with Heddle and its clusters"
    """The doctor's findings: where a cluster can be deceived, among others."""
    OPERATE = "operate Heddle"
    """To cordon and drain clusters, and to see and end what others have."""
    ADMINISTER = "administer Heddle"
    """Policies, the list of sub-clusters, the audit, tokens of others."""


NEEDED: Mapping[Right, Role] = MappingProxyType(
    {
        Right.OPEN: Role.NOBODY,
        Right.READ: Role.VIEWER,
        Right.SUBMIT: Role.USER,
        Right.OWN_TOKENS: Role.USER,
        Right.OPERATE_CLUSTERS: Role.OPERATOR,
        Right.DIAGNOSE: Role.OPERATOR,
        Right.OPERATE: Role.OPERATOR,
        Right.ADMINISTER: Role.ADMINISTRATOR,
    }
)
"""The least role that has a right, where roles are configured."""

NEEDED_WITHOUT_ROLES: Mapping[Right, Role] = MappingProxyType(
    {**NEEDED, Right.OPERATE_CLUSTERS: Role.USER, Right.DIAGNOSE: Role.VIEWER, Right.OPERATE: Role.ADMINISTRATOR}
)
"""The same where none are: administrators are the only operators, ResourceManagers alone judge theirs, all may look."""

RIGHT_OF_SCOPE: Mapping[TokenScope, Right] = MappingProxyType(
    {
        TokenScope.READ: Right.READ,
        TokenScope.SUBMIT: Right.SUBMIT,
        TokenScope.OPERATE: Right.OPERATE_CLUSTERS,
    }
)
"""The right that the owner of an API token must have, so that the token may have a scope."""
