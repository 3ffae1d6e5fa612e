"""Content negotiation as Jersey 1 under the ResourceManager does it, its failures included.

A request whose `Accept` names neither JSON nor XML never reaches a resource. What is answered then depends on which
writer happens to fit the exception: a 503 in XML or JSON, or a 500 that Jetty writes. Recorded on Hadoop 3.4.2.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

__all__ = [
    "FailureForm",
    "NegotiationFailure",
    "Representation",
    "accepts_gzip",
    "failure_for",
    "negotiate",
    "page_failure",
]


class Representation(Enum):
    """A form that every resource can take, with the `Content-Type` as the ResourceManager spells it."""

    JSON = "application/json;charset=utf-8"
    XML = "application/xml; charset=utf-8"


class FailureForm(Enum):
    """How the error of a failed negotiation is written."""

    XML = "xml"
    JSON = "json"
    BARE_JSON = "bare-json"
    """Without the root member, `message` kept as null: a general JSON writer took the exception."""
    HTML_PAGE = "text/html"
    TEXT_PAGE = "text/plain"
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


@dataclass(frozen=True, slots=True)
class _Range:
    kind: str
    subtype: str
    quality: int
    parameters: str

    @property
    def text(self) -> str:
        """As an answer repeats it: with a blank before each parameter."""
        given = (part.strip() for part in self.parameters.split(";") if part.strip())
        return "; ".join((f"{self.kind}/{self.subtype}", *given))

    def includes(self, kind: str, subtype: str) -> bool:
        return self.kind in ("*", kind) and self.subtype in ("*", subtype)


_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - RFC 9110's token, no secret
_RANGE = re.compile(rf"\s*({_TOKEN})\s*/\s*({_TOKEN})\s*((?:;[^,]*)?)\Z")
_QUALITY = re.compile(r";\s*q\s*=\s*([^;,\s]*)", re.IGNORECASE)
_QUALITY_VALUE = re.compile(r"[01](?:\.\d{0,3})?|\.\d{1,3}")
_BAD_QUALITY = NegotiationFailure(400, FailureForm.EMPTY, "")
_NOTHING_FITS = NegotiationFailure(500, FailureForm.EMPTY, "")

_WRITERS: tuple[tuple[tuple[str, str], FailureForm], ...] = (
    (("application", "xml"), FailureForm.XML),
    (("text", "xml"), FailureForm.XML),
    (("application", "json"), FailureForm.JSON),
    (("text", "javascript"), FailureForm.BARE_JSON),
)
"""Who can write the exception, in the order in which Jersey asks for a wildcard."""

_PAGES: tuple[tuple[tuple[str, str], FailureForm], ...] = (
    (("text", "html"), FailureForm.HTML_PAGE),
    (("text", "plain"), FailureForm.TEXT_PAGE),
)


@lru_cache(maxsize=512)
def negotiate(accept: str) -> Representation | NegotiationFailure:
    """Choose the form of an answer.

    Args:
        accept: Values of all `Accept` headers, joined by commas; empty if there is none.
    """
    ranges = _parse(accept)
    if isinstance(ranges, NegotiationFailure):
        return ranges
    for wanted in ranges:
        if wanted.includes("application", "json"):
            return Representation.JSON
        if wanted.includes("application", "xml"):
            return Representation.XML
    return _failure_of(ranges)


@lru_cache(maxsize=512)
def failure_for(accept: str) -> NegotiationFailure:
    """The answer to a method or content type that no resource method takes, for a client that accepts `accept`."""
    ranges = _parse(accept)
    return ranges if isinstance(ranges, NegotiationFailure) else _failure_of(ranges)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the answer is compressed: Jetty looks for the word only, even `gzip;q=0` is enough."""
    return "gzip" in accept_encoding.lower()


def _parse(accept: str) -> tuple[_Range, ...] | NegotiationFailure:
    if not accept.strip():
        return (_Range("*", "*", 1000, ""),)
    ranges: list[_Range] = []
    for part in accept.split(","):
        if not part.strip():
            continue
        found = _RANGE.match(part)
        if found is None:
            return _NOTHING_FITS
        quality = _quality(found[3])
        if quality is None:
            return _BAD_QUALITY
        ranges.append(_Range(found[1].lower(), found[2].lower(), quality, found[3]))
    ranges.sort(key=lambda item: (-item.quality, item.kind == "*", item.subtype == "*"))
    return tuple(ranges)


def _quality(parameters: str) -> int | None:
    found = _QUALITY.search(parameters)
    if found is None:
        return 1000
    if not _QUALITY_VALUE.fullmatch(found[1]):
        return None
    return min(1000, round(float(found[1]) * 1000))


def _failure_of(ranges: tuple[_Range, ...]) -> NegotiationFailure:
    for wanted in ranges:
        for (kind, subtype), form in _WRITERS:
            if wanted.includes(kind, subtype):
                return NegotiationFailure(503, form, f"{kind}/{subtype}")
        if wanted.subtype.endswith("+json"):
            return NegotiationFailure(503, FailureForm.BARE_JSON, wanted.text)
        if wanted.subtype.endswith("+xml") and wanted.subtype != "xhtml+xml":
            return NegotiationFailure(503, FailureForm.XML, wanted.text)
    return _page_of(ranges, 500)


@lru_cache(maxsize=128)
def page_failure(accept: str, status: int) -> NegotiationFailure:
    """The page that the servlet container writes for a request that reached no resource."""
    ranges = _parse(accept)
    return ranges if isinstance(ranges, NegotiationFailure) else _page_of(ranges, status)


def _page_of(ranges: tuple[_Range, ...], status: int) -> NegotiationFailure:
    """The servlet container, unlike Jersey, leaves out what has no quality at all."""
    for wanted in (each for each in ranges if each.quality):
        for (kind, subtype), form in _PAGES:
            if wanted.includes(kind, subtype):
                return NegotiationFailure(status, form, f"{kind}/{subtype}")
    return NegotiationFailure(status, FailureForm.EMPTY, "")
