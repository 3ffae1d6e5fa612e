"""The policy of shares, version by version: read whole or refused whole, kept in the store, in force at once."""

from collections.abc import Callable, Sequence

import structlog

from shim.domain.shares import SharePolicy
from shim.errors import BadRequestError, ConfigError, ConflictError, HeddleError, NotFoundError, VersionConflictError
from shim.ports.clock import Clock
from shim.ports.policy_store import PolicyStore, PolicyVersion

__all__ = ["ParsePolicy", "PolicyService"]

ParsePolicy = Callable[[str, str], SharePolicy]
"""From the text of a policy file and what messages call it; raises `ConfigError` with line and reason."""

_REFRESH_S = 2.0
_MOST_BYTES = 256 * 1024
_log = structlog.get_logger("heddle.policies")


class PolicyService:
    """Use cases of the policy.

    Args:
        store: Where versions are kept.
        first: The policy of the configuration file, version 0, as text: what holds until one is applied.
        parse: Reads a policy.
        clock: The machine's.
    """

    def __init__(self, store: PolicyStore, first: str, parse: ParsePolicy, clock: Clock) -> None:
        self._store = store
        self._parse = parse
        self._clock = clock
        self._newest = PolicyVersion(0, first, "", 0, "of the configuration file")
        self._first = self._newest
        self._current = parse(first, "the configuration file")

    @property
    def current(self) -> SharePolicy:
        """The policy that holds, as last read from the store."""
        return self._current

    @property
    def newest(self) -> PolicyVersion:
        """The same as it was applied."""
        return self._newest

    async def run(self) -> None:
        """Follow the store, where another Heddle may have applied one, until cancelled."""
        while True:
            try:
                await self.refresh()
            except HeddleError as exc:
                _log.warning("the policy could not be read; the last known one holds", reason=str(exc))
            await self._clock.sleep(_REFRESH_S)

    async def refresh(self) -> None:
        """Adopt the newest policy of the store.

        Raises:
            StoreUnavailableError: The last known one holds.
            ConfigError: A newer Heddle applied it, and this one does not understand it; the last known one holds.
        """
        newest = await self._store.newest()
        if newest is not None and newest.version != self._newest.version:
            self._adopt(newest)

    def validate(self, text: str, source: str) -> SharePolicy:
        """Read a policy; nothing is kept.

        Raises:
            BadRequestError: With line and reason.
        """
        if len(text.encode()) > _MOST_BYTES:
            raise BadRequestError(f"{source} has more than the {_MOST_BYTES} bytes that a policy may have")
        try:
            return self._parse(text, source)
        except ConfigError as exc:
            raise BadRequestError(str(exc)) from exc

    async def apply(
        self, text: str, *, source: str, by: str, note: str = "", expected: int | None = None
    ) -> PolicyVersion:
        """Keep a policy and let it hold from now on, here, and within seconds in every other Heddle.

        Args:
            text: The policy file.
            source: What messages call it.
            by: Who applies it.
            note: Why.
            expected: The version that it replaces; None for whichever holds.

        Raises:
            BadRequestError: With line and reason; the old one holds.
            ConflictError: Another one was applied meanwhile.
            StoreUnavailableError: It may have been kept; look.
        """
        self.validate(text, source)
        await self.refresh()
        if expected is not None and expected != self._newest.version:
            raise ConflictError(f"version {self._newest.version} holds, not {expected}: look at it first")
        try:
            applied = await self._store.apply(self._newest.version + 1, text, by=by, note=note)
        except VersionConflictError as exc:
            raise ConflictError(str(exc)) from exc
        self._adopt(applied)
        _log.info("a policy was applied", version=applied.version, by=by, note=note)
        return applied

    async def history(self) -> Sequence[PolicyVersion]:
        """Every policy that ever held, newest first, the configuration file's last."""
        return [*await self._store.history(), self._first]

    async def find(self, version: int) -> PolicyVersion:
        """One of them.

        Raises:
            NotFoundError: There was no such version.
        """
        found = next((each for each in await self.history() if each.version == version), None)
        if found is None:
            raise NotFoundError(f"there is no version {version} of the policy; the newest is {self._newest.version}")
        return found

    async def roll_back(self, version: int, *, by: str) -> PolicyVersion:
        """Apply an old version again, as a new one; raises as `find` and `apply`."""
        old = await self.find(version)
        return await self.apply(old.text, source=f"version {version}", by=by, note=f"version {version} again")

    def _adopt(self, version: PolicyVersion) -> None:
        self._current = self._parse(version.text, f"version {version.version} of the policy")
        self._newest = version
