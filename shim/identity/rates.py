"""Rates at which users and addresses may call: buckets, as many as are remembered, for all servers of a process.

Token buckets: so many calls at once, and then so many a second.

A bucket is kept as one number, the time from which on it is full: calls that came too fast push it ahead. That is the
generic cell rate algorithm, which needs neither a level nor a timer (ITU-T I.371, annex A.2, virtual scheduling).
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shim.errors import TooManyCallsError
from shim.identity.service import Caller
from shim.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class RatedCall:
    """The outcome of a call at a bucket.

    Attributes:
        wait_s: 0 for a call that is let in; else from when on one would be, in seconds from now.
    """

    full_at_s: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of calls.

    Attributes:
        per_s: Calls a second, on average; 0 for any number.
        burst: Calls that may come at once after a silence, at least 1.
    """

    per_s: float
    burst: int

    @property
    def is_limited(self) -> bool:
        return self.per_s > 0

    def take(self, full_at_s: float | None, now_s: float) -> RatedCall:
        """One call at a bucket; a call that is not let in takes nothing.

        Args:
            full_at_s: The bucket before it; None for one that is full.
            now_s: A time that never goes back, as the bucket's.
        """
        if not self.is_limited:
            return RatedCall(now_s, 0.0)
        one_s = 1.0 / self.per_s
        begins_s = now_s if full_at_s is None else max(full_at_s, now_s)
        wait_s = begins_s + one_s - self.burst * one_s - now_s
        if wait_s > one_s * _ROUNDING:
            return RatedCall(begins_s, wait_s)
        return RatedCall(begins_s + one_s, 0.0)


_ROUNDING = 1e-6
"""Part of a call: what floating-point numbers may lose must not refuse one that is in time."""


_UNLIMITED = Rate(0.0, 1)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Rates, and buckets that are remembered.

    Attributes:
        user: Of one user, over REST and RPC together.
        address: Of one address, over REST, before anybody knows whose calls they are.
        remembered: Buckets of users, and as many of addresses; the one used longest ago is forgotten, and full again.
        user_calls: Calls of one user that may be under way together; 0 for any number.
    """

    user: Rate = _UNLIMITED
    address: Rate = _UNLIMITED
    remembered: int = 10_000
    user_calls: int = 0


class CallRates:
    """Lets calls in, or says when to come again.

    Args:
        clock: A time that never goes back.
        tell: Told of each call that is not let in: `user`, `address` or `user_calls`.
    """

    def __init__(self, limits: RateLimits, clock: Clock, tell: Callable[[str], None] = lambda _: None) -> None:
        self._limits = limits
        self._clock = clock
        self._tell = tell
        self._users: OrderedDict[str, float] = OrderedDict()
        self._addresses: OrderedDict[str, float] = OrderedDict()
        self._under_way: Counter[str] = Counter()

    @property
    def buckets(self) -> int:
        return len(self._users) + len(self._addresses)

    def from_address(self, address: str) -> None:
        """A call from an address.

        Raises:
            TooManyCallsError: Too many came from there.
        """
        if self._limits.address.is_limited:
            self._told(self._from(address))

    def by_user(self, caller: Caller) -> None:
        """A call by a caller; one that names nobody counts for its address alone.

        Raises:
            TooManyCallsError: The user calls too fast.
        """
        if self._limits.user.is_limited:
            self._told(self._by(caller))

    @contextmanager
    def under_way(self, caller: Caller) -> Iterator[None]:
        """Count a call while it is under way; calls that are answered at once are none.

        Raises:
            TooManyCallsError: As many calls of the user are under way as may be.
        """
        most, user = self._limits.user_calls, caller.user
        if not most or caller.is_anonymous:
            yield
            return
        if self._under_way[user] >= most:
            self._tell("user_calls")
            raise TooManyCallsError(f"{most} calls of the user {user} are under way already", retry_after_s=1)
        self._under_way[user] += 1
        try:
            yield
        finally:
            self._under_way[user] -= 1
            if not self._under_way[user]:
                del self._under_way[user]

    def at_once(self, address: str, caller: Caller) -> None:
        """Both, for a call that is made again in another way if it is not let in: then nothing is taken or told.

        Raises:
            TooManyCallsError: The user, or the address, calls too fast.
        """
        if not (self._limits.address.is_limited or self._limits.user.is_limited):
            return
        asked = (self._from(address), self._by(caller))
        for each in asked:
            each.check()
        for each in asked:
            each.keep(self._limits.remembered)

    def _from(self, address: str) -> "_Ask":
        return self._ask(self._limits.address, self._addresses, address, "address")

    def _by(self, caller: Caller) -> "_Ask":
        rate = _UNLIMITED if caller.is_anonymous else self._limits.user
        return self._ask(rate, self._users, caller.user, "user")

    def _ask(self, rate: Rate, buckets: OrderedDict[str, float], key: str, kind: str) -> "_Ask":
        return _Ask(rate, buckets, key, kind, rate.take(buckets.get(key), self._clock.monotonic_s()))

    def _told(self, asked: "_Ask") -> None:
        try:
            asked.check()
        except TooManyCallsError:
            self._tell(asked.kind)
            raise
        asked.keep(self._limits.remembered)


@dataclass(frozen=True, slots=True)
class _Ask:
    """A call at one bucket, which is as it was until `keep`."""

    rate: Rate
    buckets: OrderedDict[str, float]
    key: str
    kind: str
    call: RatedCall

    def check(self) -> None:
        """Raise `TooManyCallsError` for a call that is not let in."""
        if self.call.wait_s > 0:
            told = f"the {self.kind} {self.key} calls more than {self.rate.per_s:g} times a second"
            raise TooManyCallsError(told, retry_after_s=max(1, math.ceil(self.call.wait_s)))

    def keep(self, most: int) -> None:
        """Remember the bucket after the call, and `most` buckets in all."""
        if not self.rate.is_limited:
            return
        self.buckets[self.key] = self.call.full_at_s
        self.buckets.move_to_end(self.key)
        if len(self.buckets) > most:
            self.buckets.popitem(last=False)
