"""Scripted ResourceManagers over real HTTP, for programs in processes of their own."""

import asyncio
import base64
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from adapters.kerberos import WebTickets
from shim.app.host_limits import SystemClock
from shim.domain.ids import ApplicationId
from shim.ports.resource_manager import RestRequest
from tests.doubles.resource_manager import ScriptedResourceManager

_SHOWS_USERS = "user.name"
_COOKIE = 'hadoop.auth="u=heddle&p=heddle&t=kerberos-dt&e=1&s=x="'


class ServedManager:
    """One that listens on a port of its own; a context manager.

    Args:
        subcluster: Whose it is.
        tls: How it speaks TLS; None for plain HTTP.
        tickets: Who looks at the tickets that it asks for; None if it believes names.

    Attributes:
        principals: Of those that showed tickets.
        manager: What answers; changed and looked at under `lock` alone.
        url: Its web address.
    """

    def __init__(
        self, subcluster: str, *, tls: ssl.SSLContext | None = None, tickets: WebTickets | None = None
    ) -> None:
        self.manager = ScriptedResourceManager(subcluster, clock=SystemClock())
        self.lock = Lock()
        self.principals: list[str] = []
        manager, lock, principals = self.manager, self.lock, self.principals

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_in(self) -> list[tuple[str, str]] | None:
                """Headers for who may ask; None for who may not."""
                if tickets is None or _COOKIE in self.headers.get("Cookie", ""):
                    return []
                kind, _, token = self.headers.get("Authorization", "").partition(" ")
                if kind != "Negotiate":
                    return None
                principal, proof = asyncio.run(tickets.accept(base64.b64decode(token)))
                principals.append(principal)
                told = f"Negotiate {base64.b64encode(proof).decode()}"
                return [("WWW-Authenticate", told), ("Set-Cookie", f"{_COOKIE}; Path=/; HttpOnly")]

            def answer(self) -> None:
                own = self.log_in()
                if own is None:
                    self.rfile.read(int(self.headers.get("Content-Length") or 0))
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", "Negotiate")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                where = urlsplit(self.path)
                told = parse_qsl(where.query)
                user = dict(told).get(_SHOWS_USERS)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                others = tuple((name, value) for name, value in told if name != _SHOWS_USERS)
                asked = RestRequest(self.command, where.path, others, user, tuple(self.headers.items()), body)
                with lock:
                    found = asyncio.run(manager.forward(asked))
                self.send_response(found.status)
                for name, value in (*own, *found.headers):
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(found.body)))
                self.end_headers()
                self.wfile.write(found.body)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - as http.server has them

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def applications(self) -> set[ApplicationId]:
        """Those that it has taken."""
        with self.lock:
            return {*self.manager.applications}

    def finish_all(self) -> None:
        """Let everything that it has taken end well."""
        self.end_all("FINISHED")

    def end_all(self, state: str) -> None:
        """Let everything that it has taken, and that has not ended, end so."""
        with self.lock:
            for each, told in [*self.manager.applications.items()]:
                if told["state"] not in {"FINISHED", "FAILED", "KILLED"}:
                    self.manager.move(each, state)
