"""What a request must be before any use case hears of it, by its headers and its form alone.

Source: the filters of a ResourceManager, and Jersey's choice of a method; recorded on Hadoop 3.4.2.
"""

import re
import zlib
from dataclasses import replace

from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.negotiation import (
    NegotiationFailure,
    Representation,
    failure_for,
    negotiate,
    page_failure,
)
from shim.server.rest.endpoints import Endpoint
from shim.server.rest.messages import Request

__all__ = ["READS", "inflated", "negotiation_failure", "refuse_other_sites", "representation_of"]

READS = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

_ENTITY_TYPES = frozenset({"application/json", "application/xml"})
_TYPE = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~*-]+")


def refuse_other_sites(request: Request) -> None:
    """Refuse a change that a page of another site makes a browser send.

    Raises:
        JavaError: 403. Programs send no `Origin`, and are not concerned.
    """
    if request.method in READS or request.method == "OPTIONS":
        return
    origin = request.header("origin")
    site = request.header("sec-fetch-site")
    if site in ("cross-site", "same-site") or (
        origin is not None and origin.lower().partition("://")[2] != (request.header("host") or "").lower()
    ):
        raise JavaError(
            403,
            "org.apache.hadoop.yarn.webapp.ForbiddenException",
            "java.lang.Exception: a page of another site may not",
        )


def negotiation_failure(endpoint: Endpoint, request: Request, accept: str) -> NegotiationFailure | None:
    """Why the row's method does not take the request, if it does not.

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
    """What the client reads best; JSON if nothing that there is."""
    chosen = negotiate(request.joined("accept"))
    return chosen if isinstance(chosen, Representation) else Representation.JSON
