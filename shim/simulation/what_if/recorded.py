"""Readers of histories: what ResourceManagers tell of ended applications, inputs of SLS, and `.tr` traces.

Source of the first: `/ws/v1/cluster/apps` (`org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppInfo`).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shim.config.text_files import text_of
from shim.domain.ids import ApplicationId, MalformedIdError
from shim.domain.resources import ResourceVector
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError, reason_of
from shim.simulation.cluster.jobs import ModelledStage
from shim.simulation.policy_runs.jobs import PolicyJob
from shim.simulation.policy_runs.sls import MOST_BYTES, SLSJob, json_documents, policy_job, read_sls
from shim.simulation.traces import LONGEST_S, read_trace
from shim.simulation.what_if.past_jobs import PastJob, RecordedHistory

_QUEUE = re.compile(r"(?!root\.?\Z)[^\s.]{1,128}(\.[^\s.]{1,128}){0,15}")
_ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
_LIVE = frozenset({"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"})
_SPAN_S = 6 * 86_400.0
_HADOOP_BEGAN_S = 1_138_752_000.0
"""February 2006: an earlier time is one that a ResourceManager did not know."""
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
        raise BadRequestError(f"the history {file} cannot be read: {reason_of(error)}") from error
    return history_of_text(text, str(file), most_jobs)


def history_of_text(text_untrusted: str, source: str, most_jobs: int) -> RecordedHistory:
    """Read JSON: a list of applications as ResourceManagers give it, or an input of SLS.

    Args:
        text_untrusted: At most 64 MiB.

    Raises:
        BadRequestError: If it is neither, or has no application that ended.
    """
    if len(text_untrusted) > MOST_BYTES:
        raise BadRequestError(f"{source} has more than the {MOST_BYTES} bytes that a history may have")
    try:
        told = list(json_documents(text_untrusted))
        if len(told) == 1 and isinstance(told[0], Mapping) and "apps" in told[0]:
            return _of_managers(told[0]["apps"], source, most_jobs)
        return _of_sls(told, source, most_jobs)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = "no list of applications (/ws/v1/cluster/apps) and no input of SLS or Rumen trace"
        said = "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise BadRequestError(f"{source} is {what}: {said}") from error


def _from_first(
    jobs: Sequence[PastJob], source: str, left_out: Mapping[str, int] = MappingProxyType({})
) -> tuple[PastJob, ...]:
    """The same, with times that begin at the first submission.

    Raises:
        BadRequestError: If there are none, or they lie too far apart.
    """
    if not jobs:
        reasons = "; ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
        hint = f": {reasons}" if reasons else ""
        raise BadRequestError(f"{source} holds no application that was launched and has ended{hint}")
    ordered = sorted(jobs, key=lambda job: job.arrival_s)
    first_s, last_s = ordered[0].arrival_s, ordered[-1].arrival_s
    if last_s - first_s > _SPAN_S:
        days = (last_s - first_s) / 86_400.0
        raise BadRequestError(f"{source} spans {days:.1f} days, a replay at most {_SPAN_S / 86_400.0:g}: --jobs fewer")
    return tuple(replace(job, arrival_s=job.arrival_s - first_s) for job in ordered)


# -- ResourceManagers ------------------------------------------------------------------------------------------------


def _of_managers(told: Any, source: str, most_jobs: int) -> RecordedHistory:
    """Applications of a list; one that is odd costs itself, and is counted by what is odd."""
    left_out: Counter[str] = Counter()
    found: dict[str, PastJob] = {}
    rows = (told or {}).get("app") or ()
    for row in [rows] if isinstance(rows, Mapping) else rows:  # Jersey writes a list of one as that one
        try:
            job = _past_job(row)
        except _OddRowError as odd:
            left_out[str(odd)] += 1
        else:
            found[job.name] = job
    jobs = sorted(found.values(), key=lambda job: (job.arrival_s, job.name))
    return RecordedHistory(_from_first(jobs[:most_jobs], source, left_out), _AMOUNTS, tuple(sorted(left_out.items())))


class _OddRowError(Exception):
    """An application cannot be replayed, for this reason."""


def _past_job(row: Any) -> PastJob:
    """An application as it once ran.

    Raises:
        _OddRowError: It did not run to its end, or what is told of it cannot be.
    """
    if not isinstance(row, Mapping):
        raise _OddRowError("no application")
    if row.get("state") not in _ENDED:
        raise _OddRowError("not ended" if row.get("state") in _LIVE else "a state that is not known")
    if row.get("unmanagedApplication"):
        raise _OddRowError("unmanaged: a part of another one")
    if not row.get("launchTime", 1) or not row.get("memorySeconds", 1):
        raise _OddRowError("never launched")
    submitted_s, ended_s = _time_s(row, "startedTime"), _time_s(row, "finishedTime")
    launched_s = max(submitted_s, _time_s(row, "launchTime")) if row.get("launchTime") is not None else None
    begun_s = submitted_s if launched_s is None else launched_s
    if begun_s > ended_s:
        raise _OddRowError("ended before it began")
    return PastJob(
        name=_id_of(row),
        queue=_queue_of(row),
        user=_user_of(row),
        arrival_s=submitted_s,
        run_s=ended_s - begun_s,
        mib_s=_amount(row, "memorySeconds"),
        vcore_s=_amount(row, "vcoreSeconds"),
        waited_s=None if launched_s is None else begun_s - submitted_s,
        took_s=ended_s - submitted_s,
    )


def _id_of(row: Mapping[str, Any]) -> str:
    try:
        return str(ApplicationId.parse(row.get("id")))  # type: ignore[arg-type]  # it may be anything
    except (MalformedIdError, TypeError, AttributeError):
        raise _OddRowError("no id of an application") from None


def _queue_of(row: Mapping[str, Any]) -> str:
    queue = row.get("queue")
    if not isinstance(queue, str) or _QUEUE.fullmatch(queue) is None:
        raise _OddRowError("no queue that can be")
    return queue


def _user_of(row: Mapping[str, Any]) -> str:
    user = row.get("user")
    try:
        return canonical_user(user if isinstance(user, str) else "")
    except MalformedUserNameError:
        raise _OddRowError("no user that can be") from None


def _time_s(row: Mapping[str, Any], key: str) -> float:
    """Seconds since 1970; 0 is what a ResourceManager writes where it does not know."""
    value_s = _number(row, key) / 1000.0
    if not _HADOOP_BEGAN_S <= value_s <= LONGEST_S:  # so it is not for NaN
        raise _OddRowError(f"no {key} that can be")
    return value_s


def _amount(row: Mapping[str, Any], key: str) -> float:
    value = _number(row, key)
    if not 0.0 <= value <= _MOST_AMOUNT:
        raise _OddRowError(f"no {key} that can be")
    return value


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    try:
        return float(value) if not isinstance(value, bool) else math.nan  # type: ignore[arg-type]  # it may be anything
    except (TypeError, ValueError, OverflowError):
        return math.nan


# -- SLS -------------------------------------------------------------------------------------------------------------


def _of_sls(told: Sequence[Any], source: str, most_jobs: int) -> RecordedHistory:
    jobs = [_sls_past_job(number, job) for number, job in enumerate(read_sls(told).jobs)]
    jobs.sort(key=lambda job: job.arrival_s)
    return RecordedHistory(_from_first(jobs[:most_jobs], source), (_TASKS,))


def _sls_past_job(number: int, job: SLSJob) -> PastJob:
    took_s = None if job.ended_s is None else job.ended_s - job.arrival_s
    if took_s is not None and took_s < 0.0:
        raise ValueError(f"job {job.name} ends before it starts")
    if _QUEUE.fullmatch(job.queue) is None:
        raise ValueError(f"job {job.name} has no queue that can be: {json.dumps(job.queue)[:80]}")
    stages, master = _stages(policy_job(job, {})), ResourceVector(*job.master)
    name, user = f"job-{number}", canonical_user(job.user)
    return PastJob(name, job.queue, user, job.arrival_s, stages, took_s=took_s, master=master)


def _stages(job: PolicyJob) -> tuple[ModelledStage, ...]:
    """Stages of a job; places are of nodes that are modelled otherwise, so they are not taken."""
    return tuple(
        ModelledStage(stage.durations_s, stage.parents, ResourceVector(stage.demand[0], stage.demand[1]))
        for stage in job.stages
    )
