"""`StateStore` over SQL."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import DeliveryFailure, Submission, SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import ConfigError, StoreUnavailableError
from shim.store import operations
from shim.store.executors import Executor
from shim.store.group_commit import GroupCommitExecutor
from shim.store.private_files import has_key, key_beside
from shim.store.schema import upgrade
from shim.store.sealing import SealedBodies
from shim.store.sql_history_store import SqlHistoryStore
from shim.store.sql_lease_store import SqlLeaseStore
from shim.store.sql_queue_stores import SqlPolicyStore
from shim.store.stores import Stores, sql_stores
from shim.store.tables import cluster_lists

_MORE_TRIES = 4  # each waits for the lock as long as any write does


async def open_state_store(
    url: str,
    *,
    now_s: Callable[[], float] = time.time,
    secret: bytes | None = None,
    other_secrets: Sequence[bytes] = (),
) -> "SqlStateStore":
    """Open a store, make or upgrade its tables, and return it.

    Args:
        url: `sqlite:///FILE` or `postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE`.
        now_s: Seconds since the epoch.
        secret: Seals submission contexts; without one, SQLite has a key in a file beside it, and PostgreSQL none.

    Raises:
        ConfigError: If the URL is not one of these.
        StoreUnavailableError: If the database cannot be opened, or was upgraded by a newer Heddle.
    """
    executor = open_executor(url)
    try:
        await _upgraded(executor)
        bodies = SealedBodies(body_secrets(url, secret, other_secrets))
    except BaseException:
        await executor.close()
        raise
    return SqlStateStore(executor, now_s=now_s, bodies=bodies)


def body_secrets(url: str, secret: bytes | None, other_secrets: Sequence[bytes] = ()) -> list[bytes]:
    """Keys of this store, the one to seal with first: a configured secret may have come after a key beside the file."""
    configured = [] if secret is None else [secret, *other_secrets]
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return configured
    file = Path(parsed.database)
    return [*configured, key_beside(file)] if secret is None or has_key(file) else configured


async def _upgraded(executor: Executor) -> None:
    """Bring the tables up to date; another Heddle that starts beside this one may hold the lock while it does so."""
    for _ in range(_MORE_TRIES):
        with suppress(StoreUnavailableError):
            await executor.write(upgrade)
            return
    await executor.write(upgrade)


def open_executor(url: str) -> Executor:
    """Open the database of a store; its tables are left as they are.

    Raises:
        ConfigError: If the URL is not one of these.
        StoreUnavailableError: If the database cannot be opened.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise ConfigError("the configuration", "store.url", f"{url!r} is not a database URL") from exc
    match parsed.get_backend_name(), parsed.database:
        case "sqlite", str() as file if file and file != ":memory:":
            return GroupCommitExecutor(Path(file))
        case "postgresql", _:
            return _postgresql(parsed)
        case _:
            shown = parsed.render_as_string(hide_password=True)
            message = (
                f"{shown} is not supported; write sqlite:///FILE or postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE"
            )
            raise ConfigError("the configuration", "store.url", message)


def _postgresql(url: URL) -> Executor:
    try:
        from shim.store.postgresql import PooledExecutor  # noqa: PLC0415 - its drivers are an extra of the installation

        return PooledExecutor(url.set(drivername="postgresql+asyncpg"))
    except ImportError as exc:
        message = "PostgreSQL needs its driver: install Heddle with its extra (pip install '.[postgres]')"
        raise ConfigError("the configuration", "store.url", message) from exc


class SqlStateStore:
    """The durable state of a federation in SQL; implements `shim.ports.StateStore`.

    Attributes:
        leases: The leases in the same database; closed with it.
        clusters: Lists of sub-clusters there, likewise.
        history: What the store knows of its own past; closed with it.
    """

    def __init__(self, executor: Executor, *, now_s: Callable[[], float], bodies: SealedBodies) -> None:
        self._executor = executor
        self._bodies = bodies
        self._now_s = now_s
        self.leases = SqlLeaseStore(executor)
        self.clusters = SqlPolicyStore(executor, now_s=now_s, table=cluster_lists)
        self.history = SqlHistoryStore(executor, now_s=now_s)

    @property
    def seals_bodies(self) -> bool:
        """True if submission contexts are unreadable in the database."""
        return self._bodies.is_sealing

    def stores(self, secret: bytes, other_secrets: Sequence[bytes] = ()) -> Stores:
        """All stores of the database; closed with this one.

        Args:
            secret: Of the configuration: seals tokens.
            other_secrets: Open what was sealed with them.
        """
        return sql_stores(self, self._executor, self._now_s, secret, other_secrets)

    async def federation_timestamp_ms(self) -> int:
        return await self._executor.write(partial(operations.federation_timestamp_ms, now_ms=self._now_ms()))

    async def begin_epoch(self, listed: Collection[ApplicationId]) -> int:
        return await self._executor.write(partial(operations.begin_epoch, listed=tuple(listed), now_ms=self._now_ms()))

    async def reserve_sequences(self, count: int) -> range:
        return await self._executor.write(partial(operations.reserve_sequences, count=count, now_ms=self._now_ms()))

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        sealed = self._bodies.sealed(record)
        known = await self._executor.write(partial(operations.insert_intent, record=sealed))
        return record if known is sealed else self._bodies.opened(known)

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        await self._executor.write(
            partial(
                operations.settle,
                application_id=application_id,
                state=state,
                rejection=rejection,
                now_ms=self._now_ms(),
            )
        )

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """Move INTENDED records on to SUBMITTED, in one statement."""
        await self._executor.write(partial(operations.note_taken, application_ids=tuple(application_ids)))

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        await self._executor.write(partial(operations.rehome, record=record, was=was))

    async def confirm(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
    ) -> None:
        await self._executor.write(
            partial(
                operations.confirm,
                application_ids=tuple(application_ids),
                subcluster=subcluster,
                started_on_ms=started_on_ms,
            )
        )

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        record = await self._executor.read(partial(operations.find, application_id=application_id))
        return None if record is None else self._bodies.opened(record)

    async def described(self, application_ids: Collection[ApplicationId]) -> Mapping[ApplicationId, Submission]:
        return await self._executor.read(partial(operations.described, application_ids=tuple(application_ids)))

    async def intended(self) -> Sequence[SubmissionRecord]:
        return await self._executor.read(operations.intended)

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        return await self._executor.read(partial(operations.unfinished, subcluster=subcluster))

    async def waiting(self) -> Sequence[SubmissionProgress]:
        return await self._executor.read(operations.waiting)

    async def waited(self) -> dict[ApplicationId, int]:
        return await self._executor.read(operations.waited)

    async def withdraw(self, application_id: ApplicationId, *, reason: str) -> None:
        await self._executor.write(
            partial(operations.withdraw, application_id=application_id, reason=reason, now_ms=self._now_ms())
        )

    async def reject(self, was: SubmissionProgress, *, reason: str) -> None:
        """End one that runs nowhere."""
        await self._executor.write(partial(operations.reject, was=was, reason=reason, now_ms=self._now_ms()))

    async def give_up(self, progress: SubmissionProgress, *, reason: str) -> None:
        await self._executor.write(partial(operations.give_up, progress=progress, reason=reason, now_ms=self._now_ms()))

    async def mark_final(self, application_ids: Collection[ApplicationId]) -> None:
        await self._executor.write(
            partial(operations.mark_final, application_ids=tuple(application_ids), now_ms=self._now_ms())
        )

    async def note_delivery_failure(self, failure: DeliveryFailure) -> None:
        await self._executor.write(partial(operations.note_failure, failure=failure))

    async def delivery_failures(self, application_ids: Collection[ApplicationId]) -> Sequence[DeliveryFailure]:
        return await self._executor.read(partial(operations.failures_of, application_ids=tuple(application_ids)))

    async def forget_delivery_failures(self, application_ids: Collection[ApplicationId]) -> None:
        await self._executor.write(partial(operations.forget_failures, application_ids=tuple(application_ids)))

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        return await self._executor.write(partial(operations.purge, final_before_ms=final_before_ms, keep=keep))

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = "") -> None:
        await self._executor.write(
            partial(
                operations.set_admission,
                subcluster=subcluster,
                admission=admission,
                said_by=by,
                reason=reason,
                now_ms=self._now_ms(),
            )
        )

    async def admissions(self) -> dict[SubClusterId, Admission]:
        return await self._executor.read(operations.list_admissions)

    async def admission_words(self) -> dict[SubClusterId, AdmissionWord]:
        return await self._executor.read(operations.list_admission_words)

    async def close(self) -> None:
        await self._executor.close()

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)
