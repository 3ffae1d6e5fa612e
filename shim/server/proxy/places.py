"""Paths of pages, and places that redirects lead to. Pure.

Source: `org.apache.hadoop.yarn.server.webproxy.WebAppProxyServlet`, `ProxyUriUtils` of Hadoop 3.4.2.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from shim.domain.ids import ApplicationId
from shim.errors import BadRequestError, HeddleError, NotFoundError
from shim.protocol.rest.identifiers import path_application

PROXY = "/proxy/"
_REDIRECT = "redirect/"
"""What `AmIpFilter` puts before the id."""

_CLUSTER_PAGE = "/cluster/app/"
_LONGEST = 4096
_PLAIN = re.compile(r"[A-Za-z0-9._~!$&'()*+,=:@%/-]*")
"""What may stand in a path: neither `;`, behind which Jetty reads parameters, nor a backslash."""


class ElsewhereError(HeddleError):
    """A page that has moved to an address that nobody vouches for.

    Attributes:
        address: That address, as it was told.
    """

    def __init__(self, address: str) -> None:
        super().__init__(f"its pages have moved to {address[:200]}")
        self.address = address


@dataclass(frozen=True, slots=True)
class PagePath:
    """An application's page.

    Attributes:
        rest: What follows the id, percent-encoded, from `/`; empty where there is not even a slash.
        is_redirected: Whether an ApplicationMaster has sent its reader here, whom it does not take for its proxy.
    """

    application: ApplicationId
    rest: str
    is_redirected: bool = False

    @property
    def whole(self) -> str:
        """The path as a ResourceManager has it."""
        return f"{PROXY}{self.application}{self.rest}"


def page_path(raw_path: str) -> PagePath:
    """Read a path that begins with `PROXY`.

    Raises:
        NotFoundError: It names no application.
        BadRequestError: It has segments or characters with which it could mean another place of a ResourceManager than
            the page of this application.
    """
    if not raw_path.startswith(PROXY):
        raise NotFoundError("pages are below /proxy/APPLICATION/")
    path = raw_path.removeprefix(PROXY)
    is_redirected = path.startswith(_REDIRECT)
    named, slash, rest = path.removeprefix(_REDIRECT).partition("/")
    application = path_application(named)
    if len(raw_path) > _LONGEST or not _PLAIN.fullmatch(rest) or not _stays_below(rest):
        raise BadRequestError("that path of a page is too long, or could mean another place")
    return PagePath(application, slash + rest, is_redirected)


def _stays_below(rest: str) -> bool:
    """True if no reader, however often it decodes, sees a step upwards or another separator."""
    seen = rest
    for _ in range(3):
        if any(part in (".", "..") for part in seen.split("/")) or re.search(r"[\\;\x00-\x1f\x7f]", seen):
            return False
        decoded = unquote(seen)
        if decoded == seen:
            return True
        if decoded.count("/") != seen.count("/"):
            return False
        seen = decoded
    return False


def place_of(location_untrusted: str, page: PagePath, *, histories: Collection[str], front: str) -> str:
    """The place that a browser is sent to which was told to go elsewhere.

    Args:
        location_untrusted: `Location` of a ResourceManager's answer, which may be an ApplicationMaster's word.
        histories: Origins (`http://host:port`) of the servers that show ended applications of that cluster.
        front: Origin of Heddle's web services and pages.

    Returns:
        A path of this server, or a whole address.

    Raises:
        ElsewhereError: It is another web address.
        NotFoundError: It is nothing of the kind.
    """
    try:
        parts = urlsplit(location_untrusted)
        origin = f"{parts.scheme}://{parts.netloc}".lower()
    except ValueError:
        raise NotFoundError("its pages are at an address that is none") from None
    query = f"?{parts.query}" if parts.query else ""
    for own in (f"{PROXY}{page.application}", f"{PROXY}{_REDIRECT}{page.application}"):
        if parts.path == own or parts.path.startswith(f"{own}/"):
            return f"{page_path(parts.path).whole}{query}"
    if parts.path == f"{_CLUSTER_PAGE}{page.application}":
        return f"{front}{parts.path}"
    if parts.scheme in ("http", "https") and origin in {each.rstrip("/").lower() for each in histories}:
        return location_untrusted
    if parts.scheme in ("http", "https") and parts.netloc:
        raise ElsewhereError(location_untrusted)
    raise NotFoundError("its pages are nowhere that a browser could go")
