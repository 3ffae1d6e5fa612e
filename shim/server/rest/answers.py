"""Answers with the headers of a ResourceManager, in its order.

A ResourceManager's filters write `Date` twice and forbid caching; what no resource answers comes from Jetty with fewer.
To these Heddle adds its own: `Heddle-As-Of`, `Heddle-Missing`, `X-Request-Id`, and what keeps browsers from harm.
Recorded on Hadoop 3.4.2.
"""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus

from shim.identity.cookies import COOKIE_NAME
from shim.protocol.rest.errors import JavaError, RemoteException, jetty_page, not_found_page
from shim.protocol.rest.negotiation import FailureForm, NegotiationFailure, Representation, accepts_gzip
from shim.protocol.rest.xml_writer import xml_and_left_out
from shim.server.rest.asgi import rendered_headers
from shim.server.rest.messages import Answer, Headers, Request

HTML = "text/html;charset=utf-8"
TEXT = "text/plain;charset=utf-8"

_WORTH_A_THREAD = 64 * 1024
"""In bytes: to compress more takes longer than a millisecond, and zlib lets other threads run meanwhile."""
_GZIP_LEVEL = 1  # a loopback or a rack away, speed counts for more than the last tenth of the size
SAFETY: Headers = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-FRAME-OPTIONS", "SAMEORIGIN"),
    ("X-XSS-Protection", "1; mode=block"),
)
_CSP = "Content-Security-Policy"
DATA_POLICY = (_CSP, "default-src 'none'; sandbox")
"""For data, which clusters and applications have a part in: whatever a browser makes of it, nothing in it runs."""
_PRAGMA = ("Pragma", "no-cache")
_VARY = ("Vary", "Accept-Encoding")
_REASONS = {400: "Bad Request", 500: "Server Error"}
_JETTY_CACHING = ("Cache-Control", "must-revalidate,no-cache,no-store")

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
PAGE_SECURITY: Headers = ((_CSP, _POLICY), ("Referrer-Policy", "no-referrer"))
"""For pages: no script at all, styles from here only, no framing by others, no address of ours told to others."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document to answer, in either representation.

    Attributes:
        body: The JSON; empty for an answer without a body.
        xml_root: Root element where the JSON has none.
        location: Value of `Location`; empty for none.
        xml: The XML if it is written already; then there is no JSON.
    """

    body: bytes
    xml_root: str | None = None
    status: int = 200
    location: str = ""
    xml: bytes = b""
    left_out: int = 0

    def in_form(self, representation: Representation) -> tuple[bytes, int]:
        """The body in a representation, and how many of its items and members could not be written."""
        if self.xml:
            return self.xml, self.left_out
        if not self.body or representation is Representation.JSON:
            return self.body, self.left_out
        return xml_and_left_out(self.body, root=self.xml_root)


async def zipped(answer: Answer, request: Request) -> Answer:
    """The answer compressed, if the client says that it understands that and there is something to compress."""
    if not answer.body or not accepts_gzip(request.joined("accept-encoding")):
        return answer
    names = [name for name, _ in answer.headers]
    if "Content-Encoding" in names or "Vary" not in names:
        return answer
    position = names.index("Vary") + 1
    headers = (*answer.headers[:position], ("Content-Encoding", "gzip"), *answer.headers[position:])
    return replace(answer, headers=headers, body=await _compressed(answer.body))


async def _compressed(body: bytes) -> bytes:
    if len(body) <= _WORTH_A_THREAD:
        return _gzip(body)
    await asyncio.sleep(0)  # without a task of its own, work ends here: before a thread has begun in vain
    return await asyncio.to_thread(_gzip, body)


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)  # the same bytes for the same body


class AnswerWriter:
    """Builds answers; remembers the header lines of the current second.

    Args:
        now_s: Seconds since the epoch.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._second = -1
        self._opening: Headers = ()
        self._rendered: tuple[Headers, bytes] = ((), b"")

    def opening(self) -> Headers:
        """Headers that every answer of a filter chain begins with."""
        second = int(self._now_s())
        if second != self._second:
            date = formatdate(second, usegmt=True)
            self._second = second
            self._opening = (
                ("Date", date),
                ("Cache-Control", "no-cache"),
                ("Expires", date),
                ("Date", date),
                _PRAGMA,
            )
        return self._opening

    def rendered_opening(self) -> bytes:
        """The opening of a resource's answer, as it goes out."""
        opening = self.opening()
        if self._rendered[0] is not opening:
            self._rendered = (opening, rendered_headers((*opening, *SAFETY)))
        return self._rendered[1]

    def document(
        self, document: Document, representation: Representation, *, extra: Headers = (), cookie: str | None = None
    ) -> Answer:
        """A resource's answer; what of it could not be written is counted in a header."""
        body, left_out = document.in_form(representation)
        counted: Headers = (("Heddle-Left-Out", str(left_out)),) if left_out else ()
        return Answer(
            document.status,
            (
                *self.opening(),
                *SAFETY,
                *((("Set-Cookie", cookie),) if cookie else ()),
                *((("Location", document.location),) if document.location else ()),
                ("Content-Type", representation.value),
                _VARY,
                DATA_POLICY,
                *counted,
                *extra,
            ),
            body,
        )

    def text(
        self, status: int, body: str, representation: Representation, *, extra: Headers = (), cookie: str | None = None
    ) -> Answer:
        """A bare text, which the ResourceManager labels as JSON or XML all the same."""
        answer = self.document(Document(b"", status=status), representation, extra=extra, cookie=cookie)
        return Answer(status, answer.headers, body.encode())

    def error(
        self, error: RemoteException, representation: Representation, *, extra: Headers = (), cookie: str | None = None
    ) -> Answer:
        """A `RemoteException`."""
        retry: Headers = () if error.retry_after_s is None else (("Retry-After", str(error.retry_after_s)),)
        body = error.to_xml() if representation is Representation.XML else error.to_json()
        answer = self.document(
            Document(b"", status=error.status), representation, extra=(*extra, *retry), cookie=cookie
        )
        return Answer(error.status, answer.headers, body)

    def forbidden(self, error: RemoteException, *, extra: Headers = (), cookie: str | None = None) -> Answer:
        """Answer of the authentication filter, in JSON whatever the client accepts, before any resource."""
        members = {
            "message": error.message,
            "exception": error.java_class.rpartition(".")[2],
            "javaClassName": error.java_class,
        }
        body = json.dumps({"RemoteException": members}, indent=2, ensure_ascii=False).replace('":', '" :')
        return Answer(
            error.status,
            (
                *self.opening(),
                ("Content-Type", "application/json"),
                *SAFETY,
                *((("Set-Cookie", cookie),) if cookie else ()),
                DATA_POLICY,
                *extra,
            ),
            body.encode("utf-8", "replace"),
        )

    def challenge(self, path: str, *, extra: Headers = ()) -> Answer:
        """The authentication filter's answer to who has proven nothing; an empty cookie ends a bad one."""
        reason = "Authentication required"
        asked: Headers = (("WWW-Authenticate", "Negotiate"), ("Set-Cookie", f"{COOKIE_NAME}=; Path=/; HttpOnly"))
        body = jetty_page(HTTPStatus.UNAUTHORIZED, reason, path=path, media_type="text/html")
        content = ("Content-Type", "text/html;charset=iso-8859-1")
        headers = (*self.opening(), *SAFETY, *asked, content, DATA_POLICY, *extra)
        return Answer(HTTPStatus.UNAUTHORIZED, headers, body, reason)

    def not_negotiated(
        self, failure: NegotiationFailure, *, path: str, extra: Headers = (), cookie: str | None = None
    ) -> Answer:
        """No resource method takes the method, the content type or the accepted types."""
        told: Headers = (("Set-Cookie", cookie),) if cookie else ()
        if failure.form in (FailureForm.XML, FailureForm.JSON, FailureForm.BARE_JSON):
            return self._unmapped(failure, told, extra)
        headers: Headers = (_PRAGMA, *SAFETY, *told, _JETTY_CACHING, DATA_POLICY)
        if failure.form is FailureForm.EMPTY:
            return Answer(failure.status, (*headers, *extra))
        reason = _REASONS[failure.status]
        body = jetty_page(failure.status, reason, path=path, media_type=failure.media_type)
        charset = "" if failure.form is FailureForm.JSON_PAGE else ";charset=iso-8859-1"
        content = ("Content-Type", f"{failure.media_type}{charset}")
        return Answer(failure.status, (*headers, content, *extra), body, reason)

    def _unmapped(self, failure: NegotiationFailure, told: Headers, extra: Headers) -> Answer:
        error = JavaError.not_negotiated().exception
        match failure.form:
            case FailureForm.XML:
                body = error.to_xml()
            case FailureForm.JSON:
                body = error.to_json()
            case _:
                name = error.java_class.rpartition(".")[2]
                members = {"exception": name, "message": None, "javaClassName": error.java_class}
                body = json.dumps(members, separators=(",", ":")).encode()
        content = ("Content-Type", f"{failure.media_type};charset=null")
        return Answer(failure.status, (*self.opening(), *SAFETY, *told, _VARY, content, DATA_POLICY, *extra), body)

    def page(self, body: str, *, status: int = 200, extra: Headers = (), content_type: str = HTML) -> Answer:
        headers = (*self.opening(), ("Content-Type", content_type), *SAFETY, *PAGE_SECURITY, _VARY, *extra)
        return Answer(status, headers, body.encode("utf-8", "replace"))

    def raw(self, body: bytes, content_type: str, *, status: int = 200, extra: Headers = ()) -> Answer:
        """Bytes of any type; data, unless `extra` has a policy of its own."""
        policy = () if any(name == _CSP for name, _ in extra) else (DATA_POLICY,)
        headers = (*self.opening(), ("Content-Type", content_type), *SAFETY, _VARY, *policy, *extra)
        return Answer(status, headers, body)

    def redirect(self, location: str, *, extra: Headers = ()) -> Answer:
        """302."""
        headers = (*self.opening(), ("Content-Type", TEXT), *SAFETY, _VARY, ("Location", location), DATA_POLICY, *extra)
        return Answer(302, headers)

    def no_such_path(self, path: str, *, extra: Headers = ()) -> Answer:
        """404 in HTML, whatever the client accepts."""
        return self.page(not_found_page(path).decode(), status=404, extra=extra)

    def options(self, allow: str, description: bytes, *, extra: Headers = ()) -> Answer:
        """Answer with the methods that a path takes."""
        content = "application/vnd.sun.wadl+xml;charset=utf-8" if description else TEXT
        headers = (*self.opening(), ("Content-Type", content), *SAFETY, ("Allow", allow), _VARY, DATA_POLICY, *extra)
        return Answer(200, headers, description)
