"""One ApplicationMaster's connection, and behind it the one to its home: login first, then traffic."""

import asyncio
import base64
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.errors import HeddleError, NotFoundError, RemoteProtocolError
from shim.ports.attempt_calls import Attempt, AttemptService
from shim.protocol.hrpc import ConnectionEnded, Failure, JavaClass, QualityOfProtection, RPCErrorCode
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES
from shim.protocol.hrpc.passing import LoggedIn, LoginEvent, LoginRelay, LoginStage, Named, Offered
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.yarn import attempt_of_token
from shim.server.rpc.am_connections import AMConnectionLimits, AMConnectionRegistry
from shim.server.rpc.home_dialler import Address, HomeDialler, HomeLink, kept_alive
from shim.server.rpc.own_login import OwnLogin
from shim.server.rpc.scheduler_traffic import (
    InterceptingRelay,
    SessionMeter,
    Traffic,
    TransparentRelay,
    Wrapped,
)

_LOG = structlog.get_logger("heddle.relay")
_MIB = 1024 * 1024
_CLIENT_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """Limits of ApplicationMasters.

    Attributes:
        max_frame_bytes: Largest call of an attempt whose calls are understood; other bytes are not kept.
        set_up_s: A connection that has not logged in by then is cut.
        offer_s: A home that has taken a connection and does not begin the login by then is left for the next one.
    """

    connections: AMConnectionLimits = field(default_factory=AMConnectionLimits)
    max_frame_bytes: int = 16 * _MIB
    set_up_s: float = 30.0
    offer_s: float = 3.0


class AttemptFinder(Protocol):
    """Knows attempts."""

    async def find(self, attempt_id: ApplicationAttemptId) -> Attempt:
        """The attempt with this id.

        Raises:
            NotFoundError: No sub-cluster knows the application.
            UnavailableError: Whoever might know it does not answer.
        """
        ...


class RelayObserver(Protocol):
    """Counts what goes through the server."""

    def session(self, subcluster: SubClusterId) -> SessionMeter:
        """An ApplicationMaster has logged in at its home."""
        ...


@dataclass(frozen=True, slots=True)
class RelayContext:
    """Collaborators of every connection of the server.

    Attributes:
        service: Who understands the calls of attempts that may span sub-clusters; None: all pass through.
        owner_address: Where the Heddle that owns a queue takes ApplicationMasters; None if it is this one, or nobody
            knows.
    """

    attempts: AttemptFinder
    dialler: HomeDialler
    observer: RelayObserver
    connections: AMConnectionRegistry
    limits: SchedulerLimits
    service: AttemptService | None = None
    owner_address: Callable[[str], Address | None] = lambda _queue: None


class AMConnection(asyncio.Protocol):
    """Serves one ApplicationMaster."""

    def __init__(self, context: RelayContext) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        nonce = base64.b64encode(os.urandom(NONCE_BYTES)).decode()
        self._login: LoginRelay | None = LoginRelay(
            APPLICATION_MASTER.name,
            nonce,
            os.urandom(_CLIENT_ID_BYTES),
            max_frame_bytes=context.limits.max_frame_bytes,
        )
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._home: HomeLink | None = None
        self._attempt: Attempt | None = None
        self._traffic: Traffic | None = None
        self._work: asyncio.Task[None] | None = None
        self._set_up: asyncio.TimerHandle | None = None
        self._is_home_slow = False
        self._is_full = False
        self._is_passed_on = False

    # -- the ApplicationMaster's transport -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = kept_alive(transport)
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else ""
        self._set_up = self._loop.call_later(self._context.limits.set_up_s, self.turn_out)
        self._context.connections.enter(self, self._peer)

    def data_received(self, data: bytes) -> None:
        """Pass it on, or go on with the login."""
        if self._traffic is not None:
            self._traffic.from_am(data)
        elif self._login is not None:
            self._take(self._login.receive_below(data))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """End the login at the home, which belongs to the connection that was lost."""
        self._transport = None
        self._end()

    def pause_writing(self) -> None:
        """Leave answers with the home, as the ApplicationMaster reads slower than they come."""
        home = self._home_transport
        if home is not None:
            home.pause_reading()

    def resume_writing(self) -> None:
        """Read from the home again, as the ApplicationMaster has caught up."""
        home = self._home_transport
        if home is not None:
            home.resume_reading()

    # -- the home's transport ------------------------------------------------------------------------------------------

    def from_home(self, link: HomeLink, data: bytes) -> None:
        """Pass it on, or go on with the login."""
        if link is not self._home:
            return
        if self._traffic is not None:
            self._traffic.from_home(data)
        elif self._login is not None:
            self._take(self._login.receive_above(data))

    def home_lost(self, link: HomeLink) -> None:
        """Without its home an ApplicationMaster has nobody to talk to; it connects again by itself."""
        if link is self._home and (self._login is None or self._login.stage is not LoginStage.OFFER):
            self.close()

    @property
    def _home_transport(self) -> asyncio.Transport | None:
        transport = None if self._home is None else self._home.transport
        return None if transport is None or transport.is_closing() else transport

    # -- both ends -----------------------------------------------------------------------------------------------------

    def to_master(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def to_home(self, data: bytes) -> None:
        home = self._home_transport
        if data and home is not None:
            home.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._close_home()

    def turn_out(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._close_home()

    def hold(self, *, is_full: bool) -> None:
        if is_full is not self._is_full:
            self._pace(is_home_slow=self._is_home_slow, is_full=is_full)

    def pace(self, *, is_home_slow: bool) -> None:
        self._pace(is_home_slow=is_home_slow, is_full=self._is_full)

    def _pace(self, *, is_home_slow: bool, is_full: bool) -> None:
        was_paused = self._is_home_slow or self._is_full
        self._is_home_slow, self._is_full = is_home_slow, is_full
        is_paused = is_home_slow or is_full
        if self._transport is None or self._transport.is_closing() or is_paused is was_paused:
            return
        if is_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # -- login ---------------------------------------------------------------------------------------------------------

    def _take(self, events: Sequence[LoginEvent]) -> None:
        login = self._login
        if login is None:
            return
        self.to_master(login.below.data_to_send())
        self.to_home(login.above.data_to_send())
        for event in events:
            match event:
                case Named(identifier):
                    self._work = self._loop.create_task(self._bring_home(login, identifier))
                case Offered():
                    if self._home is not None:
                        self._home.answer(has_answered=True)
                case LoggedIn(quality):
                    self._begin(login, quality)
                case ConnectionEnded(failure, reason):
                    _LOG.info("an ApplicationMaster did not log in", peer=self._peer, reason=reason, failure=failure)
                    self.close()

    async def _bring_home(self, login: LoginRelay, identifier_untrusted: bytes) -> None:
        """Find the attempt's home and begin the login there."""
        try:
            attempt_id = attempt_of_token(identifier_untrusted)
            self._attempt = await self._context.attempts.find(attempt_id)
            async with asyncio.timeout(self._context.dialler.timeout_s):
                await self._reach(login, self._attempt)
        except RemoteProtocolError:
            self._refuse(login, "Can't de-serialize tokenIdentifier")
        except NotFoundError:
            self._refuse(login, f"{attempt_of_token(identifier_untrusted)} not found in AMRMTokenSecretManager.")
        except (HeddleError, TimeoutError) as exc:
            _LOG.warning("an ApplicationMaster cannot be brought to its home now", peer=self._peer, reason=str(exc))
            self.close()
        except Exception:  # noqa: BLE001 - a task's boundary: a bug ends the connection, not the server
            _LOG.exception("bringing an ApplicationMaster to its home failed", peer=self._peer)
            self.close()

    async def _reach(self, login: LoginRelay, attempt: Attempt) -> None:
        """Connect until somebody has begun the login: a ResourceManager that hangs, or was active, is left."""
        dialler, home = self._context.dialler, attempt.home_subcluster
        while self._transport is not None:
            owner = self._owner_address(login, attempt)
            if owner is None:
                link: HomeLink | None = await dialler.dial(home, lambda: HomeLink(self))
            else:
                link = await dialler.try_at(owner, lambda: HomeLink(self))
            if link is not None and await self._offers(login, link, is_relay=owner is not None):
                self._is_passed_on = owner is not None
                return
            self._close_home()
            if owner is None:
                dialler.distrust(home)
            else:
                await dialler.pause()

    def _owner_address(self, login: LoginRelay, attempt: Attempt) -> Address | None:
        """Address where the attempt's calls are understood, if elsewhere; what was passed on once goes no further."""
        if login.was_passed_on or not attempt.is_read:
            return None
        return self._context.owner_address(attempt.queue)

    async def _offers(self, login: LoginRelay, link: HomeLink, *, is_relay: bool) -> bool:
        self._home = link
        login.connect(is_relay=is_relay)
        self.to_home(login.above.data_to_send())
        try:
            async with asyncio.timeout(self._context.limits.offer_s):
                return await link.has_answered
        except TimeoutError:
            _LOG.info("somebody takes connections and says nothing", peer=self._peer)
            return False

    def _refuse(self, login: LoginRelay, message: str) -> None:
        """In the words of a ResourceManager that does not know the token."""
        self._take([login.refuse(Failure(JavaClass.INVALID_TOKEN, message, RPCErrorCode.UNAUTHORIZED))])

    def _begin(self, login: LoginRelay, quality: QualityOfProtection) -> None:
        attempt = self._attempt
        if attempt is None or not self._context.connections.settle(self, attempt.id):
            _LOG.warning("too many ApplicationMasters", peer=self._peer)
            self.close()
            return
        if self._set_up is not None:
            self._set_up.cancel()
            self._set_up = None
        self._traffic = self._traffic_of(attempt, login, quality)
        self._login = self._work = None
        _LOG.debug("an ApplicationMaster logged in", attempt=str(attempt.id), home=attempt.home_subcluster)

    def _traffic_of(self, attempt: Attempt, login: LoginRelay, quality: QualityOfProtection) -> Traffic:
        context = self._context
        meter = context.observer.session(attempt.home_subcluster)
        is_read = context.service is not None and not self._is_passed_on and attempt.is_read
        if quality.has_layer:
            if is_read:
                _LOG.info(
                    "an attempt can neither span nor be held back: its calls are protected from everybody in between",
                    attempt=str(attempt.id),
                    quality=quality.value,
                )
            return Wrapped(self, meter)
        if context.service is None or not is_read:
            return TransparentRelay(self, meter)
        own = OwnLogin(login.above, attempt.home_subcluster, self.to_home)
        return InterceptingRelay(self, login.below, own, context.service.enter(attempt, own), meter)

    # -- end -----------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._context.connections.leave(self)
        if self._set_up is not None:
            self._set_up.cancel()
        if self._work is not None:
            self._work.cancel()
        traffic, self._traffic, self._login = self._traffic, None, None
        if traffic is not None:
            traffic.end()
        self._close_home()

    def _close_home(self) -> None:
        link, self._home = self._home, None
        if link is not None and link.transport is not None:
            link.transport.close()
