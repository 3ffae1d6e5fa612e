"""Tags of submissions that mean something to Heddle."""

from collections.abc import Iterable

from shim.domain.applications import SPAN_TAG
from shim.domain.deadlines import deadline_of
from shim.domain.gangs import gang_of
from shim.errors import BadRequestError

__all__ = ["check_tags"]


def check_tags(tags: Iterable[str]) -> None:
    """Refuse tags that nobody may use, and those that say nothing.

    Raises:
        BadRequestError: One is Heddle's own, or names a deadline or a gang and is none.
    """
    told = tuple(tags)
    if SPAN_TAG in {tag.lower() for tag in told}:  # else it would be listed nowhere
        raise BadRequestError(f"the tag {SPAN_TAG} is Heddle's own: it marks what stands for another application")
    deadline_of(told)
    gang_of(told)
