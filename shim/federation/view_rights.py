"""Rights to be told why an application is where it is: one rule for the web services and for the pages."""

from shim.domain.ids import SubClusterId
from shim.errors import ForbiddenError
from shim.federation.reading import ApplicationReading
from shim.identity.service import Caller, IdentityService

__all__ = ["ViewRights"]


class ViewRights:
    """Rule for Heddle's records of applications that a ResourceManager guards: for their users and for operators.

    Args:
        applications: Knows which sub-clusters guard theirs.
        identity: Knows the operators.
    """

    def __init__(self, applications: ApplicationReading, identity: IdentityService) -> None:
        self._applications = applications
        self._identity = identity

    def may_see(self, asker: Caller, user: str, home: SubClusterId) -> bool:
        """Tell whether records of an application of `user` at `home` may be told to the asker."""
        return not self._applications.is_guarded(home) or user == asker.user or self._identity.is_operator(asker)

    def require(self, asker: Caller, user: str, home: SubClusterId) -> None:
        """Refuse to tell.

        Raises:
            ForbiddenError: The asker is neither the user nor an operator.
        """
        if not self.may_see(asker, user, home):
            raise ForbiddenError(
                f"{home} guards its applications (yarn.acl.enable): why this one is there is told to its user, and to "
                "those in security.admins"
            )
