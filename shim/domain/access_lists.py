"""Access lists of applications: who may view and who may change one beside its user, in Hadoop's form.

Source: `org.apache.hadoop.security.authorize.AccessControlList`, `ApplicationACLsManager` of Hadoop 3.4.2.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

_EVERYBODY = "*"
_LONGEST = 8192  # characters: of longer lists none is kept, and none is cut, as a cut name is another user's


class Access(Enum):
    """Rights to an application; by the names of `ApplicationAccessType`."""

    VIEW = "VIEW_APP"
    MODIFY = "MODIFY_APP"


@dataclass(frozen=True, slots=True)
class ApplicationACLs:
    """The lists that a submission states, each `user,user group,group` or `*`; empty for nobody else."""

    view: str = ""
    modify: str = ""

    @classmethod
    def stated(cls, lists: Collection[tuple[str, str]]) -> "ApplicationACLs":
        """The lists of a submission's pairs of a kind and a list; of a kind that stands twice the last counts."""
        told = {kind: acl.strip(" ") and acl for kind, acl in lists if len(acl) <= _LONGEST}
        return cls(view=told.get(Access.VIEW.value, ""), modify=told.get(Access.MODIFY.value, ""))

    def of(self, access: Access) -> str:
        return self.view if access is Access.VIEW else self.modify


NO_ACLS = ApplicationACLs()
"""The application is its user's, and administrators', alone."""


def grants(acl: str, user: str, groups: Callable[[], Collection[str]]) -> bool:
    """Return whether a list names a user.

    Args:
        groups: Tells the user's groups; asked only where the list names groups.
    """
    if acl.strip() == _EVERYBODY:
        return True
    users, _, named = acl.partition(" ")
    if user in _parts(users):
        return True
    wanted = _parts(named)
    return bool(wanted) and not wanted.isdisjoint(groups())


def _parts(text: str) -> set[str]:
    return {part.strip() for part in text.split(",")} - {""}


# Viewers of applications: what of a caller decides how much is shown.


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user who looks.

    Attributes:
        user: As whom sub-clusters are asked.
        groups: Groups that an identity provider says the user is in, beside those of this machine.
        sees_all: Whether everything is shown: to administrators, and to all while Heddle has no view rights of its own.
    """

    user: str
    groups: frozenset[str] = frozenset()
    sees_all: bool = True

    @property
    def sight(self) -> str:
        """Key under which answers for this viewer are kept; empty for those that everybody with full sight shares."""
        return "" if self.sees_all else "\0".join((self.user, *sorted(self.groups)))
