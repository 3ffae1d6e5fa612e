"""Content negotiation as Jersey 1 under the ResourceManager does it, its failures included.

A request whose `Accept` names neither JSON nor XML never reaches a resource. What is answered then depends on which
writer happens to fit the exception: a 503 in XML or JSON, or a 500 that Jetty writes. Recorded on Hadoop 3.4.2.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from shim.protocol.rest.accept_header import AcceptHeaderError, MediaRange, page_types, read_accept

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
    """The page that the servlet container writes for a request that reached no resource."""
    return _page(accept[: _LONGEST_ACCEPT + 1], status)


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
