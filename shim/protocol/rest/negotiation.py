"""Content negotiation as Jersey 1 under the ResourceManager does it, its failures included.

A request whose `Accept` names neither JSON nor XML never reaches a resource. What is answered then depends on which
writer happens to fit the exception: a 503 in XML or JSON, or a 500 that Jetty writes. Recorded on Hadoop 3.4.2.

The header `Accept` as the two readers under a ResourceManager understand it: Jersey 1, and Jetty for its pages.

They do not agree. Jersey reads a header as a whole and refuses it for one mistake; a type without a slash is any of its
subtypes, so `*` is `*/*` (Java's own `HttpURLConnection` sends it). Jetty takes what it can use.
Source: `com.sun.jersey.core.header.reader.HttpHeaderReader`, `AcceptableMediaType`; Jetty 9.4 `QuotedQualityCSV`,
`ErrorHandler`. Recorded on Hadoop 3.4.2.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_QUALITY = re.compile(r"(0|1)(?:\.([0-9]{0,3}))?|(?P<bare>\.)([0-9]{1,4})")
_BEST = 1000
_ENDS_WITH_POINT = -2000  # Jersey takes the point for the digit: (46 - 48) * 1000, which sorts behind zero


class AcceptHeaderError(Exception):
    """The header cannot be read: the request is a bad one."""


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One accepted range.

    Attributes:
        kind: In the letters given, as the subtype; types are compared whatever their case.
        quality: 0 to 1000; less for a number that ends with its point.
        parameters: By name, the quality among them.
    """

    kind: str
    subtype: str
    quality: int = _BEST
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The range as an answer repeats it: with a blank before each parameter."""
        return "; ".join((f"{self.kind}/{self.subtype}", *(f"{name}={value}" for name, value in self.parameters)))

    def includes(self, kind: str, subtype: str) -> bool:
        """True if a type is in this range; a wildcard before the slash includes every type, whatever follows it."""
        return self.kind == "*" or (self.kind.lower() == kind and self.subtype.lower() in ("*", subtype))


class _Reader:
    """A cursor over the header that knows tokens, quoted strings and separators."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def is_at(self, separator: str, *, skip_space: bool = True) -> bool:
        if skip_space:
            self._skip_space()
        return self._text.startswith(separator, self._at)

    def ended(self) -> bool:
        self._skip_space()
        return self._at >= len(self._text)

    def take(self, separator: str, *, skip_space: bool = True) -> None:
        if not self.is_at(separator, skip_space=skip_space):
            raise AcceptHeaderError
        self._at += 1

    def token(self, *, skip_space: bool = True) -> str:
        if skip_space:
            self._skip_space()
        return self._match(_TOKEN)[0]

    def token_or_quoted(self) -> str:
        if self.is_at('"', skip_space=False):
            return re.sub(r"\\(.)", r"\1", self._match(_QUOTED)[1], flags=re.DOTALL)
        return self.token(skip_space=False)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise AcceptHeaderError
        self._at = found.end()
        return found

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at


def read_accept(text: str) -> tuple[MediaRange, ...]:
    """Read the header as Jersey does: best first, wildcards behind equals.

    Raises:
        AcceptHeaderError: If a part of it does not follow the grammar.
    """
    reader = _Reader(text)
    ranges: list[MediaRange] = []
    while not reader.ended():
        ranges.append(_range(reader))
        if not reader.ended():
            reader.take(",")
    ranges.sort(key=lambda item: (-item.quality, item.kind == "*", item.subtype == "*"))
    return tuple(ranges)


def _range(reader: _Reader) -> MediaRange:
    kind = reader.token()
    subtype = "*"
    if reader.is_at("/", skip_space=False):
        reader.take("/", skip_space=False)
        subtype = reader.token(skip_space=False)
    given: dict[str, str] = {}
    while not reader.ended() and not reader.is_at(","):
        reader.take(";")
        while reader.is_at(";"):
            reader.take(";")
        if reader.ended() or reader.is_at(","):
            break
        name = reader.token().lower()
        reader.take("=", skip_space=False)
        given[name] = reader.token_or_quoted()
    quality = _quality(given["q"]) if "q" in given else _BEST
    return MediaRange(kind, subtype, quality, tuple(sorted(given.items())))


def _quality(text: str) -> int:
    """Thousandths; `.5` is taken for `0.5`, as Java's own client writes it."""
    found = _QUALITY.fullmatch(text)
    if found is None:
        raise AcceptHeaderError
    if text.endswith("."):
        return _ENDS_WITH_POINT
    thousandths = int(f"{found[2] or found[4] or ''}000"[:3])
    if found[1] != "1":
        return thousandths
    if thousandths:
        raise AcceptHeaderError
    return _BEST


def page_types(text: str) -> tuple[str, ...]:
    """Types that Jetty looks for when it writes a page of its own, best first; those of no quality are left out.

    A range with another parameter than its quality is none of the types that it knows.
    """
    weighed: list[tuple[float, str]] = []
    for part in _split(text, ","):
        kind, *parameters = (piece.strip() for piece in _split(part, ";") or [""])
        quality, kept = 1.0, [kind]
        for parameter in filter(None, parameters):
            name, equals, value = parameter.partition("=")
            if name.strip() == "q" and equals:
                quality = _number(re.sub(r'\A"(.*)"\Z', r"\1", value.strip()))
            else:
                kept.append(parameter)
        if quality and kept[0]:
            weighed.append((quality, ";".join(kept)))
    weighed.sort(key=lambda item: -item[0])
    return tuple(kind for _, kind in weighed)


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators that are in no quoted string; an unbalanced quote takes all that follows."""
    # possessive, and never without a match at a quote: linear
    return re.findall(rf'(?:"(?:[^"\\]|\\.?)*+"?+|[^"{separator}]++)++', text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class Representation(Enum):
    """A form that every resource can take, with the `Content-Type` as the ResourceManager spells it."""

    JSON = "application/json;charset=utf-8"
    XML = "application/xml; charset=utf-8"


class FailureForm(Enum):
    """Form of the error of a failed negotiation."""

    XML = "xml"
    JSON = "json"
    BARE_JSON = "bare-json"
    """Without the root member, `message` kept as null: a general JSON writer took the exception."""
    HTML_PAGE = "text/html"
    TEXT_PAGE = "text/plain"
    JSON_PAGE = "application/json"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class NegotiationFailure:
    """No resource method fits.

    Attributes:
        media_type: Of the answer; empty if it has no body.
    """

    status: int
    form: FailureForm
    media_type: str


_WRITERS: tuple[tuple[tuple[str, str], FailureForm], ...] = (
    (("application", "xml"), FailureForm.XML),
    (("text", "xml"), FailureForm.XML),
    (("application", "json"), FailureForm.JSON),
)
"""Who can write the exception, in the order in which Jersey asks for a wildcard."""

_JSON_SUBTYPES = frozenset({"json", "x-json", "javascript", "x-javascript"})
"""Subtypes that Jackson's general writer takes, whatever stands before the slash."""

_PAGES = {
    "text/html": (FailureForm.HTML_PAGE, "text/html"),
    "text/*": (FailureForm.HTML_PAGE, "text/html"),
    "*/*": (FailureForm.HTML_PAGE, "text/html"),
    "text/plain": (FailureForm.TEXT_PAGE, "text/plain"),
    "text/json": (FailureForm.JSON_PAGE, "text/json"),
    "application/json": (FailureForm.JSON_PAGE, "application/json"),
}
"""Pages of the servlet container by the range that asks for one, to the letter."""


_LONGEST_ACCEPT = 4096
"""Characters of a header that is read: browsers send 150. What is longer takes long, and is answered with 400."""


def negotiate(accept: str) -> Representation | NegotiationFailure:
    """Choose the form of an answer.

    Args:
        accept: Values of all `Accept` headers, joined by commas; empty if there is none.
    """
    return _negotiated(accept[: _LONGEST_ACCEPT + 1])


def failure_for(accept: str) -> NegotiationFailure:
    """The answer to a method or content type that no resource method takes, for a client that accepts `accept`."""
    return _failed(accept[: _LONGEST_ACCEPT + 1])


@lru_cache(maxsize=512)
def _negotiated(accept: str) -> Representation | NegotiationFailure:
    ranges = _parse(accept)
    if isinstance(ranges, NegotiationFailure):
        return ranges
    for wanted in ranges:
        if wanted.includes("application", "json"):
            return Representation.JSON
        if wanted.includes("application", "xml"):
            return Representation.XML
    return _failure_of(ranges, accept)


@lru_cache(maxsize=512)
def _failed(accept: str) -> NegotiationFailure:
    ranges = _parse(accept)
    return ranges if isinstance(ranges, NegotiationFailure) else _failure_of(ranges, accept)


def accepts_gzip(accept_encoding: str) -> bool:
    """True if the answer is compressed: Jetty looks for the word only, even `gzip;q=0` is enough."""
    return "gzip" in accept_encoding.lower()


def _parse(accept: str) -> tuple[MediaRange, ...] | NegotiationFailure:
    if len(accept) > _LONGEST_ACCEPT:
        return NegotiationFailure(400, FailureForm.EMPTY, "")
    if not accept.strip():
        return (MediaRange("*", "*"),)
    if not accept.isascii():  # Jersey's reader has a table of 128 characters, and looks beyond its end
        return NegotiationFailure(500, FailureForm.EMPTY, "")
    try:
        return read_accept(accept)
    except AcceptHeaderError:
        return _page_of(accept, 400)


def _failure_of(ranges: tuple[MediaRange, ...], accept: str) -> NegotiationFailure:
    for wanted in ranges:
        for (kind, subtype), form in _WRITERS:
            if wanted.includes(kind, subtype):
                return NegotiationFailure(503, form, f"{kind}/{subtype}")
        if wanted.subtype.lower() in _JSON_SUBTYPES or wanted.subtype.endswith("+json"):
            return NegotiationFailure(503, FailureForm.BARE_JSON, wanted.text)
        if wanted.subtype.endswith("+xml"):
            return NegotiationFailure(503, FailureForm.XML, wanted.text)
    return _page_of(accept, 500)


def page_failure(accept: str, status: int) -> NegotiationFailure:
    """The page that the servlet container writes for a request that reached no resource; HTML if none is asked for."""
    return _page(accept[: _LONGEST_ACCEPT + 1] or "*/*", status)


@lru_cache(maxsize=128)
def _page(accept: str, status: int) -> NegotiationFailure:
    ranges = _parse(accept)
    return ranges if isinstance(ranges, NegotiationFailure) else _page_of(accept, status)


def _page_of(accept: str, status: int) -> NegotiationFailure:
    """The page of the servlet container, which reads the header by itself."""
    for wanted in page_types(accept):
        if wanted in _PAGES:
            return NegotiationFailure(status, *_PAGES[wanted])
    return NegotiationFailure(status, FailureForm.EMPTY, "")
