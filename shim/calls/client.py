"""Calls of Hadoop clients, brought to the sub-clusters that they belong to.

The same rules as for REST: the home by `Routing`, changes by `ControlService`, nobody waits longer for a sub-cluster
than the time limit, and a sub-cluster that does not answer is named, not silently left out: a client of RPC, to whom it
cannot be named, is given what it last told.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from shim.calls.control import ControlService, NamedQueue
from shim.concurrency.fair_turns import FairTurns
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.usage import Account
from shim.errors import HomeUnreachableError, NoUsableSubClusterError, ResourceManagerError
from shim.federation.core.federation_view import FederationView
from shim.federation.routing import Routing
from shim.ports.clock import Clock
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall, RPCRefusal
from shim.queues.admission import Kills
from shim.submission.tools import Listing


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Settings of calls.

    Attributes:
        answer_within_s: Nobody waits longer for a sub-cluster.
        guarded: Sub-clusters with `yarn.acl.enable`: what is known of others' applications there is not shown.
    """

    answer_within_s: float
    guarded: frozenset[SubClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Answers of the sub-clusters to the same call.

    Attributes:
        payloads: Of those that did what was asked, in the configured order; for those that did not answer, what they
            last told.
        refusal: The first exception among the other answers.
    """

    payloads: Mapping[SubClusterId, bytes]
    refusal: RPCRefusal | None
    missing: frozenset[SubClusterId]


class ClientCalls:
    """Makes calls on behalf of clients."""

    def __init__(
        self,
        *,
        rpcs: Mapping[SubClusterId, ResourceManagerRPC],
        routing: Routing,
        control: ControlService,
        listing: Listing,
        view: FederationView,
        clock: Clock,
        settings: CallSettings,
        turns: FairTurns | None = None,
    ) -> None:
        self._rpcs = rpcs
        self._routing = routing
        self._control = control
        self._listing = listing
        self._view = view
        self._clock = clock
        self._settings = settings
        self._turns = turns
        self._last_told = LastAnswers()

    @property
    def submitted_at_ms(self) -> Mapping[ApplicationId, int]:
        """True submit times of applications that waited in Heddle; their homes tell when they started."""
        return self._view.applications.submit_times.known

    async def read(self, application_id: ApplicationId, call: RPCCall) -> RPCAnswer:
        """Ask the home of an application.

        Raises:
            NotFoundError: Nobody knows the application.
            HomeUnreachableError: Its home does not answer in time.
        """
        return await self.ask(await self._routing.home_of(application_id), call)

    async def ask_place(self, container: ContainerId, call: RPCCall) -> RPCAnswer:
        """Ask the sub-cluster where a container runs; raises as `read`."""
        return await self.ask(await self._routing.place_of_container(container), call)

    async def containers(
        self, attempt: ApplicationAttemptId, call_for: Callable[[ApplicationAttemptId], RPCCall]
    ) -> list[RPCAnswer]:
        """Ask everywhere where an attempt has containers.

        Args:
            call_for: The call about the attempt as another sub-cluster calls it.

        Returns:
            The home's answer, then those of the others that know the attempt.

        Raises:
            NotFoundError: Nobody knows the application.
            HomeUnreachableError: A sub-cluster with containers of it does not answer in time.
        """
        home = await self._routing.home_of(attempt.application)
        beyond = await self._routing.beyond_home(attempt)
        asked = [self.ask(place, call_for(each)) for place, each in ((home, attempt), *beyond)]
        first, *others = await asyncio.gather(*asked)
        return [first, *(answer for answer in others if answer.refusal is None)]

    async def change(
        self, application_id: ApplicationId, call: RPCCall, move: NamedQueue[RPCCall] | None = None
    ) -> RPCAnswer:
        """Send a changing call to the home of an application; what is read afterwards is fetched first.

        Args:
            move: The queue to which it moves the application, if it does.

        Raises:
            ForbiddenError: The user may not submit to that queue.
            HomeUnreachableError: The home does not answer now. The change may have been made: repeat it.
        """
        home = await self._control.home_for_change(application_id)
        call = self._control.as_sent_to(home, application_id, call, move)
        try:
            return await self.ask(home, call)
        finally:
            self._listing.mark_written(application_id)

    def is_closed_to(self, subcluster: SubClusterId, queue: str, user: str) -> bool:
        """True if Heddle's access lists keep a user from submitting to what a sub-cluster calls so."""
        return self._control.is_closed_to(subcluster, queue, user)

    async def kill_waiting(self, application_id: ApplicationId, by: Kills) -> bool:
        """End an application that waits for its queue's turn; see `ControlService.kill_waiting`."""
        known = self._view.applications.find(application_id)
        has_home = known is not None and not self._view.applications.is_waiting(application_id)
        return not has_home and await self._control.kill_waiting(application_id, by)

    async def ask(self, subcluster: SubClusterId, call: RPCCall) -> RPCAnswer:
        """Ask one sub-cluster.

        Raises:
            HomeUnreachableError: It does not answer in time.
        """
        rpc = self._rpcs.get(subcluster)
        if rpc is None:
            raise HomeUnreachableError(
                f"sub-cluster {subcluster} has no client RPC address: set client_rpc or conf in its [[subcluster]]"
            )
        try:
            return await rpc.call(call, timeout_s=self._settings.answer_within_s)
        except ResourceManagerError as exc:
            raise HomeUnreachableError(f"sub-cluster {subcluster} does not answer: {exc.reason}") from exc

    async def ask_all(
        self, call: RPCCall, queue: NamedQueue[RPCCall] | None = None, *, told_to: str | None = None
    ) -> Gathered:
        """Ask every usable sub-cluster at once.

        Args:
            queue: The queue that the call names, if it does.
            told_to: Who may be told again what a missing sub-cluster last answered: empty for all, None for nobody.
        """
        usable = self._routing.usable()
        calls = [call if queue is None else self._control.asked_at(item, call, queue) for item in usable]
        answers = await asyncio.gather(*map(self.ask, usable, calls), return_exceptions=True)
        if self._turns is not None:  # to make one answer of many takes long: all who wait for theirs take turns
            await self._turns.turn("", call.user.encode())
        payloads: dict[SubClusterId, bytes] = {}
        missing = set(self._view.subclusters) - set(usable)
        refusal: RPCRefusal | None = None
        for subcluster, answer in zip(usable, answers, strict=True):
            if isinstance(answer, HomeUnreachableError):
                missing.add(subcluster)
            elif isinstance(answer, BaseException):
                raise answer
            elif answer.refusal is not None:
                refusal = refusal or answer.refusal
            else:
                payloads[subcluster] = answer.payload
        if told_to is not None:
            payloads = self._with_last_answers(call, payloads, missing, told_to)
        return Gathered(payloads, refusal, frozenset(missing))

    def _with_last_answers(
        self, call: RPCCall, payloads: Mapping[SubClusterId, bytes], missing: Collection[SubClusterId], told_to: str
    ) -> dict[SubClusterId, bytes]:
        """The answers, in the configured order, and those of sub-clusters that are away, not retired, from before."""
        question = (call.method, call.payload, told_to)
        for subcluster, payload in payloads.items():
            self._last_told.note(subcluster, *question, payload)
        away = (item for item in missing if not self._view.is_retired(item))
        known = {**payloads, **{item: self._last_told.find(item, *question) for item in away}}
        return {item: told for item in self._view.subclusters if (told := known.get(item)) is not None}

    async def ask_any(self, call: RPCCall) -> RPCAnswer:
        """Ask one usable sub-cluster after another until one answers.

        Raises:
            NoUsableSubClusterError: If none does.
        """
        for subcluster in self._routing.usable():
            try:
                return await self.ask(subcluster, call)
            except HomeUnreachableError:
                continue
        raise NoUsableSubClusterError("no sub-cluster answers: `heddle doctor` tells why")

    async def ask_willing(self, call: RPCCall) -> RPCAnswer:
        """Ask one usable sub-cluster after another until one does not refuse; else the last refusal.

        Raises:
            NoUsableSubClusterError: If none answers.
        """
        answer: RPCAnswer | None = None
        for subcluster in self._routing.usable():
            with suppress(HomeUnreachableError):
                answer = await self.ask(subcluster, call)
                if answer.refusal is None:
                    return answer
        return answer or await self.ask_any(call)

    async def ask_issuer(self, reservation_id: str, call: RPCCall, queue: NamedQueue[RPCCall]) -> RPCAnswer:
        """Ask the sub-cluster that issued a reservation's id, or any that will say that it did not.

        Args:
            reservation_id: Which; empty for none.
            queue: The queue that the call names, if it does.

        Raises:
            ForbiddenError: The caller may not submit to the reservation's queue.
            NoUsableSubClusterError: No sub-cluster answers.
        """
        issuer = self._routing.reservations.issuer_of(reservation_id)
        for subcluster in self._routing.usable() if issuer is None else (issuer,):
            try:
                if queue.user is not None:
                    await self._control.check_reservation(
                        subcluster, queue=queue.queue, reservation=reservation_id, user=queue.user
                    )
                return await self.ask(subcluster, self._control.asked_at(subcluster, call, queue))
            except HomeUnreachableError:
                if issuer is not None:
                    raise
        raise NoUsableSubClusterError("no sub-cluster answers: `heddle doctor` tells why")

    def disowned(self, application_id: ApplicationId) -> ApplicationDocument | None:
        """Document for the client of a submission whose id belongs to another application; None for any other."""
        return (
            self._view.applications.find(application_id)
            if self._view.applications.is_disowned(application_id)
            else None
        )

    @property
    def find_account(self) -> Callable[[ApplicationId], Account | None] | None:
        """Finds accounts of applications that use more than their homes; None if there are none."""
        return self._account_of if len(self._view.accounts) else None

    def _account_of(self, application_id: ApplicationId) -> Account | None:
        owner = self.owner_of(application_id)
        return None if owner is None else self._view.accounts.find(application_id, owner)

    def owner_of(self, application_id: ApplicationId) -> str | None:
        """Owner of an application; None if no home has told of it."""
        document = self._view.applications.find(application_id)
        return None if document is None else document.summary.user

    def has_live_of(self, user: str) -> bool:
        """True if a user has an application that has not ended."""
        return self._view.applications.columns.has_live_of(user)

    def last_known(self, application_id: ApplicationId, *, viewer: str) -> ApplicationDocument | None:
        document = self._view.applications.find(application_id)
        return document if document is not None and self._may_see(document, viewer) else None

    def not_told_by(self, missing: frozenset[SubClusterId], *, viewer: str) -> list[ApplicationDocument]:
        """Applications that a list gathered now lacks: of missing sub-clusters, and submitted but not yet at home."""
        return [
            document
            for document in self._view.applications.newest_first()
            if (
                document.summary.home_subcluster in missing
                or self._view.applications.is_synthetic(document.summary.application_id)
            )
            and self._may_see(document, viewer)
        ]

    def homes_elsewhere(self, subcluster: SubClusterId) -> Callable[[ApplicationId], bool] | None:
        """Tells which applications are known to have another home; None where there is no other."""
        if len(self._rpcs) == 1:
            return None
        home_of = self._view.applications.home_of
        return lambda application_id: home_of(application_id) not in (None, subcluster)

    def weight(self, subcluster: SubClusterId) -> float:
        """Size of a sub-cluster, for averages of shares."""
        return float(self._view.look(subcluster, self._clock.now_s()).capacity.memory_mib)

    def _may_see(self, document: ApplicationDocument, viewer: str) -> bool:
        summary = document.summary
        return summary.home_subcluster not in self._settings.guarded or summary.user == viewer


_MOST_BYTES = 16 * 1024 * 1024
_LONGEST_REQUEST = 1024  # in bytes: a longer one is not remembered

_Key = tuple[SubClusterId, str, bytes, str]


class LastAnswers:
    """Last answers to clients' questions, given again while who gave them is away; the least lately given go first.

    Hadoop's RPC has no place to say that an answer lacks a cluster, so half a list would pass for the whole. What
    nobody asked before a sub-cluster went away, it cannot be asked afterwards: then the answer is that of the others.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._answers: OrderedDict[_Key, bytes] = OrderedDict()
        self._bytes = 0

    def note(self, subcluster: SubClusterId, method: str, request: bytes, user: str, answer: bytes) -> None:
        """Remember an answer.

        Args:
            request: The serialized question.
            user: For whom; empty if everybody is told the same.
        """
        if len(request) > _LONGEST_REQUEST:
            return
        key = (subcluster, method, request, user)
        self._forget(key)
        self._answers[key] = answer
        self._bytes += _size(key, answer)
        while self._bytes > self._most_bytes:
            self._forget(next(iter(self._answers)))

    def find(self, subcluster: SubClusterId, method: str, request: bytes, user: str) -> bytes | None:
        """The last answer; None if that is not remembered. The parameters are those of `note`."""
        return self._answers.get((subcluster, method, request, user))

    def _forget(self, key: _Key) -> None:
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._bytes -= _size(key, answer)


def _size(key: _Key, answer: bytes) -> int:
    return len(answer) + sum(map(len, key))
