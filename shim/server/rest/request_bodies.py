"""The body of a request, understood by the row of its endpoint, and written anew: the only body that is passed on."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from shim.protocol.rest.body_shapes import SHAPES, UnderstoodBody, understand
from shim.server.rest.endpoints import Endpoint
from shim.server.rest.messages import Request

__all__ = ["LARGE_BYTES", "understood"]

LARGE_BYTES = 64 * 1024
"""A larger body is read beside the event loop."""

_FORM = "application/x-www-form-urlencoded"
_FORMS = {"/scheduler/logs": "time"}
_ABOUT_THE_BODY = ("content-type", "content-encoding")
_MOST_FORM_BYTES, _MOST_FIELDS = 1024, 16


def understood(request: Request, endpoint: Endpoint) -> tuple[Request, UnderstoodBody | None]:
    """The request with the body that was understood; without any where the endpoint reads none.

    Args:
        request: With its body decompressed.
        endpoint: The row that it matches.

    Raises:
        JavaError: If the body is not readable, or a field that Heddle decides on is not plain.
    """
    shape = SHAPES.get(f"{endpoint.method} {endpoint.path}")
    if shape is not None:
        media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
        read = understand(request.body, media_type=media_type, shape=shape)
        return _with_body(request, read.body, read.media_type), read
    field = _FORMS.get(endpoint.path)
    if field is not None:
        return _with_body(request, _form_of(request, field), _FORM), None
    return _with_body(request, b"", ""), None


def _form_of(request: Request, field: str) -> bytes:
    """The one field of a form; what is no form has none."""
    text = request.body[: _MOST_FORM_BYTES + 1].decode("utf-8", "replace")
    media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if media_type != _FORM or len(text) > _MOST_FORM_BYTES or text.count("&") >= _MOST_FIELDS:
        return b""
    values = [value for name, value in parse_qsl(text, keep_blank_values=True) if name == field]
    return urlencode({field: values[0]}).encode() if values else b""


def _with_body(request: Request, body: bytes, media_type: str) -> Request:
    if not request.body and not body:
        return request
    kept = tuple(each for each in request.headers if each[0] not in _ABOUT_THE_BODY)
    headers = (*kept, ("content-type", media_type)) if media_type else kept
    return replace(request, headers=headers, body=body)
