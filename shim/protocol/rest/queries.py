"""Query strings, read as the two readers inside a ResourceManager read them, and written so that both read the same.

A ResourceManager reads a query twice. Its authentication filter finds the caller with Apache HttpClient's parser, which
splits at `&` and at `;`. Its resources get their parameters from Jersey, which splits at `&` alone. `Query` keeps both
readings apart: `claims` is the first, `parameters` the second. What the two readers could understand in two ways, and
decides who is calling, is refused.

Source: `PseudoAuthenticationHandler.getUserName`, `DelegationTokenAuthenticationFilter.getDoAs`, `ServletUtils` of
Hadoop 3.4.2; `URLEncodedUtils.parse` of HttpClient 4.5.13; `UriComponent.decodeQuery` of Jersey 1.19.4; observed on
ResourceManagers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote

from shim.protocol.rest.errors import JavaError

MAX_PARAMETERS = 1000
"""Most parameters of one query; Jetty has the same limit for those of a form."""

_LONG = 2**63
_MAX_DIGITS = 20
_LONGEST_REMEMBERED = 512  # characters: what is longer is not worth the memory
_LONGEST_NAME_OF_A_CLAIM = 32  # `delegation`, each letter escaped, has 30 characters
_NOT_IN_A_LINE = re.compile(r"[\x00-\x20\x7f]")
_SEPARATORS = re.compile("[&;]")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE = ":,*"
"""Left as they are for logs to be readable: no reader of a query splits or replaces at one of them."""


@dataclass(frozen=True, slots=True)
class QueryClaims:
    """Claims of a query for the authentication filter; None where it says nothing, or a name without `=`.

    Attributes:
        user_name: `user.name`, in just these letters.
        delegation: `delegation`: a delegation token.
        operation: `op`: what shall be done with delegation tokens, if it is one of three words in any case.
    """

    user_name: str | None = None
    do_as: str | None = None
    delegation: str | None = None
    operation: str | None = None

    @property
    def is_about_tokens(self) -> bool:
        return self.delegation is not None or bool(self.token_operation)

    @property
    def token_operation(self) -> str:
        """The operation on delegation tokens that is asked for, in upper case; empty for none."""
        operation = (self.operation or "").upper()
        return operation if operation in _TOKEN_OPERATIONS else ""


Content = tuple[tuple[str, tuple[str, ...]], ...]
"""Names with their values."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query string, decoded.

    Attributes:
        parameters: As resources read them: values by name, repeated ones in order. Names are case-sensitive.
        claims: As the authentication filter reads it.
        content: What is asked, without who asks: queries of equal content get equal answers where all users do.
    """

    parameters: Mapping[str, tuple[str, ...]]
    claims: QueryClaims = QueryClaims()
    content: Content = ()

    def first(self, name: str) -> str | None:
        """The first value of a parameter: what `@QueryParam String` binds."""
        values = self.parameters.get(name)
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter: what `@QueryParam Set<String>` binds."""
        return self.parameters.get(name, ())

    def pairs(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
        """Names and values, those of one name together; only some names, if these are given."""
        for name in self.parameters if names is None else names:
            for value in self.parameters.get(name, ()):
                yield name, value


def parse_query(raw: str) -> Query:
    """Decode a query string.

    Args:
        raw: As it stood in the request line, one character for each byte.

    Raises:
        JavaError: 400 if the query has too many parameters, control characters, is not UTF-8, or names a caller in a
            way that two readers could understand differently.
    """
    return _remembered(raw) if len(raw) <= _LONGEST_REMEMBERED else _parsed(raw)


def encode_query(pairs: Iterable[tuple[str, str]]) -> str:
    """A query string whose parameters no reader splits again."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe=_SAFE)}" for name, value in pairs)


def _parsed(raw: str) -> Query:
    if not raw:
        return _EMPTY
    if _NOT_IN_A_LINE.search(raw):
        raise JavaError.bad_request("the query has a blank or a control character")
    text = raw if raw.isascii() else _utf8(raw)
    if text.count("&") + text.count(";") >= MAX_PARAMETERS:
        raise JavaError.bad_request(f"a query has at most {MAX_PARAMETERS} parameters")
    found: dict[str, list[str]] = {}
    parts = text.split("&")
    for part in parts:
        name, _, value = part.partition("=")
        if name:
            found.setdefault(_decode(name), []).append(_decode(value))
    parameters = {name: tuple(values) for name, values in found.items()}
    content = tuple(item for item in parameters.items() if not _is_of_caller(item[0]))
    return Query(MappingProxyType(parameters), _claims(_SEPARATORS.split(text) if ";" in text else parts), content)


def _is_of_caller(name: str) -> bool:
    """True if a decoded name is one by which callers are named: no resource reads it."""
    return name.upper() == _CLAIM_IN_ANY_CASE or name in _CLAIMS


_remembered = lru_cache(maxsize=1024)(_parsed)
_EMPTY = Query(MappingProxyType({}))


def _utf8(raw: str) -> str:
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        raise JavaError.bad_request("the query is not UTF-8") from None


def _decode(text: str) -> str:
    """`+` is a blank, and a broken escape stays as it stands: Jersey escapes its percent sign first."""
    if "%" not in text and "+" not in text:
        return text
    return _unescaped(text.replace("+", " ").encode(errors="replace")).decode(errors="replace")


_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_BYTE_OF = {f"{value:02x}".encode(): bytes([value]) for value in range(256)}


def _unescaped(text: bytes) -> bytes:
    """Return the bytes that escapes stand for; a percent sign that begins none stays.

    `urllib.parse.unquote_to_bytes` says the same, and takes 17 ms for 60,000 percent signs that begin no escape.
    """
    return _ESCAPE.sub(lambda escape: _BYTE_OF[escape[1].lower()], text)


# -- the authentication filter's reading -----------------------------------------------------------------------------

_CLAIMS: Mapping[str, str] = MappingProxyType({"user.name": "user_name", "delegation": "delegation", "op": "operation"})
_TOKEN_OPERATIONS = frozenset({"GETDELEGATIONTOKEN", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"})
_CLAIM_IN_ANY_CASE = "DOAS"


def _claims(parts: Iterable[str]) -> QueryClaims:
    found: dict[str, str | None] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        claim = _claim(name) if len(name) <= _LONGEST_NAME_OF_A_CLAIM else None
        if claim is not None:
            _refuse_ambiguous(part)
            found.setdefault(claim, _decode(value) if equals else None)
    return QueryClaims(**found)


@lru_cache(maxsize=512)
def _claim(name: str) -> str | None:
    """Claim that a name makes.

    HttpClient keeps only the lowest byte of a character that is not ASCII. Java compares letters without regard to case
    in upper case: to it the long s of `doA\u017f` is an `S`.
    """
    narrow = bytes(ord(each) & 0xFF for each in name.replace("+", " "))
    decoded = _unescaped(narrow).decode(errors="replace")
    return "do_as" if decoded.upper() == _CLAIM_IN_ANY_CASE else _CLAIMS.get(decoded)


def _refuse_ambiguous(part: str) -> None:
    """Refuse a claim in letters that readers decode differently.

    HttpClient keeps two characters after a percent sign that begins no escape, and the lowest byte of a character that
    is not ASCII; what is not UTF-8 it replaces.

    Raises:
        JavaError: 400.
    """
    if part.isascii() and "%" not in part:
        return
    is_clear = part.isascii() and _BROKEN_ESCAPE.search(part) is None
    if is_clear:
        try:
            _unescaped(part.encode()).decode()
        except UnicodeDecodeError:
            is_clear = False
    if not is_clear:
        raise JavaError.bad_request("a user is named in UTF-8, each byte beyond ASCII escaped")


# -- values ----------------------------------------------------------------------------------------------------------


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
