"""View and modify rights at the web services: who may ask the home of an application what, or to change it.

What a ResourceManager shows to everybody of an application (its row, state, queue, priority, time limits) is not
looked at here. Of what it refuses the words are its own; two rows are stricter: its attempts, of which it empties
most, and what the scheduler did for it.

Source: `RMWebServices`, `ClientRMService`, recorded answers of 3.4.2.
"""

from collections.abc import Mapping

from shim.domain.access_lists import Access, Viewer
from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId
from shim.errors import ForbiddenError, NotFoundError
from shim.federation.reading import ApplicationReading
from shim.federation.view_rights import ViewRights
from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.identifiers import path_application, path_container
from shim.server.rest.operations import Call
from shim.server.rights import REST_ACCESS

_REFUSED: Mapping[str, str] = {
    "PUT /apps/{application}/state": "kill appid",
    "PUT /apps/{application}/queue": "move appid",
    "PUT /apps/{application}/priority": "change priority of appid",
    "PUT /apps/{application}/timeout": "change timeout of app",
    "POST /containers/{container}/signal/{command}": "signal a container of",
}
"""What a ResourceManager says that was attempted, by endpoint."""
_LISTED = frozenset({"GET /apps", "GET /apps/{application}", "GET /appstatistics"})
"""Rows of applications, which Heddle hides from those who may not see."""
_JSON = (("Content-Type", "application/json;charset=utf-8"),)
_EVERYBODY = Viewer("")


class ApplicationGuard:
    """Judges calls on applications."""

    def __init__(self, applications: ApplicationReading, rights: ViewRights) -> None:
        self._applications = applications
        self._rights = rights

    async def refusal(self, call: Call) -> RestAnswer | None:
        """A ResourceManager's refusal of a change; None for what may be done.

        Raises:
            JavaError: The caller may not see this, or there is no such application.
            ForbiddenError: A sub-cluster would answer past what is hidden.
            HomeUnreachableError: Whose the application is cannot be told now.
        """
        if call.viewer.sees_all:
            return None
        name = f"{call.endpoint.method} {call.endpoint.path}"
        if name in _LISTED and call.query.first("cluster") is not None:
            raise ForbiddenError("with security.application_acls, one cluster's own rows are for those who see all")
        access = REST_ACCESS.get(name)
        if access is None:
            return None
        summary = await self._summary(call)
        if summary is None or self._rights.may(call.caller, access, summary):
            return None
        if access is Access.VIEW:
            raise _not_seen(call, summary.application_id)
        text = f"Unauthorized attempt to {_REFUSED[name]} {summary.application_id} by remote user {call.caller.user}"
        return RestAnswer(403, _JSON, text.encode())

    async def _summary(self, call: Call) -> ApplicationSummary | None:
        """The application that a call is about; None for a diagnosis of what is none.

        Raises:
            JavaError: Nobody knows it: it is not passed on either, as it might begin this moment.
        """
        given = call.parameters
        if "container" in given and "application" not in given:
            application_id = path_container(given["container"]).attempt.application
        else:
            application_id = path_application(given.get("application") or given["diagnosed"])
        try:
            return (await self._applications.application(application_id, viewer=_EVERYBODY)).document.summary
        except NotFoundError:
            if "diagnosed" in given:
                return None
            raise JavaError.not_found(f"app with id: {application_id} not found") from None


def _not_seen(call: Call, application_id: ApplicationId) -> JavaError:
    what = f"application {application_id}"
    if "attempt" in call.parameters and "/containers" not in call.endpoint.path:
        what = f"attempt {call.parameters['attempt']}"
    message = f"User {call.caller.user} does not have privilege to see this {what}"
    return JavaError(
        503, "javax.ws.rs.WebApplicationException", f"org.apache.hadoop.yarn.exceptions.YarnException: {message}"
    )
