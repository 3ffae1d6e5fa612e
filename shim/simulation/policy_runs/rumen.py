"""Jobs of Rumen traces (`org.apache.hadoop.tools.rumen.LoggedJob`), as the input of SLS has them."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["sls_document"]

_PHASES = (("map", "mapTasks", "jobMapMB"), ("reduce", "reduceTasks", "jobReduceMB"))


def sls_document(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn a job of a Rumen trace into one of SLS; any other document is returned as it is.

    A task takes what its last attempt took, as in `RumenToSLSConverter`; tasks without times are left out. The time of
    a reduce has the part in it that it waited for maps.
    """
    if "jobID" not in job:
        return job
    return {
        "job.id": job["jobID"],
        "job.start.ms": job["submitTime"],
        "job.end.ms": job["finishTime"],
        "job.queue.name": job.get("queue") or "default",
        "job.user": job.get("user") or "user",
        "job.tasks": list(_tasks(job)),
    }


def _tasks(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind, listed, memory in _PHASES:
        amount = {"container.memory": job[memory]} if job.get(memory, -1) > 0 else {}
        for task in job.get(listed) or ():
            last = (task.get("attempts") or [task])[-1]
            start_ms, end_ms = last.get("startTime", -1), last.get("finishTime", -1)
            if start_ms > 0 and end_ms > 0:
                host = {"container.host": last["hostName"]} if last.get("hostName") else {}
                times = {"container.start.ms": start_ms, "container.end.ms": end_ms}
                yield {**times, "container.type": kind, **amount, **host}
