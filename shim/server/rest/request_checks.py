"""Checks of a request before any use case gets it, by its headers and its form alone.

Source: the filters of a ResourceManager, and Jersey's choice of a method; recorded on Hadoop 3.4.2.
"""

import re
import zlib
from dataclasses import replace

from shim.errors import UserError
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.negotiation import (
    NegotiationFailure,
    Representation,
    failure_for,
    negotiate,
    page_failure,
)
from shim.protocol.rest.queries import parse_query
from shim.server.rest.endpoints import Endpoint
from shim.server.rest.messages import Request

READS = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

_ENTITY_TYPES = frozenset({"application/json", "application/xml"})
_TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~*-]+")


def refuse_other_sites(request: Request, *, changes: bool) -> None:
    """Refuse a change that a page of another site makes a browser send.

    Args:
        request: By whatever method: some changes of a ResourceManager are GET.

    Raises:
        JavaError: 403. Programs send none of the headers that are looked at, and are not concerned.
    """
    if changes and (_is_of_other_site(request) or _is_silent_browser(request)):
        raise JavaError(
            403,
            "org.apache.hadoop.yarn.webapp.ForbiddenException",
            "java.lang.Exception: a page of another site may not",
        )


def _is_of_other_site(request: Request) -> bool:
    if request.header("sec-fetch-site") in ("cross-site", "same-site"):
        return True
    host = (request.header("host") or "").lower()
    origin = request.header("origin")
    if origin is not None and origin.lower().partition("://")[2] != host:
        return True
    referer = request.header("referer")
    return referer is not None and referer.lower().partition("://")[2].partition("/")[0] != host


def _is_silent_browser(request: Request) -> bool:
    """True if a browser's GET or HEAD does not say where it comes from.

    Over plain HTTP a browser tells the site of a page only in `Referer`, which the page can suppress. Browsers are
    known by the expression of Hadoop's own `RestCsrfPreventionFilter`, and let in by the header that it asks for.
    """
    if request.method not in READS or not (request.header("user-agent") or "").startswith(("Mozilla", "Opera")):
        return False
    tells = ("sec-fetch-site", "referer", "x-xsrf-header", "x-requested-with")
    return all(request.header(name) is None for name in tells)


def negotiation_failure(endpoint: Endpoint, request: Request, accept: str) -> NegotiationFailure | None:
    """Reason why the row's method does not take the request, if it does not.

    Raises:
        JavaError: If nothing can read a body of that type.
    """
    if endpoint.takes_body:
        given = request.header("content-type")
        media_type = (given or "").partition(";")[0].strip().lower()
        if given is None or media_type == "application/*":
            shown = media_type or "application/octet-stream"
            raise JavaError(
                503,
                "javax.ws.rs.WebApplicationException",
                f"com.sun.jersey.api.MessageException: no message body reader for MIME media type {shown} was found.\n",
            )
        if not _TYPE.fullmatch(media_type):
            return page_failure(accept, 400)
        if media_type not in _ENTITY_TYPES:
            return failure_for(accept)
    chosen = negotiate(accept)
    return chosen if isinstance(chosen, NegotiationFailure) else None


def inflated(request: Request, *, max_bytes: int) -> Request:
    """The request with its body decompressed.

    Raises:
        JavaError: If it is no gzip, or too large.
    """
    if (request.header("content-encoding") or "").lower() != "gzip":
        return request
    inflater = zlib.decompressobj(wbits=31)
    try:
        body = inflater.decompress(request.body, max_bytes + 1)
    except zlib.error as exc:
        raise JavaError(400, "java.util.zip.ZipException", str(exc)) from exc
    if len(body) > max_bytes:
        raise JavaError(413, "java.io.IOException", "the body is too large")
    return replace(request, body=body)


def representation_of(request: Request) -> Representation:
    """Representation that the client reads best; JSON if it reads none that there is."""
    chosen = negotiate(request.joined("accept"))
    return chosen if isinstance(chosen, Representation) else Representation.JSON


def names_cluster(request: Request) -> bool:
    """True if `?cluster=` asks for one sub-cluster's own answer."""
    try:
        return parse_query(request.query).first("cluster") is not None
    except UserError:
        return False  # refused at once
