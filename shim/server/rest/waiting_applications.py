"""Answers about applications that wait for their queue's turn, in a ResourceManager's words: no home has them."""

import json
from collections.abc import Callable, Mapping
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
_NO_TIMEOUT = MappingProxyType({"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1})
_READS: Mapping[tuple[str, ...], tuple[str | None, Callable[[ApplicationDocument], dict[str, Any]]]] = {
    _STATE: ("appstate", lambda known: {"state": known.summary.state.value}),
    ("queue",): ("appqueue", lambda known: {"queue": known.summary.queue}),
    ("priority",): ("applicationpriority", lambda _: {"priority": 0}),
    ("appattempts",): (None, lambda _: {"appAttempts": {}}),
    ("timeouts",): (None, lambda _: {"timeouts": {"timeout": [dict(_NO_TIMEOUT)]}}),
    ("timeouts", "{type}"): ("timeout", lambda _: dict(_NO_TIMEOUT)),
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
        known = self._known(call.parameters.get("application", ""))
        if known is None or call.endpoint.segments[0] != "apps":
            return None
        below = call.endpoint.segments[2:]
        row = _READS.get(below)
        if row is not None and not call.endpoint.changes:
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


def _refuse_part(call: Call) -> None:
    """Say that there is no attempt, as `RMWebServices` does.

    Raises:
        JavaError: There is none.
    """
    attempt = call.parameters.get("attempt")
    if attempt is not None:
        message = f"ApplicationAttempt with id '{attempt}' doesn't exist in RM."
        raise JavaError(404, f"{_WEBAPP}.NotFoundException", f"{_NO_ATTEMPT}: {message}")
