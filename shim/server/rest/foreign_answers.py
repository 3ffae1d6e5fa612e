"""Answers of clusters and ApplicationMasters on their way to a client: written anew, as whoever sent them is hostile.

One who controls a single ResourceManager, or an application on it, writes status, headers, type and body of what is
carried. A browser must not take any of that for Heddle's word: what of it travels stands in the tables below, with
values of Heddle's own wherever there is a choice, and all else stays here. Documents are data: JSON, XML or text, in a
sandbox without anything. Pages are for people: of types that pages have, in a sandbox that lets scripts run at an
origin of their own, away from the console's and from each other's.

Source: headers and types as a ResourceManager of Hadoop 3.4.2 writes them, by the recorded answers; Content Security
Policy Level 3, section 6.3; the HTML standard's sandboxing flags.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.errors import JavaError
from shim.protocol.wire_values import is_text
from shim.server.rest.answers import DATA_POLICY, SAFETY, TEXT, AnswerWriter
from shim.server.rest.endpoints import BASE
from shim.server.rest.forwarding import public_url
from shim.server.rest.messages import Answer, Headers, Request

_STATUSES = frozenset({200, 201, 202, 204, 400, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422})
_FAILURES = frozenset({500, 501, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""Statuses that are the answer's own. 401, 407, 421, 426, 429 and the like are between a client and Heddle."""

_JSON, _XML = "application/json;charset=utf-8", "application/xml; charset=utf-8"
_SPELT = frozenset({_JSON, _XML, TEXT, "application/json", "application/json; charset=utf8"})
"""Types that travel as they are spelt: a ResourceManager's own."""
_DOCUMENTS: Mapping[str, str] = {"application/json": _JSON, "application/xml": _XML, "text/xml": _XML}
"""Types of data by what stands before a parameter; all else is text."""

_VALUES: Mapping[str, tuple[str, frozenset[str]]] = {
    "cache-control": ("no-cache", frozenset({"no-cache", "no-store", "must-revalidate,no-cache,no-store"})),
    "pragma": ("no-cache", frozenset()),
    "vary": ("Accept-Encoding", frozenset()),
    **{name.lower(): (value, frozenset()) for name, value in SAFETY},
}
"""Headers that a document's answer may have, with the value that is written and those that may stand instead of it."""
_NAMES = {name.lower(): name for name in ("Date", "Cache-Control", "Expires", "Pragma", "Vary", *dict(SAFETY))}
_TWICE = {"date": 2}
_BEHIND_COOKIES = frozenset({"location", "content-type", "set-cookie"})

_PLAIN_PLACE = re.compile(r"[A-Za-z0-9._~:@!$&'()*+,=%/-]{0,2000}")
_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml\s+version=["']1\.0["'](?:\s+encoding=["'](?i:utf-8)["'])?(?:\s+standalone=["'](?:yes|no)["'])?\s*\?>"""
)

# -- documents -------------------------------------------------------------------------------------------------------


def carried_document(
    answer: RestAnswer, request: Request, writer: AnswerWriter, *, cookie: str | None, extra: Headers
) -> Answer:
    """A document of a cluster as Heddle's answer, with headers in the cluster's order.

    Args:
        request: The client's.
        cookie: What to set at the client; None for nothing.
        extra: Headers of Heddle's own.

    Raises:
        JavaError: 502, where it is no answer that a client should act on.
    """
    status = told_status(answer.status)
    date = dict(writer.opening())["Date"]
    content = _document_type(answer)
    if content == _XML:
        _refuse_more_than_elements(answer.body)
    told: list[tuple[str, str]] = []
    seen: dict[str, int] = {}
    for name, value in answer.headers:
        lowered = name.lower()
        seen[lowered] = seen.get(lowered, 0) + 1
        if seen[lowered] > _TWICE.get(lowered, 1):
            continue
        if lowered in _BEHIND_COOKIES and cookie is not None:
            told.append(("Set-Cookie", cookie))
            cookie = None
        if lowered == "content-type":
            told += [("Content-Type", content)] if content else []
        elif lowered == "location":
            told += _location(value, request)
        else:
            told += _standing(lowered, value, date)
    missing = [pair for pair in (("Cache-Control", "no-cache"), *SAFETY) if pair[0].lower() not in seen]
    if content and "content-type" not in seen:
        missing.append(("Content-Type", content))
    if cookie is not None:
        missing.append(("Set-Cookie", cookie))
    return Answer(status, (*told, *missing, DATA_POLICY, *extra), answer.body)


def _standing(name: str, value_untrusted: str, date: str) -> Headers:
    """A header of the table with its value, or nothing."""
    if name in ("date", "expires"):
        return ((_NAMES[name], date),)
    if name not in _VALUES:
        return ()
    usual, others = _VALUES[name]
    return ((_NAMES[name], value_untrusted if value_untrusted in others else usual),)


def told_status(status_untrusted: int) -> int:
    """The status of a cluster's answer, if it is one that a client may have from a cluster.

    Raises:
        JavaError: 502 for one that says something of the connection to Heddle, or of the client's login at it.
    """
    if status_untrusted in _STATUSES or status_untrusted in _FAILURES:
        return status_untrusted
    raise _no_answer(f"with status {status_untrusted}")


def _no_answer(what: str) -> JavaError:
    message = f"the cluster answered {what}, which Heddle does not pass on: is that the address of a ResourceManager?"
    return JavaError(502, "org.apache.hadoop.yarn.exceptions.YarnException", message)


def _document_type(answer: RestAnswer) -> str:
    """The type that is told of a body: data, or else text; empty for no body without a type."""
    values = [value for name, value in answer.headers if name.lower() == "content-type"]
    if not values:
        return TEXT if answer.body else ""
    if len(values) > 1:
        return TEXT
    if values[0] in _SPELT:
        return values[0]
    kind = values[0].partition(";")[0].strip().lower()
    return _DOCUMENTS.get(kind, _JSON if re.fullmatch(r"[a-z]+/[a-z0-9.-]+\+json", kind) else TEXT)


def _refuse_more_than_elements(body: bytes) -> None:
    """Refuse XML that is more than elements and text in UTF-8: a document type, a style sheet, another encoding.

    A ResourceManager's has no `<!` and no `<?` after its head, as `<` in a text is escaped.

    Raises:
        JavaError: 502.
    """
    head = _DECLARATION.match(body)
    rest = body[head.end() :] if head is not None else body
    if not is_text(rest):
        raise _no_answer("in XML that is not in UTF-8")
    if b"<!" in rest or b"<?" in rest or b"\x00" in rest:
        raise _no_answer("in XML with more than elements")


def _location(value_untrusted: str, request: Request) -> Headers:
    """Where something that was made is: an address of the web services here, or nothing."""
    try:
        path = urlsplit(value_untrusted).path
    except ValueError:
        return ()
    if not path.startswith(f"{BASE}/") or not _PLAIN_PLACE.fullmatch(path) or ".." in path or "//" in path:
        return ()
    return (("Location", public_url(request, path)),)


# -- pages -----------------------------------------------------------------------------------------------------------

_PAGE_TYPES = frozenset(
    {"text/html", "text/plain", "text/css", "text/csv", "text/javascript", "text/xml"}
    | {"application/json", "application/xml", "application/javascript", "application/x-javascript"}
    | {"application/font-woff", "application/font-woff2", "application/x-font-ttf", "application/vnd.ms-fontobject"}
    | {"font/woff", "font/woff2", "font/ttf", "font/otf"}
    | {"image/png", "image/gif", "image/jpeg", "image/webp", "image/svg+xml", "image/x-icon"}
    | {"image/vnd.microsoft.icon", "application/zip", "application/gzip"}
)
_DOWNLOAD = "application/octet-stream"
_CHARSET = re.compile(r"""charset\s*=\s*"?(utf-?8|iso-8859-1|us-ascii)"?""", re.IGNORECASE)
_FILE_NAME = re.compile(r"""filename\s*=\s*"?([A-Za-z0-9._-]{1,100})"?\s*(?:;|$)""")
_SANDBOX = "sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals"
_PAGE_POLICY = "frame-ancestors 'self'; base-uri 'self'; worker-src 'none'; object-src 'none'"


def carried_page(answer: RestAnswer, *, has_own_origin: bool, location: str, cookie: str | None) -> Answer:
    """A page of an ApplicationMaster as Heddle's answer.

    Args:
        answer: What the cluster's web proxy told: the application's word.
        has_own_origin: Whether pages are at a host name that nothing else of Heddle has; else each has an opaque
            origin: then its scripts have no cookies, no storage, no workers, and read nothing from anywhere.
        location: Where a redirect leads, as Heddle decided; empty for none.
        cookie: What to set at the client; None for nothing.

    Raises:
        JavaError: 502, where it is no answer that a client should act on.
    """
    status = answer.status if location and answer.status in _REDIRECTS else told_status(answer.status)
    sandbox = f"{_SANDBOX} allow-same-origin" if has_own_origin else _SANDBOX
    headers: list[tuple[str, str]] = [("Cache-Control", "private, no-cache")]
    if location:
        headers.append(("Location", location))
    else:
        headers += _page_content(answer)
    headers += [
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "SAMEORIGIN"),
        ("Referrer-Policy", "same-origin"),  # a change by a page's own form tells where it comes from
        ("Content-Security-Policy", f"{sandbox}; {_PAGE_POLICY}"),
        *((("Set-Cookie", cookie),) if cookie is not None else ()),
    ]
    return Answer(status, tuple(headers), b"" if location else answer.body)


def _page_content(answer: RestAnswer) -> Headers:
    """Type of a page's body; what no page has is a file to be kept, not shown."""
    values = [value for name, value in answer.headers if name.lower() == "content-type"]
    disposition = answer.header("Content-Disposition") or ""
    kind, _, parameters = (values[0] if len(values) == 1 else "").partition(";")
    kind = kind.strip().lower()
    if kind not in _PAGE_TYPES:
        if not answer.body and not kind:
            return ()
        kind, disposition = _DOWNLOAD, f"attachment; {disposition}"
    charset = _CHARSET.search(parameters)
    content = ("Content-Type", f"{kind};charset={charset[1].lower()}" if charset else kind)
    if not disposition.lstrip().lower().startswith("attachment"):
        return (content,)
    name = _FILE_NAME.search(disposition)
    return content, ("Content-Disposition", f'attachment; filename="{name[1]}"' if name else "attachment")
