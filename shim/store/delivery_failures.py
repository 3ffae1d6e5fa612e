"""Operations of the store on submissions that fail; see `shim.store.operations`."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, delete, select, tuple_

from shim.domain.ids import ApplicationId
from shim.domain.submissions import DeliveryFailure
from shim.store.rows import id_of_row, storable
from shim.store.tables import delivery_failures

__all__ = ["failures_of", "forget_failures", "note_failure"]

_C = delivery_failures.c
_BATCH = 400  # as in `operations`
_OF_ONE = (_C.cluster_timestamp == bindparam("key_timestamp"), _C.sequence == bindparam("key_sequence"))
_DELETE = delete(delivery_failures).where(*_OF_ONE)


def note_failure(connection: Connection, *, failure: DeliveryFailure) -> None:
    """Keep a failure in the place of an earlier one."""
    forget_failures(connection, application_ids=[failure.application_id])
    connection.execute(
        delivery_failures.insert(),
        {
            "cluster_timestamp": failure.application_id.cluster_timestamp,
            "sequence": failure.application_id.sequence,
            "intent_id": failure.intent_id,
            "open_ms": failure.open_ms,
            "failures": failure.failures,
            "failed_since_ms": failure.failed_since_ms,
            "next_at_ms": failure.next_at_ms,
            "reason": storable(failure.reason),
            "home_started_on_ms": failure.home_started_on_ms,
        },
    )


def failures_of(connection: Connection, *, application_ids: Sequence[ApplicationId]) -> list[DeliveryFailure]:
    """Failures that are kept of these applications."""
    found: list[DeliveryFailure] = []
    for start in range(0, len(application_ids), _BATCH):
        pairs = [(each.cluster_timestamp, each.sequence) for each in application_ids[start : start + _BATCH]]
        rows = connection.execute(select(delivery_failures).where(tuple_(_C.cluster_timestamp, _C.sequence).in_(pairs)))
        found += [
            DeliveryFailure(
                id_of_row(row),
                row["intent_id"],
                row["open_ms"],
                row["failures"],
                row["failed_since_ms"],
                row["next_at_ms"],
                row["reason"],
                row["home_started_on_ms"],
            )
            for row in rows.mappings()
        ]
    return found


def forget_failures(connection: Connection, *, application_ids: Collection[ApplicationId]) -> None:
    """Forget what is kept of these."""
    # in one order everywhere, as in `operations.note_taken`
    keys = [
        {"key_timestamp": each.cluster_timestamp, "key_sequence": each.sequence} for each in sorted(application_ids)
    ]
    if keys:
        connection.execute(_DELETE, keys)
