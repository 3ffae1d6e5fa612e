"""Answers about applications that wait for their queue's turn, in a ResourceManager's words: no home has them."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from shim.domain.ids import ApplicationId, MalformedIdError
from shim.domain.subclusters import ApplicationDocument
from shim.errors import BadRequestError, HomeUnreachableError
from shim.federation.freshness import Freshness
from shim.federation.view_rights import ViewRights
from shim.identity.service import IdentityService
from shim.protocol.rest.errors import JavaError
from shim.queues.admission import Kills
from shim.server.rest.answers import Document
from shim.server.rest.backend import Backend
from shim.server.rest.operations import Call, Outcome

_STATE = ("state",)
_KILLED = "KILLED"
_WEBAPP = "org.apache.hadoop.yarn.webapp"
_NO_ATTEMPT = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
_LIFETIME = "LIFETIME"
_NO_TIMEOUT = MappingProxyType({"type": _LIFETIME, "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1})
_ACTIVITIES = ("scheduler", "app-activities")
_NOT_SEEN = "waiting for display"
"""`AppActivitiesInfo` of an application that no scheduler has looked at since it was asked for."""
_READS: Mapping[tuple[str, ...], tuple[str | None, Callable[[ApplicationDocument], dict[str, Any]]]] = {
    _STATE: ("appstate", lambda known: {"state": known.summary.state.value}),
    ("queue",): ("appqueue", lambda known: {"queue": known.summary.queue}),
    ("priority",): ("applicationpriority", lambda _: {"priority": 0}),
    ("appattempts",): (None, lambda _: {"appAttempts": {}}),
    ("timeouts",): (None, lambda _: {"timeouts": {"timeout": [dict(_NO_TIMEOUT)]}}),
    ("timeouts", "{type}"): (None, lambda _: {"timeout": dict(_NO_TIMEOUT)}),
}
"""What below an application is known without a home: root of the XML, and the JSON."""


class WaitingApplications:
    """Answers requests about applications without a home; leaves all others alone."""

    def __init__(self, backend: Backend, identity: IdentityService) -> None:
        self._backend = backend
        self._identity = identity
        self._rights = ViewRights(backend.applications, identity)

    async def answer(self, call: Call) -> Outcome | None:
        """The answer; None if the request is about something else.

        Raises:
            ForbiddenError: The caller may not end it.
            HomeUnreachableError: It can be asked only of a home.
            JavaError: It is about an attempt, and there is none.
        """
        named = call.parameters.get("application") or call.parameters.get("diagnosed") or ""
        known = self._known(named)
        if known is None:
            return None
        if call.endpoint.segments[:2] == _ACTIVITIES:
            return self._told(None, {"appActivities": self._activities(known)})
        if call.endpoint.segments[0] != "apps":
            return None
        below = call.endpoint.segments[2:]
        row = _READS.get(below)
        if row is not None and not call.endpoint.changes:
            _check_type(call)
            return self._told(row[0], row[1](known))
        if not call.endpoint.changes:
            _refuse_part(call)
        if below == _STATE:
            return await self._change_state(call, known.summary.application_id)
        message = f"{known.summary.application_id} waits for its queue's turn: no ResourceManager has it yet"
        raise HomeUnreachableError(message)

    async def _change_state(self, call: Call, application_id: ApplicationId) -> Outcome | None:
        if call.body is None or call.body.text("state") != _KILLED:
            raise BadRequestError("java.lang.Exception: Only 'KILLED' is allowed as a target state.")
        is_admin = self._rights.are_on or self._identity.is_operator(call.caller)  # with lists it has been looked at
        by = Kills(call.caller.user, is_admin=is_admin)
        if not await self._backend.control.kill_waiting(application_id, by):
            return None  # it has just started: its home is asked
        return self._told("appstate", {"state": "KILLED"})

    def _activities(self, known: ApplicationDocument) -> dict[str, Any]:
        now_s = self._backend.clock.now_s()
        at = datetime.fromtimestamp(now_s, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")  # as `java.util.Date` is printed
        name = str(known.summary.application_id)
        return {"applicationId": name, "diagnostic": _NOT_SEEN, "timestamp": int(now_s * 1000), "dateTime": at}

    def _known(self, text: str) -> ApplicationDocument | None:
        try:
            application_id = ApplicationId.parse(text)
        except MalformedIdError:
            return None
        return (
            self._backend.view.applications.find(application_id)
            if self._backend.view.applications.is_waiting(application_id)
            else None
        )

    def _told(self, xml_root: str | None, shown: dict[str, Any]) -> Outcome:
        body = json.dumps(shown, separators=(",", ":")).encode()
        return Outcome(Document(body, xml_root=xml_root), Freshness(self._backend.clock.now_s()))


def _check_type(call: Call) -> None:
    """Raises `JavaError`: 400 for a type of timeouts that there is not, in the words of `RMWebServices`."""
    told = call.given.get("type", _LIFETIME)
    if told.upper() != _LIFETIME:
        words = f"Invalid application-state {told} specified. It should be one of [{_LIFETIME}]"
        raise BadRequestError(f"java.lang.Exception: {words}")


def _refuse_part(call: Call) -> None:
    """Say that there is no attempt, as `RMWebServices` does.

    Raises:
        JavaError: There is none.
    """
    attempt = call.parameters.get("attempt")
    if attempt is not None:
        message = f"ApplicationAttempt with id '{attempt}' doesn't exist in RM."
        raise JavaError(404, f"{_WEBAPP}.NotFoundException", f"{_NO_ATTEMPT}: {message}")
