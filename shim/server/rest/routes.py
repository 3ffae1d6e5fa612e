"""Requests whose answer one sub-cluster gives, or that every sub-cluster is told."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from shim.calls.control import NamedQueue
from shim.domain.access_lists import Viewer
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.errors import HomeUnreachableError, NotFoundError, NoUsableSubClusterError
from shim.federation.core.federation_view import Part
from shim.federation.freshness import Freshness
from shim.federation.view_rights import ViewRights
from shim.identity.service import IdentityService
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.body_shapes import SHAPES, with_queue
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.identifiers import (
    path_application,
    path_attempt,
    path_container,
    path_node,
    unknown_node,
)
from shim.protocol.rest.merges import merge_containers
from shim.protocol.rest.negotiation import Representation, negotiate
from shim.protocol.rest.xml_writer import xml_and_left_out
from shim.protocol.wire_values import is_document
from shim.server.rest.backend import Backend
from shim.server.rest.endpoints import Operation
from shim.server.rest.forwarding import forwarded_request, hidden_not_found
from shim.server.rest.operations import Call
from shim.server.ways import RouteKey, Way

_OK = 200
_NOT_FOUND = 404
_SUCCESS = range(200, 300)
_SUBMIT = "SUBMIT_APPLICATIONS"


@dataclass(frozen=True, slots=True)
class Routed:
    """A sub-cluster's answer."""

    answer: RestAnswer
    subcluster: SubClusterId
    freshness: Freshness
    left_out: int = 0


class Routes:
    """Finds the sub-cluster of a request, and passes the request on."""

    def __init__(self, backend: Backend, identity: IdentityService) -> None:
        self._backend = backend
        self._identity = identity
        self._rights = ViewRights(backend.applications, identity)
        self._finders: Mapping[RouteKey, Callable[[Call], Awaitable[SubClusterId]]] = {
            RouteKey.APPLICATION: self._of_application,
            RouteKey.NODE: self._of_node,
            RouteKey.HOST: self._of_host,
            RouteKey.DIAGNOSED: self._of_diagnosed,
            RouteKey.NODE_PARAMETER: self._of_node_parameter,
            RouteKey.CONTAINER: self._of_container,
            RouteKey.RESERVATION: self._of_reservation,
            RouteKey.NAMED: self._only,
        }
        self._special: Mapping[Operation, Callable[[Call], Awaitable[Routed]]] = {
            Operation.STATE: self._state,
            Operation.CONTAINERS: self._containers,
            Operation.CONTAINER: self._one_container,
            Operation.QUEUE_ACCESS: self._queue_access,
        }

    async def run(self, call: Call) -> Routed:
        """Answer a row that is routed, carried or spread.

        Raises:
            UserError: For the caller's mistake.
            UnavailableError: If the sub-cluster does not answer.
        """
        match call.endpoint.way:
            case Way.SPREAD:
                return await self._spread(call)
            case Way.ANY_CLUSTER:
                return await self._willing(call)
            case Way.CARRY:
                return await self.pass_on(call, await self._any(call))
        if call.endpoint.operation is Operation.SIGNAL:
            await self._check_signal(call)
        if call.endpoint.operation is Operation.MOVE and self._backend.control.guards_moves and not _target(call):
            raise JavaError.bad_request("java.lang.Exception: the queue to move to is not named")
        if call.endpoint.key is RouteKey.RESERVATION and call.body is not None:
            subcluster = await self._of_reservation(call)
            return await self.pass_on(await self._reserving(call, subcluster), subcluster)
        special = self._special.get(call.endpoint.operation)
        if special is not None:
            return await special(call)
        return await self.pass_on(call, await self._finders[call.endpoint.key](call))

    async def pass_on(self, call: Call, subcluster: SubClusterId) -> Routed:
        """Pass a request to a sub-cluster; what it changes there is read anew the next time."""
        asked_at_s = self._backend.clock.now_s()
        request = forwarded_request(call.request, call.endpoint, dict(call.parameters), call.caller)
        application = call.parameters.get("application")
        if call.endpoint.changes and application is not None:
            move = self._move(call, request) if call.endpoint.operation is Operation.MOVE else None
            answer = await self._backend.control.change(path_application(application), request, move)
        else:
            answer = await self._sent(subcluster, request, call)
        if not call.endpoint.changes and hidden_not_found(answer, call.request):
            answer = await self._shown_not_found(call, subcluster, answer)
        return Routed(answer, subcluster, Freshness(asked_at_s, self._backend.missing()))

    async def _shown_not_found(self, call: Call, subcluster: SubClusterId, hidden: RestAnswer) -> RestAnswer:
        """Turn the 500 that a client that prefers XML gets into its JSON: a 404, or the 500 that it looked like.

        Raises:
            JavaError: The 404.
        """
        request = forwarded_request(
            call.request, call.endpoint, dict(call.parameters), call.caller, accept="application/json"
        )
        answer = await self._backend.exchange(subcluster, request)
        if answer.status != _NOT_FOUND:
            return hidden
        try:
            body = json.loads(answer.body)["RemoteException"]
            raise JavaError(_NOT_FOUND, str(body["javaClassName"]), body.get("message"))
        except (ValueError, KeyError, TypeError, RecursionError):
            return hidden

    async def _willing(self, call: Call) -> Routed:
        """The answer of the first sub-cluster that does not refuse, else the last refusal."""
        *others, last = self._backend.routing.usable() or (await self._any(call),)
        for subcluster in others:
            with suppress(HomeUnreachableError):
                routed = await self.pass_on(call, subcluster)
                if routed.answer.status in _SUCCESS:
                    return routed
        return await self.pass_on(call, last)

    async def _spread(self, call: Call) -> Routed:
        """Tell every sub-cluster; the first that refuses is the answer.

        Raises:
            NoUsableSubClusterError: If one is away: then nobody is told.
        """
        usable = self._backend.routing.usable()
        away = [item for item in self._backend.view.subclusters if item not in usable]
        if away:
            raise NoUsableSubClusterError(f"sub-cluster {', '.join(away)} is away: nothing was changed anywhere")
        request = forwarded_request(call.request, call.endpoint, dict(call.parameters), call.caller)
        asked_at_s = self._backend.clock.now_s()
        answers = await asyncio.gather(*(self._sent(item, request, call) for item in usable))
        told = list(zip(usable, answers, strict=True))
        item, answer = next((pair for pair in told if pair[1].status not in _SUCCESS), told[0])
        return Routed(answer, item, Freshness(asked_at_s))

    async def _sent(self, subcluster: SubClusterId, request: RestRequest, call: Call) -> RestAnswer:
        try:
            return await self._backend.exchange(subcluster, request, is_slow=call.endpoint.is_slow)
        finally:
            if call.endpoint.changes:
                self._mark(call, subcluster)

    async def _state(self, call: Call) -> Routed:
        """The home's word; where another one is known, what is read afterwards is fetched first: none goes back."""
        routed = await self.pass_on(call, await self._of_application(call))
        application_id = path_application(call.parameters["application"])
        known = self._backend.view.applications.find(application_id)
        if known is not None and known.summary.state.value.encode() not in routed.answer.body:
            self._backend.applications.mark_written(application_id)
        return routed

    # -- containers of an application that spans ---------------------------------------------------------------------

    async def _containers(self, call: Call) -> Routed:
        """The home's list; if the attempt has containers elsewhere, one list of all."""
        routed = await self.pass_on(call, await self._of_application(call))
        if routed.answer.status != _OK:
            return routed
        attempt = path_attempt(call.parameters["attempt"])
        beyond = await self._backend.routing.beyond_home(attempt)
        is_xml = negotiate(call.request.joined("accept")) is Representation.XML
        if not beyond or not (is_xml or is_document(routed.answer.body)):
            return routed
        asked = ((routed.subcluster, attempt), *beyond) if is_xml else beyond
        told = await asyncio.gather(*(self._list_at(call, *each) for each in asked))
        known = [] if is_xml else [routed.answer.body]
        body, left_out = merge_containers([*known, *(raw for raw in told if raw is not None)]), 0
        if is_xml:
            body, left_out = xml_and_left_out(body, root=call.endpoint.xml_root)
        silent = {place for (place, _), raw in zip(asked, told, strict=True) if raw is None}
        missing = [name for name in self._backend.view.subclusters if name in {*routed.freshness.missing, *silent}]
        freshness = Freshness(routed.freshness.as_of_s, tuple(missing))
        return Routed(replace(routed.answer, body=body), routed.subcluster, freshness, left_out)

    async def _list_at(self, call: Call, place: SubClusterId, attempt: ApplicationAttemptId) -> bytes | None:
        """The JSON list of a sub-cluster; of one that has forgotten the attempt an empty one, None of a silent one."""
        parameters = {**call.parameters, "attempt": str(attempt)}
        request = forwarded_request(call.request, call.endpoint, parameters, call.caller, accept="application/json")
        try:
            answer = await self._backend.exchange(place, request)
        except HomeUnreachableError:
            return None
        if answer.status != _OK:
            return b"{}"
        return answer.body if is_document(answer.body) else None

    async def _one_container(self, call: Call) -> Routed:
        """One of the home's, or of where it runs: there its attempt may have another number."""
        home = await self._of_application(call)
        container = path_container(call.parameters["container"])
        if container.attempt.application != path_application(call.parameters["application"]):
            return await self.pass_on(call, home)
        place = await self._backend.routing.place_of_container(container)
        if place == home:
            return await self.pass_on(call, home)
        return await self.pass_on(
            replace(call, parameters={**call.parameters, "attempt": str(container.attempt)}), place
        )

    # -- finders -----------------------------------------------------------------------------------------------------

    async def _of_application(self, call: Call) -> SubClusterId:
        try:
            return await self._backend.routing.home_of(path_application(call.parameters["application"]))
        except NotFoundError:
            raise JavaError.not_found(f"app with id: {call.given['application']} not found") from None

    async def _of_diagnosed(self, call: Call) -> SubClusterId:
        """The home of an application; any sub-cluster for what is none, which says so in its diagnosis."""
        try:
            return await self._backend.routing.home_of(path_application(call.parameters["diagnosed"]))
        except (NotFoundError, JavaError):
            return await self._any(call)

    async def _of_node(self, call: Call) -> SubClusterId:
        try:
            return self._backend.routing.subcluster_of_node(path_node(call.parameters["node"]))
        except NotFoundError:
            raise unknown_node(call.given["node"]) from None

    async def _of_host(self, call: Call) -> SubClusterId:
        """Find the sub-cluster of a node or host; any for an unknown one, which then has labels for it."""
        text = call.parameters["host"]
        return self._having_node(text) or await self._any(call)

    async def _of_node_parameter(self, call: Call) -> SubClusterId:
        return self._having_node(call.query.first("nodeId") or "") or await self._any(call)

    def _having_node(self, text: str) -> SubClusterId | None:
        now_s = self._backend.clock.now_s()
        for item in self._backend.view.subclusters:
            nodes = self._backend.view.look(item, now_s).nodes
            if any(text in (str(report.node), report.node.host) for report in nodes):
                return item
        return None

    async def _of_container(self, call: Call) -> SubClusterId:
        container = path_container(call.parameters["container"])
        try:
            return await self._backend.routing.place_of_container(container)
        except NotFoundError:
            return await self._any(call)

    async def _of_reservation(self, call: Call) -> SubClusterId:
        reservation = "" if call.body is None else call.body.text("reservation-id")
        known = self._backend.routing.reservations.issuer_of(reservation) if reservation else None
        return known if known is not None else await self._any(call)

    async def _any(self, call: Call) -> SubClusterId:  # noqa: ARG002 - a finder's signature
        usable = self._backend.routing.usable()
        if not usable:
            raise NoUsableSubClusterError("no sub-cluster answers: `heddle doctor` tells why")
        return usable[0]

    async def _only(self, call: Call) -> SubClusterId:
        """The one sub-cluster that there is.

        Raises:
            JavaError: If there are more: each has a configuration of its own.
        """
        known = self._backend.view.subclusters
        if len(known) > 1:
            raise JavaError.bad_request(
                f"each cluster has its own scheduler configuration: name one with ?cluster= of [{', '.join(known)}]"
            )
        return await self._any(call)

    # -- before and after --------------------------------------------------------------------------------------------

    async def _check_signal(self, call: Call) -> None:
        """A container may be signalled by its application's owner and by Heddle's admins.

        Raises:
            JavaError: 403 for everybody else, where a ResourceManager lets anybody; 404 for an unknown application.
            HomeUnreachableError: Who owns it cannot be told now: then nobody is passed on.
        """
        if self._rights.are_on or self._identity.is_operator(call.caller):
            return  # with lists of Heddle's own it has been looked at: more users than the owner may
        container, user = path_container(call.parameters["container"]), call.caller.user
        try:
            read = await self._backend.applications.application(container.attempt.application, viewer=Viewer(user))
        except NotFoundError:  # nor is it passed on: it might begin this moment
            raise JavaError.not_found(f"Trying to signal an absent container {container}") from None
        if read.document.summary.user != user:
            raise JavaError(
                403,
                "org.apache.hadoop.yarn.webapp.ForbiddenException",
                f"java.lang.Exception: Unauthorized attempt to signal {container} by remote user {user}",
            )

    def _move(self, call: Call, request: RestRequest) -> NamedQueue[RestRequest] | None:
        """The queue to which a request moves an application; None if it names none: its home says so."""
        body, queue = call.body, _target(call)
        if body is None or not queue:
            return None
        user = None if self._identity.is_operator(call.caller) else call.caller.user
        shape = SHAPES[f"{call.endpoint.method} {call.endpoint.path}"]
        return NamedQueue(queue, user, lambda name: replace(request, body=with_queue(body, name, shape)))

    async def _reserving(self, call: Call, subcluster: SubClusterId) -> Call:
        """The call about a reservation, with its queue's name at a sub-cluster.

        Raises:
            ForbiddenError: The caller may not submit to the reservation's queue.
        """
        assert call.body is not None  # noqa: S101 - the row has a shape
        queue = _target(call)
        if not self._identity.is_operator(call.caller):
            await self._backend.control.check_reservation(
                subcluster, queue=queue, reservation=call.body.text("reservation-id"), user=call.caller.user
            )
        name = self._backend.control.asked_name(subcluster, queue, is_plan=True)
        if name == queue:
            return call
        shape = SHAPES[f"{call.endpoint.method} {call.endpoint.path}"]
        return replace(call, request=replace(call.request, body=with_queue(call.body, name, shape)))

    async def _queue_access(self, call: Call) -> Routed:
        """The word of the first sub-cluster that has the queue, as far as Heddle's own access lists agree."""
        queue = call.parameters["queue"]
        found = self._backend.queue_at(queue)
        subcluster, name = found if found is not None else (await self._any(call), queue)
        routed = await self.pass_on(replace(call, parameters={**call.parameters, "queue": name}), subcluster)
        user, right = call.query.first("user") or "", call.query.first("queue-acl-type") or _SUBMIT
        may = right != _SUBMIT or not self._backend.control.is_closed_to(subcluster, name, user)
        if may or routed.answer.status != _OK:
            return routed
        why = f"User={user} doesn't have access to queue={queue} with acl-type={right}"
        body = json.dumps({"allowed": "false", "user": user, "diagnostics": why}).encode()
        if negotiate(call.request.joined("accept")) is Representation.XML:
            body, _ = xml_and_left_out(body, root=call.endpoint.xml_root)
        return replace(routed, answer=replace(routed.answer, body=body))

    def _mark(self, call: Call, subcluster: SubClusterId) -> None:
        if "node" in call.parameters or "labels" in call.endpoint.path:
            self._backend.documents.mark_touched(subcluster, Part.NODES)
        if "scheduler-conf" in call.endpoint.path or "resource" in call.endpoint.path:
            self._backend.documents.mark_touched(subcluster, Part.SCHEDULER)


def _target(call: Call) -> str:
    return "" if call.body is None else call.body.text("queue")
