"""Tags of submissions that mean something to Heddle."""

from collections.abc import Iterable

from shim.domain.applications import SPAN_TAG
from shim.domain.deadlines import deadline_of
from shim.domain.gangs import gang_of
from shim.errors import BadRequestError

__all__ = ["check_tags", "containers_up_to"]

_UP_TO = "heddle-containers-up-to="
_DIGITS = 12


def check_tags(tags: Iterable[str]) -> None:
    """Refuse tags that nobody may use, and those that say nothing.

    Raises:
        BadRequestError: One is Heddle's own, or names a deadline, a gang or a size and is none.
    """
    told = tuple(tags)
    if SPAN_TAG in {tag.lower() for tag in told}:  # else it would be listed nowhere
        raise BadRequestError(f"the tag {SPAN_TAG} is Heddle's own: it marks what stands for another application")
    deadline_of(told)
    gang_of(told)
    containers_up_to(told)


def containers_up_to(tags: Iterable[str]) -> int:
    """Memory in MiB of the largest containers that an application says it will ask for; 0 if it says nothing.

    Raises:
        BadRequestError: It is no such number.
    """
    said = [tag[len(_UP_TO) :] for tag in tags if tag.lower().startswith(_UP_TO)]
    if any(not (text.isascii() and text.isdigit() and 0 < len(text) < _DIGITS) for text in said):
        raise BadRequestError(f"the tag {_UP_TO}{said[0][:40]} is no size: write MiB, as {_UP_TO}4096")
    return max(map(int, said), default=0)
