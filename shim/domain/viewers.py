"""Viewers of applications: what of a caller decides how much is shown."""

from dataclasses import dataclass

__all__ = ["Viewer"]


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
