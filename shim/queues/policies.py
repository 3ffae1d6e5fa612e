"""The policy of shares, version by version: read whole or refused whole, kept in the store, in force at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from shim.concurrency.off_loop import OffLoop
from shim.domain.queues import SharePolicy
from shim.errors import BadRequestError, ConfigError, ConflictError, HeddleError, NotFoundError, VersionConflictError
from shim.ports.clock import Clock
from shim.ports.queue_stores import PolicyStore, PolicyVersion

ParsePolicy = Callable[[str, str], SharePolicy]
"""From the text of a policy file and what messages call it; raises `ConfigError` with line and reason."""

RELEASED = "# The policy of each Heddle's configuration file holds.\n"
"""The text of a version that gives control back to the file; by itself it is a policy without queues."""

_REFRESH_S = 2.0
_MOST_BYTES = 256 * 1024
_log = structlog.get_logger("heddle.policies")


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """Difference between the policy that holds and that of the configuration file.

    Attributes:
        queues: Paths of queues that one of the two lacks, or that differ.
        has_other_rules: Whether operators' constraints or node groups differ.
    """

    version: PolicyVersion
    queues: tuple[str, ...]
    has_other_mappings: bool
    has_other_rules: bool = False

    def __str__(self) -> str:
        what = [f"queues {', '.join(self.queues)}"] if self.queues else []
        what += ["[[mapping]]"] if self.has_other_mappings else []
        what += ["[[constraint]] and [[node_group]]"] if self.has_other_rules else []
        by = f", applied by {self.version.applied_by}" if self.version.applied_by else ""
        return f"version {self.version.version} of the policy holds{by}, not the configuration file: {'; '.join(what)}"


def policy_difference(newest: PolicyVersion, holds: SharePolicy, file: SharePolicy) -> PolicyDifference | None:
    """Difference between the policy that holds and that of the file; None if there is none, or if the file holds."""
    ours, theirs = ({queue.path: queue for queue in policy.queues} for policy in (holds, file))
    queues = tuple(sorted(path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)))
    has_other_mappings = holds.mappings != file.mappings
    has_other_rules = holds.rules != file.rules
    if not queues and not has_other_mappings and not has_other_rules:
        return None
    return PolicyDifference(newest, queues, has_other_mappings, has_other_rules)


class PolicyService:
    """Use cases of the policy.

    Args:
        first: The policy of the configuration file, version 0, as text: what holds until one is applied.
        clock: The machine's.
        work: Where policies are read: a large one takes longer than the event loop may be held.

    Attributes:
        current: The policy that holds, as last read from the store.
    """

    def __init__(
        self, store: PolicyStore, first: str, parse: ParsePolicy, clock: Clock, work: OffLoop | None = None
    ) -> None:
        self.work = OffLoop() if work is None else work
        self._store = store
        self._parse = parse
        self._clock = clock
        self._newest = PolicyVersion(0, first, "", 0, "of the configuration file")
        self._first = self._newest
        self.current = self._of_file = parse(first, "the configuration file")

    @property
    def newest(self) -> PolicyVersion:
        return self._newest

    def difference(self) -> PolicyDifference | None:
        """Difference between the policy that holds and that of the configuration file."""
        return policy_difference(self._newest, self.current, self._of_file)

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
            name = f"version {newest.version} of the policy"
            is_released = newest.text == RELEASED
            read = self._of_file if is_released else await self.work.run_own(lambda: self._parse(newest.text, name))
            self._adopt(newest, read)

    def validate(self, text: str, source: str) -> SharePolicy:
        """Read a policy; nothing is kept. Not for the event loop: see `work`.

        Raises:
            BadRequestError: With line and reason.
        """
        if len(text.encode()) > _MOST_BYTES:
            raise BadRequestError(f"{source} has more than the {_MOST_BYTES} bytes that a policy may have")
        try:
            found = self._parse(text, source)
        except ConfigError as exc:
            raise BadRequestError(str(exc)) from exc
        for queue in found.queues:
            if queue.acts_on_nothing:
                raise BadRequestError(f"{source}: {queue.no_effect}")
        return found

    async def apply(
        self, text: str, *, source: str, by: str, note: str = "", expected: int | None = None
    ) -> PolicyVersion:
        """Keep a policy and let it hold from now on, here, and within seconds in every other Heddle.

        Args:
            expected: The version that it replaces; None for whichever holds.

        Raises:
            BadRequestError: With line and reason; the old one holds.
            ConflictError: Another one was applied meanwhile.
            StoreUnavailableError: It may have been kept; look.
            UnavailableError: The last one of the same user is still read.
        """
        policy = await self.work.run(by, lambda: self.validate(text, source))
        await self.refresh()
        if expected is not None and expected != self._newest.version:
            raise ConflictError(f"version {self._newest.version} holds, not {expected}: look at it first")
        try:
            applied = await self._store.apply(self._newest.version + 1, text, by=by, note=note)
        except VersionConflictError as exc:
            raise ConflictError(str(exc)) from exc
        self._adopt(applied, policy)
        _log.info("a policy was applied", version=applied.version, by=by, note=note)
        return applied

    async def history(self) -> Sequence[PolicyVersion]:
        """Every policy that ever held, newest first, the configuration file's last."""
        return [*map(self._as_it_holds, await self._store.history()), self._first]

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
        """Apply an old version again, as a new one; raises as `find` and `apply`.

        Version 0, and every one that gave control back to the configuration file, is `release`.
        """
        if version == 0 or any(
            each.version == version and each.text == RELEASED for each in await self._store.history()
        ):
            return await self.release(by=by)
        old = await self.find(version)
        return await self.apply(old.text, source=f"version {version}", by=by, note=f"version {version} again")

    async def release(self, *, by: str, note: str = "") -> PolicyVersion:
        """Give control back to the configuration file of each Heddle; raises as `apply`.

        A file that is edited later counts from the next start of its Heddle.
        """
        told = note or "released to the configuration file"
        return self._as_it_holds(await self.apply(RELEASED, source="the release", by=by, note=told))

    def _as_it_holds(self, version: PolicyVersion) -> PolicyVersion:
        return replace(version, text=self._first.text) if version.text == RELEASED else version

    def _adopt(self, version: PolicyVersion, policy: SharePolicy) -> None:
        self.current = self._of_file if version.text == RELEASED else policy
        self._newest = self._as_it_holds(version)
