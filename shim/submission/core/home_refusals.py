"""Refusals of applications that no sub-cluster can ever run: who says so, and in which words.

A ResourceManager that would refuse it itself is asked: of several, the one that grants the largest containers, so that
its words name the largest that can be had. What ResourceManagers would take and never start, or let fail, is refused
here in the words that they have for it.
"""

from collections.abc import Sequence
from dataclasses import replace

from shim.domain.resources import ResourceVector
from shim.domain.submissions import Candidate, HomeDecision, Refusal, Submission
from shim.federation.core.grants import amounts_of, grant_of
from shim.submission.core.home_rules import HomeReason, Question, Voice, as_called_there

_EXCEPTIONS = "org.apache.hadoop.yarn.exceptions"
_REFUSED_IT = "refused it for its size: "
_LONGEST_REASON = 500
INVALID_RESOURCE = f"{_EXCEPTIONS}.InvalidResourceRequestException"


def refusal_of(
    decision: HomeDecision,
    submission: Submission,
    queue_name: str,
    against: Sequence[tuple[Question, HomeReason | None]],
) -> HomeDecision:
    """A decision that there will never be a home, with who says so to the client.

    Args:
        against: Each sub-cluster, and the reason against it.
    """
    voices = {reason.voice for _, reason in against if reason is not None}
    up_to = next((as_called_there(question)[0] for question, _ in against), ResourceVector())
    grants = {question.subcluster.subcluster: _grant(question) for question, _ in against}
    if Voice.TOO_LARGE in voices:
        asked = submission.resource
        needed = _larger(asked, up_to)
        largest = max(grants.values(), key=lambda grant: _part(grant, needed), default=ResourceVector())
        return replace(decision, refusal=_too_large(decision, needed, queue_name, largest))
    speakers = [
        question.subcluster.subcluster
        for question, reason in against
        if reason is not None and reason.voice is Voice.HOME
    ]
    if speakers:
        return replace(decision, refuser=max(speakers, key=lambda name: _part(grants[name], submission.resource)))
    if voices == {Voice.NO_QUEUE} and submission.queue:
        return replace(decision, refusal=_no_queue(decision, submission))
    return decision


def _larger(one: ResourceVector, other: ResourceVector) -> ResourceVector:
    others = {name: max(one.others.get(name, 0), other.others.get(name, 0)) for name in {**one.others, **other.others}}
    return ResourceVector(max(one.memory_mib, other.memory_mib), max(one.vcores, other.vcores), others)


def refused_for_size(refusal: Refusal) -> str:
    """The reason against a home that has refused an application for its size; it stays in the record."""
    return f"{_REFUSED_IT}{refusal.message or refusal.text}"[:_LONGEST_REASON]


def was_refused_for_size(candidate: Candidate) -> bool:
    """True if that sub-cluster has refused the application for its size: it is tried elsewhere once."""
    return candidate.reason.startswith(_REFUSED_IT)


def _grant(question: Question) -> ResourceVector:
    if question.queue is None:
        return ResourceVector()
    return grant_of(question.subcluster, question.queue, question.label)


def _part(grant: ResourceVector, needed: ResourceVector) -> float:
    granted = amounts_of(grant)
    return min(
        (granted.get(name, 0) / amount for name, amount in amounts_of(needed).items() if amount > 0), default=0.0
    )


def _too_large(decision: HomeDecision, needed: ResourceVector, queue_name: str, largest: ResourceVector) -> Refusal:
    granted = amounts_of(largest)
    over = next(
        (name for name, amount in amounts_of(needed).items() if amount > granted.get(name, amount)), "memory-mb"
    )
    each = "; ".join(f"{candidate.subcluster}: {candidate.reason}" for candidate in decision.candidates)
    message = (
        "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed "
        f"allocation. Requested resource type=[{over}], Requested resource={_written(needed)}, "
        f"maximum allowed allocation={_written(largest)}, please note that this is the largest container that queue "
        f"{queue_name} can get in any cluster ({each})"
    )
    return Refusal(INVALID_RESOURCE, message)


def _no_queue(decision: HomeDecision, submission: Submission) -> Refusal:
    each = "; ".join(f"{candidate.subcluster}: {candidate.reason}" for candidate in decision.candidates)
    message = (
        f"Application {submission.application_id} submitted by user {submission.user} to unknown queue: "
        f"{submission.queue} ({each})"
    )
    return Refusal(f"{_EXCEPTIONS}.YarnException", message)


def _written(resource: ResourceVector) -> str:
    others = "".join(f", {name}: {amount}" for name, amount in resource.others.items())
    return f"<memory:{resource.memory_mib}, vCores:{resource.vcores}{others}>"
