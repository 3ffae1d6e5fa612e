"""Answers that are kept as bytes until what they tell of may have changed: the rule of the web services' cache.

A list or a count is good while the view's part that it tells of has the version that it had when the sub-clusters were
asked, while the same sub-clusters are late, and no longer than the staleness bound. A change made through Heddle ends
it at once: that counts the version up. The report of an application that has ended is good as long as it stays at the
home that told it. The report of one that lives is kept as a list is; for its owner only while it is RUNNING, as his
clients wait for what comes before (that it is ACCEPTED, that there is a token) and then for its end alone.

Reports of applications can hold tokens for their owner. One that holds a token is kept for the user it was made for
alone, and so is whatever an owner asks; any other is for all, unless a sub-cluster has access lists.

Whoever asks while the same is under way gets that answer, unless something was changed since that began.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from shim.concurrency.single_flight import SingleFlight
from shim.domain.ids import ApplicationId, SubClusterId
from shim.federation.core.federation_view import FederationView, Part
from shim.identity.service import Caller
from shim.ports.clock import Clock
from shim.protocol.hrpc import Failure, HadoopCall
from shim.server.rpc.client_methods import CLIENT_METHODS

_MOST_ENTRIES = 4096
_MOST_BYTES = 32 * 1024 * 1024
_LONGEST_REQUEST = 1024  # in bytes: a longer one is asked anew each time

_ALL = ""
"""In the place of a user: the answer is for every one."""

_Key = tuple[str, bytes, str]
_Standing = tuple[int, tuple[SubClusterId, ...]]


@dataclass(frozen=True, slots=True)
class Made:
    """An answer made of the sub-clusters' answers.

    Attributes:
        ended: The application that it tells the end of, if it is such a report.
        is_secret: Whether it holds a token: it is for the user alone it was made for.
        is_running: Whether it is the report of an application that is RUNNING.
    """

    answer: bytes | Failure
    missing: frozenset[SubClusterId] = frozenset()
    ended: ApplicationId | None = None
    is_secret: bool = False
    is_running: bool = False


class _Kept(Protocol):
    """An answer, and when it ends."""

    @property
    def answer(self) -> bytes: ...

    def is_good(self, view: FederationView, now_s: float, /) -> bool: ...

    def serves(self, view: FederationView, user: str, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class _OfPart:
    """Good until the part changes, or the time is over."""

    answer: bytes
    part: Part
    standing: _Standing
    good_until_s: float

    def is_good(self, view: FederationView, now_s: float) -> bool:
        return now_s < self.good_until_s and _still_stands(self.standing, view, self.part, now_s)

    def serves(self, view: FederationView, user: str) -> bool:
        return self.part is not Part.APPLICATIONS or not view.applications.columns.has_live_of(user)


@dataclass(frozen=True, slots=True)
class _OfEnd:
    """Good while the home is the same: an id that one has refused may be used again, and go to another."""

    answer: bytes
    application: ApplicationId
    home: SubClusterId | None

    def is_good(self, view: FederationView, _now_s: float) -> bool:
        known = view.applications
        return known.home_of(self.application) == self.home and not known.is_outdated(self.application)

    def serves(self, _view: FederationView, _user: str) -> bool:
        return True  # what has ended has no tokens


@dataclass(frozen=True, slots=True)
class _OfLife:
    """The report of an application that lives, as all but its owner see it or for one user; good as `_OfPart` is."""

    answer: bytes
    application: ApplicationId
    standing: _Standing
    good_until_s: float

    def is_good(self, view: FederationView, now_s: float) -> bool:
        return now_s < self.good_until_s and _still_stands(self.standing, view, Part.APPLICATIONS, now_s)

    def serves(self, view: FederationView, user: str) -> bool:
        known = view.applications.find(self.application)
        return known is not None and known.summary.user != user


class KeptRPCAnswers:
    """Answers to repeated questions; bounded by number and by bytes.

    Args:
        staleness_s: How long after the sub-clusters were asked a list or a count may be given; 0 keeps none.
        is_shared: Whether users see the same of others' applications; False if a sub-cluster has access lists.
    """

    def __init__(self, view: FederationView, clock: Clock, *, staleness_s: float, is_shared: bool) -> None:
        self._view = view
        self._clock = clock
        self._staleness_s = staleness_s
        self._is_shared = is_shared
        self._entries: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._flights: SingleFlight[tuple[_Key, _Standing], Made] = SingleFlight()

    def find(self, call: HadoopCall, caller: Caller, sight: str = "") -> bytes | None:
        """The answer that is kept for such a call, if it is still good.

        Args:
            sight: Of the caller as a viewer; who does not see all is given what was made for the same sight alone.
        """
        if CLIENT_METHODS[call.method].is_personal:
            own = self._find(_key(call, sight or caller.user))
            if own is not None or sight:
                return None if own is None else own.answer
        kept = self._find(_key(call, _ALL))
        return kept.answer if kept is not None and kept.serves(self._view, caller.user) else None

    def _find(self, key: _Key) -> _Kept | None:
        kept = self._entries.get(key)
        if kept is None or kept.is_good(self._view, self._clock.now_s()):
            return kept
        self._drop(key)
        return None

    async def ask(
        self,
        call: HadoopCall,
        caller: Caller,
        part: Part,
        make: Callable[[], Awaitable[Made]],
        *,
        of: ApplicationId | None = None,
        is_own: bool = True,
        sight: str = "",
    ) -> bytes | Failure:
        """The answer that `make` makes, kept; who asks the same meanwhile gets the same one.

        Args:
            part: What of the sub-clusters the answer tells of.
            of: The application that is asked for; None where several are. Until it is RUNNING, what its owner is told
                is for those alone who ask meanwhile.
            is_own: Whether it can tell something to this caller that it does not tell others.
            sight: Of the caller as a viewer; what is made for one who does not see all is kept for the same sight,
                and no longer than a list, as rights may change though the application does not.
        """
        is_personal = CLIENT_METHODS[call.method].is_personal
        is_for_all = not is_personal or (self._is_shared and not is_own and not sight)
        own = sight or caller.user
        standing = _standing(self._view, part, self._clock.now_s())
        is_mine = False

        async def fly() -> Made:
            nonlocal is_mine
            is_mine = True
            asked_at_s = self._clock.now_s()
            made = await make()
            if isinstance(made.answer, bytes) and len(call.payload_untrusted or b"") <= _LONGEST_REQUEST:
                key = _key(call, _ALL if is_for_all and not made.is_secret else own)
                if made.ended is not None and not (is_personal and sight):
                    self._keep(key, _OfEnd(made.answer, made.ended, self._view.applications.home_of(made.ended)))
                elif made.missing == frozenset(standing[1]):
                    good_until_s = asked_at_s + self._staleness_s
                    if of is None or (sight and (not is_own or made.ended is not None)):
                        self._keep(key, _OfPart(made.answer, part, standing, good_until_s))
                    elif made.is_running if is_own else is_for_all and not made.is_secret:
                        self._keep(key, _OfLife(made.answer, of, standing, good_until_s))
            return made

        made = await self._flights.do((_key(call, _ALL if is_for_all else own), standing), fly)
        if made.is_secret and is_for_all and not is_mine:  # a token after all, and of another
            made = await self._flights.do((_key(call, own), standing), fly)
        return made.answer

    def _keep(self, key: _Key, kept: _Kept) -> None:
        self._drop(key)
        self._entries[key] = kept
        self._bytes += len(kept.answer)
        while len(self._entries) > _MOST_ENTRIES or self._bytes > _MOST_BYTES:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: _Key) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.answer)


def _key(call: HadoopCall, viewer: str) -> _Key:
    return call.method, call.payload_untrusted or b"", viewer


def _standing(view: FederationView, part: Part, now_s: float) -> _Standing:
    return view.version(part), view.late(now_s)


def _still_stands(standing: _Standing, view: FederationView, part: Part, now_s: float) -> bool:
    return standing[0] == view.version(part) and standing[1] == view.late(now_s)
