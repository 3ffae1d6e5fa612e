"""A sub-cluster's ResourceManager over Hadoop RPC: as any user, wherever the active one is."""

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.yarn.rpc_channel import ConnectionBudget, RPCChannel
from shim.domain.addresses import split_address
from shim.domain.ids import SubClusterId
from shim.domain.submissions import Refusal, Submission, SubmitReply, SubmitVerdict
from shim.errors import (
    NeverReachedError,
    NoAnswerError,
    RemoteProtocolError,
    StandbyError,
)
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import (
    DEFAULT_MAX_FRAME_BYTES,
    AuthMethod,
    CallerContext,
    ClientConnection,
    HadoopAnswer,
    HadoopRequest,
    JavaClass,
    QualityOfProtection,
    SASLError,
    SASLInitiator,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES, DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER, PROTOCOLS
from shim.protocol.yarn import RPC_SUBMISSION
from shim.protocol.yarn.unmanaged import token_parts
from shim.protocol.yarn.wire import PIECE_BYTES, check_message

_CLIENT_ID_BYTES = 16
_SWEEP_S = 5.0


@dataclass(frozen=True, slots=True)
class RPCSettings:
    """Settings of calls to a ResourceManager.

    Attributes:
        timeout_s: For a whole call, if the caller names none; and for a ticket before a connection is opened.
        idle_s: A connection without calls is closed after this time, as Java clients do.
        max_answer_bytes: A larger answer ends the connection.
        real_user: Who calls on behalf of others (`hadoop.proxyuser.*` there); empty to be believed at once.
        connections: Most connections at a time: each user has one, and clients make names up.
    """

    connect_timeout_s: float
    timeout_s: float
    idle_s: float = 10.0
    max_answer_bytes: int = DEFAULT_MAX_FRAME_BYTES
    real_user: str = ""
    connections: int = 256


@dataclass(frozen=True, slots=True)
class RPCTarget:
    """Addresses of the ResourceManagers of a sub-cluster: one, or several under HA."""

    subcluster: SubClusterId
    addresses: tuple[tuple[str, int], ...]


def new_client_id() -> bytes:
    """Sixteen random bytes that name a client to servers."""
    return os.urandom(_CLIENT_ID_BYTES)


class YarnRPC:
    """Implements `ResourceManagerRPC`; one connection for each user and protocol, to the active ResourceManager.

    Args:
        initiator: How to log in; None where names are believed.
        log_in: The same where it takes time: it is told the host, and raises `SASLError`.
        budget: Bounds the connections of several clients together; None for those of this one alone.
    """

    def __init__(
        self,
        target: RPCTarget,
        settings: RPCSettings,
        *,
        initiator: Callable[[], SASLInitiator] | None = None,
        log_in: Callable[[str], Awaitable[SASLInitiator]] | None = None,
        budget: ConnectionBudget | None = None,
    ) -> None:
        self._target = target
        self._settings = settings
        self._initiator = initiator
        self._log_in = log_in
        self._client_id = new_client_id()
        self._active = 0
        self._channels: dict[tuple[str, str], RPCChannel] = {}
        self._opening: dict[tuple[str, str], asyncio.Task[RPCChannel]] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._wanted: Counter[tuple[str, str]] = Counter()
        self._ended = asyncio.Event()
        self._budget = ConnectionBudget(self._settings.connections) if budget is None else budget
        self._budget.join(self)

    @property
    def channels(self) -> tuple[RPCChannel, ...]:
        """Connections that are open, or have ended and not been missed yet."""
        return tuple(self._channels.values())

    @property
    def connections(self) -> int:
        return len(self._channels) + len(self._opening)

    @property
    def subcluster(self) -> SubClusterId:
        return self._target.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        limit_s = timeout_s if timeout_s is not None else self._settings.timeout_s
        is_sent = False
        key = (call.user, call.protocol)
        self._wanted[key] += 1
        try:
            async with asyncio.timeout(limit_s):
                for _ in self._target.addresses:
                    channel = await self._channel(key)
                    is_sent = True
                    answer = self._answer(await channel.call(_request(call), _context(call)))
                    if answer is not None:
                        return await self._checked(call, answer)
                    is_sent = False
                    self._look_elsewhere()
        except TimeoutError as exc:
            kind = NoAnswerError if is_sent else NeverReachedError
            raise kind(self.subcluster, f"no answer to {call.method} within {limit_s:g} s") from exc
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key]
            self._budget.freed()
        raise StandbyError(self.subcluster, f"no ResourceManager among {self._listed()} is active")

    async def close(self) -> None:
        """Close every connection; calls that wait fail."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for opening in self._opening.values():
            opening.cancel()
        for channel in self.channels:
            channel.close()
        self._channels.clear()

    async def _checked(self, call: RPCCall, answer: RPCAnswer) -> RPCAnswer:
        """The answer, if it is what its method answers: what is put together with others' answers spoils no other.

        Raises:
            NoAnswerError: If it is anything else.
        """
        protocol = PROTOCOLS.get(call.protocol)
        method = None if protocol is None else protocol.methods.get(call.method)
        if method is None or answer.refusal is not None:
            return answer
        try:
            if len(answer.payload) <= PIECE_BYTES:
                check_message(method.answer, answer.payload)
            else:
                await asyncio.to_thread(check_message, method.answer, answer.payload)
        except RemoteProtocolError as exc:
            raise NoAnswerError(self.subcluster, f"answers {call.method} with {exc}") from exc
        return answer

    def _answer(self, answer: HadoopAnswer) -> RPCAnswer | None:
        """The answer for the caller; None if another ResourceManager has to be asked.

        Raises:
            NeverReachedError: If Heddle itself was not let in.
        """
        failure = answer.failure
        if failure is None:
            return RPCAnswer(answer.payload_untrusted)
        if failure.java_class == JavaClass.STANDBY:
            return None
        if self._log_in is not None and failure.java_class == JavaClass.SASL:
            # calls wait for the login; and it is Heddle that is refused, not its caller
            raise NeverReachedError(self.subcluster, f"refuses Heddle's login by ticket: {failure.summary}")
        return RPCAnswer(b"", RPCRefusal(failure.java_class, failure.summary))

    async def _channel(self, key: tuple[str, str]) -> RPCChannel:
        """The open connection for a user; whoever comes while it opens waits for the same one."""
        channel = self._channels.get(key)
        if channel is not None and channel.is_usable:
            return channel
        opening = self._opening.get(key)
        if channel is not None:
            del self._channels[key]  # it has ended
        while opening is None and not self._has_room():
            self._ended.clear()
            await self._ended.wait()
            channel, opening = self._channels.get(key), self._opening.get(key)
            if channel is not None and channel.is_usable:
                return channel  # another call of the same user opened it meanwhile
        if opening is None:
            opening = asyncio.create_task(self._open(key))
            self._opening[key] = opening
            opening.add_done_callback(lambda done: self._opened(key, done))
        return await asyncio.shield(opening)

    def idle_since_s(self) -> float | None:
        return min((self._channels[key].last_used_s for key in self._idle()), default=None)

    def close_idle(self) -> None:
        oldest = min(self._idle(), key=lambda key: self._channels[key].last_used_s, default=None)
        if oldest is not None:
            self._channels.pop(oldest).close()

    def wake(self) -> None:
        self._ended.set()

    def _idle(self) -> list[tuple[str, str]]:
        return [key for key in self._channels if key not in self._wanted]

    def _has_room(self) -> bool:
        """True if one more may be opened; the one that has been idle for longest makes room for it."""
        if self.connections >= self._settings.connections:
            if not self._idle():
                return False
            self.close_idle()
        return self._budget.make_room()

    def _opened(self, key: tuple[str, str], done: "asyncio.Task[RPCChannel]") -> None:
        self._opening.pop(key, None)
        self._budget.freed()
        if not done.cancelled() and done.exception() is None:
            self._channels[key] = done.result()
            self._sweep_later()

    async def _open(self, key: tuple[str, str]) -> RPCChannel:
        """Connect to the one that was active last, else to the others in turn."""
        problems: list[str] = []
        count = len(self._target.addresses)
        for turn in range(count):
            index = (self._active + turn) % count
            host, port = self._target.addresses[index]
            try:
                initiator = await self._initiator_for(host)
                async with asyncio.timeout(self._settings.connect_timeout_s):
                    channel = await self._connect(key, host, port, initiator)
            except (OSError, TimeoutError, SASLError) as exc:
                problems.append(f"{host}:{port}: {str(exc) or 'no connection in time'}")
                continue
            self._active = index
            return channel
        raise NeverReachedError(self.subcluster, f"cannot be reached by RPC ({'; '.join(problems)})")

    async def _initiator_for(self, host: str) -> SASLInitiator | None:
        """Get what Heddle logs in with: a KDC that answers late is no ResourceManager that cannot be reached.

        Raises:
            SASLError: There is no ticket to be had, or none in the time of a whole call.
        """
        if self._log_in is None:
            return self._initiator() if self._initiator is not None else None
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._log_in(host)
        except TimeoutError:
            limit_s = self._settings.timeout_s
            raise SASLError(f"no Kerberos ticket within {limit_s:g} s: is the KDC away, or the name service?") from None

    async def _connect(self, key: tuple[str, str], host: str, port: int, initiator: SASLInitiator | None) -> RPCChannel:
        user, protocol = key
        real_user = self._settings.real_user
        connection = ClientConnection(
            protocol,
            UserIdentity(user, real_user if real_user != user else ""),
            self._client_id,
            initiator=initiator,
            max_frame_bytes=self._settings.max_answer_bytes,
        )
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_connection(lambda: RPCChannel(connection, self.subcluster), host, port)
        return channel

    def _look_elsewhere(self) -> None:
        """The one that was asked is a standby: drop its connections, begin with the next."""
        self._active = (self._active + 1) % len(self._target.addresses)
        for channel in self.channels:
            channel.close()
        self._channels.clear()

    def _sweep_later(self) -> None:
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        """Close what has been idle for long."""
        self._sweeper = None
        oldest_s = asyncio.get_running_loop().time() - self._settings.idle_s
        for key, channel in list(self._channels.items()):
            if not channel.is_usable or (not channel.pending and channel.last_used_s < oldest_s):
                channel.close()
                del self._channels[key]
        if self._channels:
            self._sweep_later()

    def _listed(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self._target.addresses)


def addresses_of(listed: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """`host:port` texts as pairs."""
    return tuple(split_address(address) for address in listed)


def _request(call: RPCCall) -> HadoopRequest:
    return HadoopRequest(call.protocol, call.method, call.payload)


def _context(call: RPCCall) -> CallerContext | None:
    return CallerContext(call.caller_context) if call.caller_context else None


# Both servers of a ResourceManager as one: a submission that came over RPC goes to its home over RPC.

_FORBIDDEN = frozenset({JavaClass.ACCESS_CONTROL, JavaClass.AUTHORIZATION})


class DualResourceManager(ResourceManager):
    """Implements `ResourceManager` over the web services, and over RPC for what came from there."""

    def __init__(self, rest: ResourceManager, rpc: ResourceManagerRPC) -> None:
        self._rest = rest
        self._rpc = rpc

    @property
    def subcluster(self) -> SubClusterId:
        return self._rest.subcluster

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        if submission.content_type != RPC_SUBMISSION:
            return await self._rest.submit(submission, timeout_s=timeout_s, accept=accept)
        call = RPCCall(APPLICATION_CLIENT.name, "submitApplication", submission.body, user=submission.user)
        refusal = (await self._rpc.call(call, timeout_s=timeout_s)).refusal
        return SubmitReply(SubmitVerdict.TAKEN) if refusal is None else self._refused(refusal)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Pass a request on to the web services; see `ResourceManager.forward`."""
        return await self._rest.forward(request, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._rest.close()
        await self._rpc.close()

    def _refused(self, told: RPCRefusal) -> SubmitReply:
        """`ClientRMService.submitApplication` throws also for what it has taken: only a missing right is certain."""
        if told.java_class == JavaClass.RETRIABLE:
            raise NoAnswerError(self.subcluster, f"asks to try again later: {told.message}")
        verdict = SubmitVerdict.REFUSED if told.java_class in _FORBIDDEN else SubmitVerdict.FAILED
        return SubmitReply(verdict, Refusal(told.java_class, told.message))


_QUALITIES = tuple(reversed(QualityOfProtection))
"""The strongest that the server offers."""
_NOBODY = ""  # a login by token names no user: the token does


class TokenLogin:
    """Implements `SchedulerLogin` over Hadoop RPC."""

    def __init__(self, target: RPCTarget, settings: RPCSettings, token: TokenSecret) -> None:
        self._token = token
        self._rpc = YarnRPC(target, settings, initiator=self._initiator)

    async def call(self, method: str, payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        return await self._rpc.call(
            RPCCall(APPLICATION_MASTER.name, method, payload, user=_NOBODY), timeout_s=timeout_s
        )

    async def close(self) -> None:
        await self._rpc.close()

    def _initiator(self) -> SASLInitiator:
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        return SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(self._token, nonce, _QUALITIES)})


class TokenLogins:
    """Implements `SchedulerLogins`.

    Args:
        targets: Where the schedulers of each sub-cluster listen.
    """

    def __init__(self, targets: Mapping[SubClusterId, RPCTarget], settings: RPCSettings) -> None:
        self._targets = targets
        self._settings = settings

    def log_in(self, subcluster: SubClusterId, token: bytes) -> TokenLogin:
        target = self._targets.get(subcluster)
        if target is None:
            raise NeverReachedError(subcluster, "the address of its scheduler is not known")
        identifier, password = token_parts(token)
        return TokenLogin(target, self._settings, TokenSecret(identifier, password))
