"""Operations of the store, each as one function on a connection that is inside a transaction.

SQLite and PostgreSQL run the same functions; they differ in who calls them (`group_commit`, `pooled`). A function that
raises an error of Heddle has written nothing before, so that others may go on in the same transaction.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    or_,
    select,
    tuple_,
    update,
)

from shim.domain.ids import ApplicationId, SubClusterId, sequence_above, timestamp_of_epoch
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import DeliveryFailure, Submission, SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import VersionConflictError
from shim.store import rows
from shim.store import statements as sql
from shim.store.rows import id_of_row, storable
from shim.store.tables import admissions, delivery_failures, federation, id_epochs, submissions

_C = submissions.c
_BATCH = 400  # ids in one statement; SQLite allows 32,766 parameters, PostgreSQL's driver 32,767


def federation_timestamp_ms(connection: Connection, *, now_ms: int) -> int:
    """Founding time of the federation; `now_ms` if this call founds it."""
    insert = sql.DIALECT_INSERT[connection.dialect.name](federation)
    row = {"id": sql.ONLY, "timestamp_ms": now_ms, "next_sequence": 1}
    connection.execute(insert.on_conflict_do_nothing(), row)
    return int(connection.execute(select(federation.c.timestamp_ms)).scalar_one())


def begin_epoch(connection: Connection, *, listed: Collection[ApplicationId], now_ms: int) -> int:
    """Take a cluster time stamp for the caller alone, and raise the sequence above what is listed."""
    founded_ms = federation_timestamp_ms(connection, now_ms=now_ms)
    sequence = connection.execute(sql.LOCK_SEQUENCE).scalar_one()  # the row's lock: one epoch begins at a time
    begun = connection.execute(select(id_epochs.c.timestamp_ms)).scalars().all()
    known = frozenset([*begun, founded_ms])
    is_first = not begun and sequence == 1 and founded_ms == now_ms
    stamp = founded_ms if is_first else timestamp_of_epoch(now_ms, known=known, listed=listed)
    connection.execute(id_epochs.insert(), {"timestamp_ms": stamp, "begun_at_ms": now_ms})
    above = sequence_above(sequence, known=known, listed=listed)
    if above > sequence:
        connection.execute(sql.RESERVE, {"count": above - sequence})
    return stamp


def reserve_sequences(connection: Connection, *, count: int, now_ms: int) -> range:
    """Take `count` numbers for the caller alone."""
    after = connection.execute(sql.RESERVE, {"count": count}).scalar_one_or_none()
    if after is None:
        federation_timestamp_ms(connection, now_ms=now_ms)
        after = connection.execute(sql.RESERVE, {"count": count}).scalar_one()
    return range(after - count, after)


def insert_intent(connection: Connection, *, record: SubmissionRecord) -> SubmissionRecord:
    """Insert, or replace a REJECTED record; return what stands there now."""
    if sql.INSERT_INTENT.rows(connection, rows.row_of_record(record)):
        return record
    known = find(connection, application_id=record.submission.application_id)
    if known is None:
        message = f"{record.submission.application_id} was purged while it was submitted again; submit once more"
        raise VersionConflictError(message)
    return known


def settle(
    connection: Connection, *, application_id: ApplicationId, state: SubmissionState, rejection: str, now_ms: int
) -> None:
    """Move an sql.INTENDED record to SUBMITTED or REJECTED."""
    is_rejected = state is SubmissionState.REJECTED
    values = {
        "new_state": state.value,
        "new_rejection": rejection,
        "new_finished_at_ms": now_ms if is_rejected else None,
    }
    if connection.execute(sql.SETTLE, {**_key(application_id), **values}).rowcount:
        return
    stands = connection.execute(sql.STATE, _key(application_id)).scalar_one_or_none()
    if stands != state.value:
        raise VersionConflictError(f"{application_id} cannot become {state.value}: it is {stands or 'unknown'}")


def note_taken(connection: Connection, *, application_ids: Collection[ApplicationId]) -> None:
    """Move those that are sql.INTENDED to SUBMITTED."""
    if application_ids:
        # in one order everywhere: two Heddles that lock rows crosswise would wait for each other
        connection.execute(sql.NOTE_TAKEN, [_key(each) for each in sorted(application_ids)])


def rehome(connection: Connection, *, record: SubmissionRecord, was: SubmissionProgress) -> None:
    """Write a new intent over a record that stands as it was."""
    new = rows.row_of_record(record)
    names = ("home_subcluster", "home_started_on_ms", "intended_at_ms", "intent_id", "decision", "waited")
    if connection.execute(sql.REHOME, {**rows.row_of_progress(was), **{f"new_{n}": new[n] for n in names}}).rowcount:
        return
    stands = find(connection, application_id=was.application_id)
    if stands is None or stands.progress != record.progress:
        raise VersionConflictError(f"{was.application_id} was settled or re-homed by another writer first")


def reject(connection: Connection, *, was: SubmissionProgress, reason: str, now_ms: int) -> None:
    """Move a record that stands as it was to REJECTED, and drop its context."""
    values = {"new_rejection": reason, "new_finished_at_ms": now_ms}
    if connection.execute(sql.REJECT, {**rows.row_of_progress(was), **values}).rowcount:
        return
    stands = find(connection, application_id=was.application_id)
    if stands is None or (stands.state, stands.rejection) != (SubmissionState.REJECTED, reason):
        raise VersionConflictError(f"{was.application_id} was settled or re-homed by another writer first")


def waited(connection: Connection) -> dict[ApplicationId, int]:
    """Submit times of those that waited and have started, oldest first."""
    found = connection.execute(sql.WAITED).mappings().all()
    return dict(rows.readable(reversed(found), lambda row: (rows.id_of_row(row), int(row["waited"]["since_ms"]))))


def confirm(
    connection: Connection, *, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
) -> None:
    """Write the life of the home that knows these SUBMITTED applications."""
    for chunk in _chunks(application_ids):
        mine = and_(
            chunk,
            _C.state == SubmissionState.SUBMITTED.value,
            _C.home_subcluster == subcluster,
            _C.finished_at_ms.is_(None),
        )
        connection.execute(update(submissions).where(mine).values(home_started_on_ms=started_on_ms))


def find(connection: Connection, *, application_id: ApplicationId) -> SubmissionRecord | None:
    row = connection.execute(sql.FIND, _key(application_id)).mappings().first()
    return None if row is None else rows.read(row, rows.record_of_row)


def described(connection: Connection, *, application_ids: Collection[ApplicationId]) -> dict[ApplicationId, Submission]:
    """Submissions under ids, without the bodies."""
    return {
        each.application_id: each
        for chunk in _chunks(application_ids)
        for each in rows.readable(
            connection.execute(sql.DESCRIBED.where(chunk)).mappings(),
            lambda row: rows.submission_of_row({**row, "body": b""}),
        )
    }


def intended(connection: Connection) -> Sequence[SubmissionRecord]:
    return rows.readable(connection.execute(sql.INTENDED).mappings(), rows.record_of_row)


def unfinished(connection: Connection, *, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
    """Standings of a home's submissions that somebody still has to look after."""
    return rows.readable(connection.execute(sql.UNFINISHED, {"home": subcluster}).mappings(), rows.progress_of_row)


def waiting(connection: Connection) -> Sequence[SubmissionProgress]:
    return rows.readable(connection.execute(sql.WAITING).mappings(), rows.progress_of_row)


def withdraw(connection: Connection, *, application_id: ApplicationId, reason: str, now_ms: int) -> None:
    """Move a sql.WAITING record to KILLED and drop its context."""
    values = {"new_rejection": reason, "new_finished_at_ms": now_ms}
    if connection.execute(sql.WITHDRAW, {**_key(application_id), **values}).rowcount:
        return
    stands = connection.execute(sql.STATE, _key(application_id)).scalar_one_or_none()
    if stands != SubmissionState.KILLED.value:
        raise VersionConflictError(f"{application_id} waits no more: it is {stands or 'unknown'}")


def give_up(connection: Connection, *, progress: SubmissionProgress, reason: str, now_ms: int) -> None:
    """Move a SUBMITTED record of this home that was not seen final to LOST, and drop its context."""
    key = _key(progress.application_id)
    values = {"home": progress.home_subcluster, "new_rejection": reason, "new_finished_at_ms": now_ms}
    if connection.execute(sql.GIVE_UP, {**key, **values}).rowcount:
        return
    stands = connection.execute(sql.STATE, key).scalar_one_or_none()
    if stands != SubmissionState.LOST.value:
        raise VersionConflictError(f"{progress.application_id} cannot be given up: it is {stands or 'unknown'}")


def mark_final(connection: Connection, *, application_ids: Collection[ApplicationId], now_ms: int) -> None:
    """Close SUBMITTED records and drop their contexts, which may hold tokens."""
    for chunk in _chunks(application_ids):
        closing = and_(chunk, _C.state == SubmissionState.SUBMITTED.value, _C.finished_at_ms.is_(None))
        connection.execute(update(submissions).where(closing).values(finished_at_ms=now_ms, body=b""))


def purge(connection: Connection, *, final_before_ms: int, keep: int) -> int:
    """Delete old final records by age and by count."""
    # The moment of the first record beyond the newest `keep`: ties go together, so fewer may stay, never more.
    beyond = select(_C.finished_at_ms).where(_C.finished_at_ms.is_not(None)).order_by(_C.finished_at_ms.desc())
    limit_ms = connection.execute(beyond.offset(keep).limit(1)).scalar_one_or_none()
    too_old = _C.finished_at_ms < final_before_ms
    too_many = _C.finished_at_ms <= (limit_ms if limit_ms is not None else -1)
    return connection.execute(delete(submissions).where(or_(too_old, too_many))).rowcount


def set_admission(
    connection: Connection, *, subcluster: SubClusterId, admission: Admission, said_by: str, now_ms: int, reason: str
) -> None:
    """Keep a word; OPEN is kept by forgetting the last one."""
    if admission is Admission.OPEN:
        connection.execute(delete(admissions).where(admissions.c.subcluster == subcluster))
        return
    word = {"admission": admission.value, "said_by": said_by, "said_at_ms": now_ms, "reason": reason or None}
    insert = sql.DIALECT_INSERT[connection.dialect.name](admissions).values(subcluster=subcluster, **word)
    connection.execute(insert.on_conflict_do_update(index_elements=["subcluster"], set_=word))


def list_admissions(connection: Connection) -> dict[SubClusterId, Admission]:
    found = connection.execute(select(admissions.c.subcluster, admissions.c.admission))
    return {SubClusterId(subcluster): _admission(admission) for subcluster, admission in found}


def _admission(word: str) -> Admission:
    """A kept word; of one that no Heddle of this version says it is safe to believe that nothing new goes there."""
    return Admission(word) if word in {each.value for each in Admission} else Admission.CORDONED


def list_admission_words(connection: Connection) -> dict[SubClusterId, AdmissionWord]:
    return {
        SubClusterId(row.subcluster): AdmissionWord(
            _admission(row.admission), row.said_by, row.said_at_ms, row.reason or ""
        )
        for row in connection.execute(select(admissions))
    }


def _key(application_id: ApplicationId) -> dict[str, int]:
    return {"key_timestamp": application_id.cluster_timestamp, "key_sequence": application_id.sequence}


def _chunks(application_ids: Collection[ApplicationId]) -> list[ColumnElement[bool]]:
    """Conditions that are true for these ids, few enough parameters in each."""
    pairs = [(an_id.cluster_timestamp, an_id.sequence) for an_id in application_ids]
    starts = range(0, len(pairs), _BATCH)
    return [tuple_(_C.cluster_timestamp, _C.sequence).in_(pairs[start : start + _BATCH]) for start in starts]


# Operations of the store on submissions that fail; see `shim.store.operations`.

_FAILURE = delivery_failures.c
_OF_ONE = (_FAILURE.cluster_timestamp == bindparam("key_timestamp"), _FAILURE.sequence == bindparam("key_sequence"))
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
    found: list[DeliveryFailure] = []
    for start in range(0, len(application_ids), _BATCH):
        pairs = [(each.cluster_timestamp, each.sequence) for each in application_ids[start : start + _BATCH]]
        rows = connection.execute(
            select(delivery_failures).where(tuple_(_FAILURE.cluster_timestamp, _FAILURE.sequence).in_(pairs))
        )
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
    # in one order everywhere, as in `operations.note_taken`
    keys = [
        {"key_timestamp": each.cluster_timestamp, "key_sequence": each.sequence} for each in sorted(application_ids)
    ]
    if keys:
        connection.execute(_DELETE, keys)
