"""View rights of callers: one rule for the web services, the pages and Hadoop RPC."""

from shim.domain.access_lists import Access, Viewer
from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import ForbiddenError
from shim.federation.reading import ApplicationReading
from shim.identity.service import Caller, IdentityService


class ViewRights:
    """The rule: records of guarded applications are for those who may view them.

    They are guarded everywhere with `security.application_acls`, and else where a ResourceManager guards its own.

    Args:
        applications: Knows the sub-clusters and lists that guard.
    """

    def __init__(self, applications: ApplicationReading, identity: IdentityService) -> None:
        self._applications = applications
        self._access = applications.access
        self._identity = identity

    @property
    def are_on(self) -> bool:
        return self._access.is_on

    def viewer(self, caller: Caller) -> Viewer:
        """The caller as one who looks.

        Raises:
            UnavailableError: His groups decide, and cannot be told now.
        """
        sees_all = not self._access.is_on or self._identity.is_operator(caller)
        return Viewer(caller.user, caller.groups, sees_all)

    def may_see(self, asker: Caller, application_id: ApplicationId, user: str, home: SubClusterId) -> bool:
        """Return whether records of an application of `user` at `home` may be told to the asker."""
        if not (self._access.is_on or self._applications.is_guarded(home)):
            return True
        if user == asker.user or self._identity.is_operator(asker):
            return True
        summary = self._access.summary_of(application_id)
        return self._access.is_on and summary is not None and self._access.has(self.viewer(asker), Access.VIEW, summary)

    def require(self, asker: Caller, application_id: ApplicationId, user: str, home: SubClusterId) -> None:
        """Refuse to tell.

        Raises:
            ForbiddenError: The asker may not view the application.
        """
        if not self.may_see(asker, application_id, user, home):
            guard = "security.application_acls" if self._access.is_on else f"yarn.acl.enable of {home}"
            raise ForbiddenError(
                f"applications are guarded ({guard}): this is told to the application's user, to those whom its lists "
                "name, and to those in security.admins"
            )

    def may(self, caller: Caller, access: Access, summary: ApplicationSummary) -> bool:
        """Return whether a caller may ask the home of an application to show or to change it."""
        return not self._access.is_on or self._access.may(self.viewer(caller), access, summary)
