"""Query strings, read as Jetty and Jersey read them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from shim.protocol.rest.errors import JavaError

__all__ = ["Query", "java_long", "parse_query", "split_values", "without_parameters"]

_LONG = 2**63
_MAX_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Query:
    """Decoded parameters by name, repeated ones in order. Names are case-sensitive."""

    parameters: Mapping[str, tuple[str, ...]]

    def first(self, name: str) -> str | None:
        """The first value of a parameter: what `@QueryParam String` binds."""
        values = self.parameters.get(name)
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter: what `@QueryParam Set<String>` binds."""
        return self.parameters.get(name, ())


@lru_cache(maxsize=1024)
def parse_query(raw: str) -> Query:
    """Decode a query string: `&` alone separates, `+` is a blank, a broken escape stays as it stands."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _pairs(raw):
        found[name] = (*found.get(name, ()), value)
    return Query(found)


def _pairs(raw: str) -> Iterator[tuple[str, str]]:
    for part in raw.split("&"):
        if part:
            name, _, value = part.partition("=")
            yield _decode(name), _decode(value)


def _decode(text: str) -> str:
    return unquote(text.replace("+", " "), errors="replace")


def without_parameters(raw: str, names: frozenset[str]) -> str:
    """The raw query string without some parameters; names are compared decoded and in lower case."""
    kept = [part for part in raw.split("&") if part and _decode(part.partition("=")[0]).lower() not in names]
    return "&".join(kept)


def split_values(values: tuple[str, ...]) -> tuple[str, ...]:
    """Repeated parameters whose values may be comma lists; blanks are trimmed and empty parts dropped.

    Source: `WebServices.parseQueries`.
    """
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def java_long(text: str, parameter: str) -> int:
    """Read a number as `Long.parseLong` does: a sign, ASCII digits, 64 bits.

    Raises:
        JavaError: If it is not one.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit():
        significant = digits.lstrip("0") or "0"
        if len(significant) < _MAX_DIGITS:
            value = -int(significant) if text[0] == "-" else int(significant)
            if -_LONG <= value < _LONG:
                return value
    raise JavaError.bad_request(f"{parameter} value must be a number!")
