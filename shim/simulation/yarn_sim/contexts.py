"""Submission contexts of modelled jobs, as clients of the REST API write them."""

import json

from shim.domain.deadlines import DEADLINE_TAG
from shim.domain.gangs import GANG_TAG
from shim.domain.ids import ApplicationId
from shim.simulation.cluster.jobs import ModelledJob

__all__ = ["submission_context"]


def _tags(job: ModelledJob) -> list[str]:
    deadline = [f"{DEADLINE_TAG}=+{job.deadline_s}s"] if job.deadline_s else []
    return [*job.tags, *deadline, *([f"{GANG_TAG}={job.gang}@{job.gang_s}s"] if job.gang else [])]


def submission_context(application_id: ApplicationId, job: ModelledJob) -> bytes:
    """A submission context as a REST client writes it."""
    context = {
        "application-id": str(application_id),
        "application-name": job.name,
        "queue": job.queue,
        "am-container-spec": {"commands": {"command": job.name}},
        "resource": {"memory": job.master.memory_mib, "vCores": job.master.vcores},
        "keep-containers-across-application-attempts": job.keeps_containers,
        "max-app-attempts": job.most_attempts,
        **({"application-tags": {"tag": tags}} if (tags := _tags(job)) else {}),
    }
    return json.dumps(context).encode()
