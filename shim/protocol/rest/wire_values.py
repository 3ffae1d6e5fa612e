"""Values inside a ResourceManager's documents, read across the versions of Hadoop (2.10 to 3.5).

Versions differ in form: lists that are empty are `null`, `{}`, `""` or missing; lists of one are the element itself;
numbers are quoted; a float may be the string "NaN". All of that is read alike.
"""

import math
from typing import TypeVar

import msgspec

from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError

__all__ = ["WireResource", "WireResources", "decode", "is_document", "number", "several", "vector"]

T = TypeVar("T")
_MEMORY_AND_VCORES = frozenset({"memory-mb", "vcores"})


class _Amount(msgspec.Struct):
    name: str = ""
    value: int = 0


class WireResources(msgspec.Struct):
    """`resourceInformations`."""

    resourceInformation: list[_Amount] | _Amount | None = None  # noqa: N815 - Hadoop's name


class WireResource(msgspec.Struct):
    """`ResourceInfo`: MiB, virtual cores, and (from 3.0) every resource type by name."""

    memory: int = 0
    vCores: int = 0  # noqa: N815 - Hadoop's name
    resourceInformations: WireResources | None = None  # noqa: N815 - Hadoop's name


def vector(resource: WireResource | None) -> ResourceVector:
    """A resource as the domain has it; an absent one is empty."""
    if resource is None:
        return ResourceVector()
    information = resource.resourceInformations
    listed = several(information.resourceInformation) if information is not None else []
    others = {amount.name: amount.value for amount in listed if amount.name not in _MEMORY_AND_VCORES}
    if not others:
        return ResourceVector(resource.memory, resource.vCores)
    return ResourceVector(resource.memory, resource.vCores, others)


def several(value: list[T] | T | None) -> list[T]:
    """List of a value that some version of Hadoop unwrapped or dropped."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def number(value: float | str | None, default: float = 0.0) -> float:
    """A float that may be quoted, absent or not a number."""
    try:
        found = float(value) if value is not None else default
    except ValueError:
        return default
    return found if math.isfinite(found) else default


def decode(decoder: "msgspec.json.Decoder[T]", raw: bytes | msgspec.Raw, what: str) -> T:
    """Decode JSON.

    Raises:
        RemoteProtocolError: If it is not JSON of the expected form; `what` names the document.
    """
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        beginning = bytes(memoryview(raw)[:80])
        raise RemoteProtocolError(f"the {what} document is not readable: {exc}; it begins {beginning!r}") from exc


def is_document(body: bytes) -> bool:
    """True for a JSON object, or null, in UTF-8: what is not is nobody's part of an answer."""
    try:
        if not body.isascii():
            body.decode()  # what is only carried is not looked into
        msgspec.json.decode(body, type=dict[str, msgspec.Raw] | None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
