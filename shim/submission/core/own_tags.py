"""Tags of submissions that mean something to Heddle."""

from collections.abc import Iterable

from shim.domain.applications import SPAN_TAG
from shim.domain.gangs import gang_of
from shim.domain.resources import ResourceVector
from shim.domain.wishes import deadline_of, wishes_of
from shim.errors import BadRequestError

_UP_TO = "heddle-containers-up-to="
_DIGITS = 12
_MEMORY, _VCORES = "memory-mb", "vcores"


def check_tags(tags: Iterable[str]) -> None:
    """Refuse tags that nobody may use, and those that say nothing.

    Raises:
        BadRequestError: One is Heddle's own, or names a deadline, a gang, a wish or a size and is none.
    """
    told = tuple(tags)
    if SPAN_TAG in {tag.lower() for tag in told}:  # else it would be listed nowhere
        raise BadRequestError(f"the tag {SPAN_TAG} is Heddle's own: it marks what stands for another application")
    deadline_of(told)
    gang_of(told)
    wishes_of(told)
    containers_up_to(told)


def containers_up_to(tags: Iterable[str]) -> ResourceVector:
    """The largest containers that an application says it will ask for, type by type; empty if it says nothing.

    A tag is memory in MiB, or a resource type with an amount: `yarn.io/gpu:1`, `vcores:4`.

    Raises:
        BadRequestError: It is no such number.
    """
    amounts: dict[str, int] = {}
    for tag in tags:
        if not tag.lower().startswith(_UP_TO):
            continue
        name, _, text = tag[len(_UP_TO) :].rpartition(":")
        if not (text.isascii() and text.isdigit() and 0 < len(text) < _DIGITS):
            raise BadRequestError(
                f"the tag {tag[: len(_UP_TO) + 40]} is no size: write MiB, as {_UP_TO}4096, or another resource type "
                f"with its amount, as {_UP_TO}yarn.io/gpu:1"
            )
        kind = name.lower() or _MEMORY
        amounts[kind] = max(amounts.get(kind, 0), int(text))
    return ResourceVector(amounts.pop(_MEMORY, 0), amounts.pop(_VCORES, 0), amounts)
