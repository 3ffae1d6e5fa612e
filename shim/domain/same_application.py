"""Comparison of the application that a cluster has under an id with the one that was submitted.

A ResourceManager takes every submission under a known id as a repetition, whatever it holds. So an id that two
applications share would let one of them be acknowledged and never run.
"""

from collections.abc import Iterable

from shim.domain.applications import ApplicationSummary
from shim.domain.deadlines import DEADLINE_TAG
from shim.domain.submissions import DEFAULT_TYPE, Submission, type_as_shown

__all__ = ["DISPUTED", "differences", "disputed_reason"]

DISPUTED = "Acknowledged and never run"
"""How the reason of a submission begins whose id belongs to another application."""

_DEFAULT_QUEUE = "default"


def differences(submission: Submission, seen: ApplicationSummary, *, with_queue: bool = False) -> tuple[str, ...]:
    """Differences that prove that `seen` is not the application of `submission`; empty if it may be the same.

    Only what never changes at a ResourceManager is proof: user, name, type and tags. A queue is none: placement rules
    and moves change it. The content of what runs cannot be asked for. What a submission leaves to its default is no
    proof either: records of older Heddles hold neither type nor tags of what came by Hadoop RPC.

    Args:
        submission: What was submitted; its body does not matter.
        seen: What the cluster lists under its id.
        with_queue: Whether the queue counts, too, where the submission names one that is not the default.
    """
    pairs = (
        ("user", submission.user, seen.user),
        ("name", _plain(submission.name), _plain(seen.name) if _plain(submission.name) else ""),
        ("type", *_types(submission.application_type, seen.application_type)),
        ("tags", _tags(submission.tags), _tags(_without_added(submission, seen)) if submission.tags else ""),
        ("queue", *(_leaves(submission.queue, seen.queue) if with_queue else ("", ""))),
    )
    return tuple(f"{what} {there!r} instead of {here!r}" for what, here, there in pairs if here != there)


def disputed_reason(seen: ApplicationSummary, found: tuple[str, ...]) -> str:
    """Message for the client of an acknowledged submission whose id belongs to another application."""
    return (
        f"{DISPUTED}: its id belongs to another application at sub-cluster {seen.home_subcluster} "
        f"({'; '.join(found)}). Submit it again under a new id."
    )


def _types(asked: str, there: str) -> tuple[str, str]:
    return ("", "") if asked in ("", DEFAULT_TYPE) else (type_as_shown(asked), type_as_shown(there))


def _tags(tags: Iterable[str]) -> str:
    return ",".join(sorted({tag.lower() for tag in tags}))


def _without_added(submission: Submission, seen: ApplicationSummary) -> Iterable[str]:
    """Tags of a cluster's application but for the deadline that Heddle adds where it runs in a reservation."""
    asked = {tag.lower() for tag in submission.tags}
    return (tag for tag in seen.tags if tag.lower() in asked or not tag.lower().startswith(f"{DEADLINE_TAG}="))


def _plain(name: str) -> str:
    """A name as far as it surely arrives unchanged: nothing if it holds anything but printable ASCII."""
    return name.strip() if name.isascii() and name.isprintable() else ""


def _leaves(asked: str, there: str) -> tuple[str, str]:
    """The last parts of two queues' names; nothing where the submission leaves the choice to the cluster."""
    leaf = asked.rpartition(".")[2]
    return ("", "") if leaf in ("", _DEFAULT_QUEUE) else (leaf, there.rpartition(".")[2])
