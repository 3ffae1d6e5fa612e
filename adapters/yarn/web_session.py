"""Connections to the web services of one sub-cluster: how they are opened, and whether a request went out on one."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp

__all__ = ["RestSettings", "Trail", "open_session"]

_IDLE_S = 15.0  # Jetty closes after 60 s: a connection that it may be closing must not carry a submission


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Settings of requests to a ResourceManager.

    Attributes:
        user: Heddle's own user.
        connect_timeout_s: For opening a connection, and for asking who is active.
        timeout_s: For a whole exchange, unless the caller says another.
        max_answer_bytes: Longest answer, packed and unpacked.
        is_proxy: Whether others' requests go as Heddle's user with `doAs`, which needs `hadoop.proxyuser.USER.*` there;
            otherwise with `user.name`.
        max_page_bytes: The same of a page of an ApplicationMaster.
        connections: Most connections at a time.
        tls: The context for https of the moment, which a connection that is opened then is made with; without it, what
            the machine trusts.
    """

    user: str
    connect_timeout_s: float
    timeout_s: float
    max_answer_bytes: int
    is_proxy: bool = False
    max_page_bytes: int = 16 * 1024 * 1024
    connections: int = 64
    tls: Callable[[], ssl.SSLContext] | None = None

    def for_https(self) -> ssl.SSLContext | bool:
        """Argument `ssl` of aiohttp; with another context it uses no connection of before."""
        return True if self.tls is None else self.tls()


class Trail(SimpleNamespace):
    """Trail of a request: whether the head of any attempt was written."""

    was_sent: bool = False


def open_session(settings: RestSettings) -> aiohttp.ClientSession:
    """A pool of connections, none of them open yet; requests carry a `Trail`, and `settings.for_https()`."""
    connector = aiohttp.TCPConnector(limit=settings.connections, keepalive_timeout=_IDLE_S)
    watch = aiohttp.TraceConfig()
    watch.on_request_headers_sent.append(_note_sent)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout_s),
        headers={"User-Agent": "heddle"},
        skip_auto_headers=("Content-Type", "Accept"),  # a request says only what the caller said
        trace_configs=[watch],
    )


async def _note_sent(
    session: aiohttp.ClientSession, context: SimpleNamespace, _: aiohttp.TraceRequestHeadersSentParams
) -> None:
    del session
    context.trace_request_ctx.was_sent = True
