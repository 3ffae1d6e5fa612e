"""Readers of histories: what ResourceManagers tell of ended applications, inputs of SLS, and `.tr` traces.

Source of the first: `/ws/v1/cluster/apps` (`org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppInfo`).
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shim.config.text_files import text_of
from shim.domain.ids import ApplicationId, MalformedIdError
from shim.domain.resources import ResourceVector
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError
from shim.simulation.cluster.jobs import ModelledStage
from shim.simulation.policy_runs.histories import MOST_BYTES, json_documents, sls_job
from shim.simulation.policy_runs.jobs import PolicyJob
from shim.simulation.policy_runs.rumen import sls_document
from shim.simulation.traces import LONGEST_S, read_trace
from shim.simulation.what_if.past_jobs import PastJob, RecordedHistory

__all__ = ["history_of_file", "history_of_text"]

_QUEUE = re.compile(r"(?!root\.?\Z)[^\s.]{1,128}(\.[^\s.]{1,128}){0,15}")
_ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
_SPAN_S = 6 * 86_400.0
_MOST_AMOUNT = 1e18
_MIB = 1024
_AMOUNTS = (
    "an application is one stage of equal containers of one vcore, that have the work that is told of it",
    "the size of an ApplicationMaster is that of its containers",
)
_TASKS = "containers take as long as they once took, wherever they are; stages wait for all of the one before"
_TRACED = (_TASKS, f"each task is a container of {_MIB} MiB and one vcore, all in queue root.default, of one user")


def history_of_file(file: Path, most_jobs: int) -> RecordedHistory:
    """Read a history; `*.tr` is a trace, anything else JSON.

    Raises:
        BadRequestError: If it cannot be read, is too large, or has no application.
    """
    if file.suffix == ".tr":
        jobs = read_trace(file, first_jobs=most_jobs).jobs
        past = [
            PastJob(f"job-{job.index}", "root.default", "user", job.arrival_s, (ModelledStage(job.durations_s),))
            for job in jobs
        ]
        return RecordedHistory(_from_first(past, str(file)), _TRACED)
    try:
        text = text_of(file, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the history {file} cannot be read: {error}") from error
    return history_of_text(text, str(file), most_jobs)


def history_of_text(text_untrusted: str, source: str, most_jobs: int) -> RecordedHistory:
    """Read JSON: a list of applications as ResourceManagers give it, or an input of SLS.

    Args:
        text_untrusted: At most 64 MiB.
        source: What messages call it.
        most_jobs: Only the first so many by their submission.

    Raises:
        BadRequestError: If it is neither, or has no application that ended.
    """
    if len(text_untrusted) > MOST_BYTES:
        raise BadRequestError(f"{source} has more than the {MOST_BYTES} bytes that a history may have")
    try:
        told = list(json_documents(text_untrusted))
        if len(told) == 1 and "apps" in told[0]:
            return _of_managers(told[0]["apps"], source, most_jobs)
        return _of_sls(told, source, most_jobs)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = "no list of applications (/ws/v1/cluster/apps) and no input of SLS or Rumen trace"
        raise BadRequestError(f"{source} is {what}: {type(error).__name__}: {str(error)[:200]}") from error


def _from_first(jobs: Sequence[PastJob], source: str) -> tuple[PastJob, ...]:
    """The same, with times that begin at the first submission.

    Raises:
        BadRequestError: If there are none, or they lie too far apart.
    """
    if not jobs:
        raise BadRequestError(f"{source} holds no application that was launched and has ended")
    ordered = sorted(jobs, key=lambda job: job.arrival_s)
    first_s, last_s = ordered[0].arrival_s, ordered[-1].arrival_s
    if last_s - first_s > _SPAN_S:
        days = (last_s - first_s) / 86_400.0
        raise BadRequestError(f"{source} spans {days:.1f} days, a replay at most {_SPAN_S / 86_400.0:g}: --jobs fewer")
    return tuple(replace(job, arrival_s=job.arrival_s - first_s) for job in ordered)


# -- ResourceManagers ------------------------------------------------------------------------------------------------


def _of_managers(told: Any, source: str, most_jobs: int) -> RecordedHistory:
    left_out: Counter[str] = Counter()
    found: dict[str, PastJob] = {}
    for row in (told or {}).get("app") or ():
        name = _id_of(row)
        why = _objection(row)
        if why:
            left_out[why] += 1
        else:
            found[name] = _past_job(name, row)
    jobs = sorted(found.values(), key=lambda job: (job.arrival_s, job.name))
    return RecordedHistory(_from_first(jobs[:most_jobs], source), _AMOUNTS, tuple(sorted(left_out.items())))


def _id_of(row: Mapping[str, Any]) -> str:
    try:
        return str(ApplicationId.parse(row["id"]))
    except MalformedIdError as error:
        raise ValueError(str(error)) from error


def _objection(row: Mapping[str, Any]) -> str:
    """Reason why an application cannot be replayed; empty if it can."""
    if row["state"] not in _ENDED:
        return "not ended"
    if row.get("unmanagedApplication"):
        return "unmanaged: a part of another one"
    return "" if row.get("launchTime", 1) and row["memorySeconds"] else "never launched"


def _past_job(name: str, row: Mapping[str, Any]) -> PastJob:
    submitted_s, ended_s = _time_s(row, "startedTime"), _time_s(row, "finishedTime")
    launched_s = _time_s(row, "launchTime") if "launchTime" in row else None
    begun_s = submitted_s if launched_s is None else launched_s
    if not submitted_s <= begun_s <= ended_s:
        raise ValueError(f"{name} was not submitted, launched and ended in this order")
    queue = row["queue"]
    if not isinstance(queue, str) or _QUEUE.fullmatch(queue) is None:
        raise ValueError(f"{name} has no queue that can be: {str(queue)[:80]!r}")
    try:
        user = canonical_user(str(row["user"]))
    except MalformedUserNameError as error:
        raise ValueError(f"{name}: {error}") from error
    return PastJob(
        name=name,
        queue=queue,
        user=user,
        arrival_s=submitted_s,
        run_s=ended_s - begun_s,
        mib_s=_amount(row, "memorySeconds"),
        vcore_s=_amount(row, "vcoreSeconds"),
        waited_s=None if launched_s is None else begun_s - submitted_s,
        took_s=ended_s - submitted_s,
    )


def _time_s(row: Mapping[str, Any], key: str) -> float:
    """Seconds since 1970."""
    value_s = float(row[key]) / 1000.0
    if not 0.0 <= value_s <= LONGEST_S:  # so it is not for NaN
        raise ValueError(f"{row['id']} has {key} {row[key]!r}")
    return value_s


def _amount(row: Mapping[str, Any], key: str) -> float:
    value = float(row[key])
    if not 0.0 <= value <= _MOST_AMOUNT:
        raise ValueError(f"{row['id']} has {key} {row[key]!r}")
    return value


# -- SLS -------------------------------------------------------------------------------------------------------------


def _of_sls(told: Sequence[Mapping[str, Any]], source: str, most_jobs: int) -> RecordedHistory:
    jobs = [_sls_past_job(number, sls_document(job)) for number, job in enumerate(told)]
    jobs.sort(key=lambda job: job.arrival_s)
    return RecordedHistory(_from_first(jobs[:most_jobs], source), (_TASKS,))


def _sls_past_job(number: int, job: Mapping[str, Any]) -> PastJob:
    read = sls_job(job, {})
    ended = job.get("job.end.ms")
    took_s = None if ended is None else float(ended) / 1000.0 - read.arrival_s
    if took_s is not None and not 0.0 <= took_s <= LONGEST_S:
        raise ValueError(f"job {number} ends before it starts, or too late")
    queue, user = str(job.get("job.queue.name", "default")), str(job.get("job.user", "user"))
    if _QUEUE.fullmatch(queue) is None:
        raise ValueError(f"job {number} has no queue that can be: {json.dumps(queue)[:80]}")
    return PastJob(f"job-{number}", queue, canonical_user(user), read.arrival_s, _stages(read), took_s=took_s)


def _stages(job: PolicyJob) -> tuple[ModelledStage, ...]:
    """Stages of a job; places are of nodes that are modelled otherwise, so they are not taken."""
    return tuple(
        ModelledStage(stage.durations_s, stage.parents, ResourceVector(stage.demand[0], stage.demand[1]))
        for stage in job.stages
    )
