"""Between domain values and rows. JSON holds only plain values; nothing is pickled."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import msgspec
import structlog

from shim.domain.access_lists import NO_ACLS, ApplicationACLs
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import HomeVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.domain.submissions import (
    Candidate,
    HomeDecision,
    Submission,
    SubmissionProgress,
    SubmissionRecord,
    SubmissionState,
    Waited,
)
from shim.errors import StoreUnavailableError

Row = Mapping[Any, Any]
T = TypeVar("T")
_R = TypeVar("_R")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, StoreUnavailableError)
_SAID = 300
"""Characters of an error that are told."""
_log = structlog.get_logger("heddle.store")


def readable(found: Iterable[_R], make: Callable[[_R], T]) -> list[T]:
    """What rows tell, but for those that no Heddle wrote: one of them hides none of the others, and is told."""
    made: list[T] = []
    for row in found:
        try:
            made.append(make(row))
        except _UNREADABLE as exc:
            _log.error("a row of the store cannot be read, and is left out", row=_named(row), reason=str(exc)[:_SAID])
    return made


def read(row: Row, make: Callable[[Row], T]) -> T:
    """What a row tells.

    Raises:
        StoreUnavailableError: No Heddle wrote it: nothing is concluded from it.
    """
    try:
        return make(row)
    except _UNREADABLE as exc:
        raise StoreUnavailableError(f"the row of {_named(row)} in the store cannot be read: {exc}"[:_SAID]) from exc


def _named(row: Any) -> str:
    try:
        return str(id_of_row(getattr(row, "_mapping", row)))
    except _UNREADABLE:
        return "unknown"


def row_of_record(record: SubmissionRecord) -> dict[str, Any]:
    """Every column of `submissions` but `finished_at_ms`, which the store's own steps write."""
    submission = record.submission
    return {
        "cluster_timestamp": submission.application_id.cluster_timestamp,
        "sequence": submission.application_id.sequence,
        "user_name": submission.user,
        "name": storable(submission.name),
        "queue": storable(submission.queue),
        "resource": _resource_to_json(submission.resource),
        "label": storable(submission.label),
        "is_unmanaged": submission.is_unmanaged,
        "application_type": storable(submission.application_type),
        "tags": [storable(tag) for tag in submission.tags],
        "body": submission.body,
        "content_type": submission.content_type,
        "content_hash": record.content_hash,
        "home_subcluster": record.home_subcluster,
        "home_started_on_ms": record.home_started_on_ms,
        "state": record.state.value,
        "intended_at_ms": record.intended_at_ms,
        "intent_id": record.intent_id,
        "decision": _decision_to_json(record.decision),
        "rejection": record.rejection,
        "waited": None if record.waited is None else asdict(record.waited),
        "acls": _acls_to_json(submission.acls),
    }


def record_of_row(row: Row) -> SubmissionRecord:
    return SubmissionRecord(
        submission=submission_of_row(row),
        content_hash=row["content_hash"],
        home_subcluster=SubClusterId(row["home_subcluster"]),
        home_started_on_ms=row["home_started_on_ms"],
        state=SubmissionState(row["state"]),
        intended_at_ms=row["intended_at_ms"],
        decision=_decision_of_json(row["decision"]),
        rejection=row["rejection"],
        intent_id=row["intent_id"],
        waited=None if row["waited"] is None else msgspec.convert(row["waited"], Waited),
    )


def submission_of_row(row: Row) -> Submission:
    return Submission(
        application_id=id_of_row(row),
        user=row["user_name"],
        name=row["name"],
        queue=row["queue"],
        resource=_resource_of_json(row["resource"]),
        label=row["label"],
        is_unmanaged=row["is_unmanaged"],
        body=row["body"],
        content_type=row["content_type"],
        application_type=row["application_type"],
        tags=msgspec.convert(row["tags"], tuple[str, ...]),
        acls=NO_ACLS if row["acls"] is None else msgspec.convert(row["acls"], ApplicationACLs),
    )


def row_of_progress(progress: SubmissionProgress) -> dict[str, Any]:
    """The columns that name a standing, each prefixed with `was_`, as the statements' parameters are called."""
    return {
        "was_cluster_timestamp": progress.application_id.cluster_timestamp,
        "was_sequence": progress.application_id.sequence,
        "was_state": progress.state.value,
        "was_home_subcluster": progress.home_subcluster,
        "was_home_started_on_ms": progress.home_started_on_ms,
        "was_intended_at_ms": progress.intended_at_ms,
        "was_intent_id": progress.intent_id,
    }


def progress_of_row(row: Row) -> SubmissionProgress:
    """The standing of a row that has at least its columns."""
    return SubmissionProgress(
        application_id=id_of_row(row),
        state=SubmissionState(row["state"]),
        home_subcluster=SubClusterId(row["home_subcluster"]),
        home_started_on_ms=row["home_started_on_ms"],
        intended_at_ms=row["intended_at_ms"],
        intent_id=row["intent_id"],
    )


def id_of_row(row: Row) -> ApplicationId:
    return ApplicationId(row["cluster_timestamp"], row["sequence"])


def storable(text: str) -> str:
    """A text of a client without what databases refuse: NUL and halves of surrogate pairs. The body stays as it is."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _acls_to_json(acls: ApplicationACLs) -> dict[str, str] | None:
    return None if acls == NO_ACLS else {"view": storable(acls.view), "modify": storable(acls.modify)}


def _resource_to_json(resource: ResourceVector) -> dict[str, Any]:
    return {"memory_mib": resource.memory_mib, "vcores": resource.vcores, "others": dict(resource.others)}


def _resource_of_json(value: Mapping[str, Any]) -> ResourceVector:
    return msgspec.convert(value, ResourceVector)


def _decision_to_json(decision: HomeDecision) -> dict[str, Any]:
    return {
        "home": decision.home_subcluster,
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        **({"is_left": True} if decision.is_left else {}),
        "candidates": [
            {
                "subcluster": candidate.subcluster,
                "score": candidate.score,
                "reason": candidate.reason,
                # JSON has no infinity, which is the age of what never reported.
                "age_s": candidate.age_s if math.isfinite(candidate.age_s) else None,
            }
            for candidate in decision.candidates
        ],
        "verdicts": [
            {
                "subcluster": verdict.subcluster,
                "verdict": verdict.verdict.value,
                "reason": verdict.reason,
                "score": verdict.score,
                "age_s": verdict.age_s,
            }
            for verdict in decision.verdicts
        ],
    }


def _decision_of_json(value: Mapping[str, Any]) -> HomeDecision:
    candidates = (
        Candidate(
            subcluster=SubClusterId(candidate["subcluster"]),
            score=candidate["score"],
            reason=candidate["reason"],
            age_s=math.inf if candidate["age_s"] is None else candidate["age_s"],
        )
        for candidate in value["candidates"]
    )
    verdicts = (
        HomeVerdict(
            subcluster=SubClusterId(verdict["subcluster"]),
            verdict=Verdict(verdict["verdict"]),
            reason=verdict["reason"],
            score=verdict["score"],
            age_s=verdict["age_s"],
        )
        for verdict in value.get("verdicts", ())  # records of the first versions have none
    )
    home = None if value["home"] is None else SubClusterId(value["home"])
    return HomeDecision(
        home,
        value["reason"],
        tuple(candidates),
        verdicts=tuple(verdicts),
        decided_by=value.get("decided_by", ""),
        is_left=bool(value.get("is_left", False)),
    )
