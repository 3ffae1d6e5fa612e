"""The clients: the same operations, now or awaited, over `httpx`."""

import asyncio
import getpass
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from heddle.client.auth import Ticket, Token, token_of
from heddle.client.calls import AsksNow, AsyncAsks, Call, Flow, Pause
from heddle.client.errors import ClientError, CredentialsError
from heddle.client.events import LIVE, Event, EventReader
from heddle.client.exchange import Freshness, Patience, exchanged, freshness_of, read_as, translated
from heddle.client.manager_calls import ManagerOperations
from heddle.client.workflows import Workflows

__all__ = ["AsyncClient", "Client"]

T = TypeVar("T")

_DEFAULT_SERVER = "http://127.0.0.1:8088"
_SILENCE_S = 30.0
"""A stream of events that says nothing for so long is dead: a server that has nothing to tell says so every 10 s."""

OnAnswer = Callable[[Call[Any], Freshness], None]
_Errors = tuple[type[Exception], ...]


class _Settings:
    """What both clients are made from."""

    def __init__(
        self,
        server: str = _DEFAULT_SERVER,
        *,
        auth: httpx.Auth | None = None,
        ca_file: str = "",
        timeout_s: float = 30.0,
        patience: Patience | None = None,
        on_answer: OnAnswer | None = None,
        transport: Any = None,
    ) -> None:
        """Make a client; nothing is asked yet.

        Args:
            server: Base address, `http://host:port`.
            auth: Who calls: `User`, `Token`, `Ticket`, `httpx.BasicAuth` for a gateway; None for nobody.
            ca_file: CA of the server's certificate, if it is not one of the machine's.
            timeout_s: Seconds to connect, and between two parts of an answer.
            patience: Retries.
            on_answer: Told how old each answer is, and which sub-clusters are missing in it.
            transport: Instead of the network, for tests.

        Raises:
            CredentialsError: The CA cannot be used.
        """
        self.server = server.rstrip("/")
        self.patience = patience or Patience()
        self.timeout_s = timeout_s
        self._on_answer = on_answer
        options: dict[str, Any] = {
            "timeout": timeout_s,
            "trust_env": False,  # proxies of the environment are for the web, not for a cluster's own addresses
            "verify": _trusting(ca_file) if ca_file else True,
            "transport": transport,
            "headers": {"Accept": "application/json"},
            "auth": auth,
        }
        self._open(options)

    def _open(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **named: Any) -> Self:
        """Make a client by HEDDLE_SERVER, HEDDLE_TOKEN or HEDDLE_TOKEN_FILE, HEDDLE_CA_FILE and HADOOP_USER_NAME.

        Without a token it names the user, and shows a Kerberos ticket if it is asked for one.

        Raises:
            CredentialsError: The token or the CA cannot be used.
        """
        values = os.environ if environment is None else environment
        token = token_of(values)
        auth = Token(token) if token else Ticket(values.get("HADOOP_USER_NAME") or getpass.getuser())
        settings: dict[str, Any] = {"auth": auth, "ca_file": values.get("HEDDLE_CA_FILE", ""), **named}
        return cls(settings.pop("server", values.get("HEDDLE_SERVER", _DEFAULT_SERVER)), **settings)

    def now_s(self) -> float:
        """Seconds by a clock that only goes forward."""
        return time.monotonic()

    def _request(self, http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
        content = None if call.body is None or call.form is not None else msgspec.json.encode(call.body)
        headers = {**call.headers, **({} if content is None else {"Content-Type": "application/json"})}
        return http.build_request(
            call.method,
            self.server + call.path,
            params=call.parameters or None,
            content=content,
            data=call.form,
            headers=headers,
        )

    def _read(self, answer: httpx.Response, call: Call[T]) -> T:
        if self._on_answer is not None:
            self._on_answer(call, freshness_of(answer))
        return read_as(answer, call, self.server)


class Client(_Settings, AsksNow, Workflows):
    """Asks a Heddle; close it, or use it by `with`.

    Attributes:
        rm: A ResourceManager's web services, answered for all sub-clusters.
    """

    def _open(self, options: dict[str, Any]) -> None:
        self._http = httpx.Client(**options)
        self.rm = _ManagerNow(self)

    def send(self, call: Call[T]) -> T:
        """Ask one call; raises `ClientError`."""
        steps = exchanged(call, self.patience, self.server)
        return self._read(self._driven(steps, self._once, (httpx.HTTPError, httpx.InvalidURL)), call)

    def document(self, call: Call[Any]) -> Any:
        """Ask one call, and give its JSON as it came: with members that are newer than this client."""
        return self.send(replace(call, answer=object))

    def run(self, steps: Flow[T]) -> T:
        """Do several calls."""
        return self._driven(steps, self.send, (ClientError,))

    def _driven(self, steps: Generator[Call[Any] | Pause, Any, T], ask: Callable[[Call[Any]], Any], told: _Errors) -> T:
        """Do what steps want, and send them what came of it: an answer, or an error of those that they are told."""
        answer, error = None, None
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as ended:
                outcome: T = ended.value
                return outcome
            answer = error = None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                continue
            try:
                answer = ask(step)
            except told as exc:
                error = exc

    def _once(self, call: Call[Any]) -> httpx.Response:
        return self._http.send(self._request(self._http, call))

    def events(self, *watch: str) -> Iterator[Event]:
        """Yield documents whenever they change, for ever: each whole at first. Streams that end are begun anew.

        Args:
            watch: Addresses below `/heddle/v1/`, at most 8: `clusters`, `queues`, `apps/application_1_0001/why`.

        Raises:
            ClientError: It was refused, or nobody answered at the last of several tries.
        """
        call: Call[object] = Call("GET", LIVE, object, query={"watch": list(watch)})
        failures = 0
        while True:
            reader = EventReader()
            try:
                request = self._request(self._http, call)
                request.extensions["timeout"]["read"] = _SILENCE_S
                answer = self._http.send(request, stream=True)
                try:
                    if not answer.is_success:
                        answer.read()
                        _raise(call, answer, self.server)
                    for line in answer.iter_lines():
                        failures = 0
                        if (event := reader.read(line)) is not None:
                            yield event
                finally:
                    answer.close()
            except httpx.HTTPError as exc:
                failures += 1
                if failures > self.patience.retries:
                    raise translated(exc, self.server, call) from exc
                time.sleep(self.patience.pause_s(failures, None))

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncClient(_Settings, AsyncAsks, Workflows):
    """Asks a Heddle on an event loop; close it by `aclose`, or use it by `async with`.

    Attributes:
        rm: A ResourceManager's web services, answered for all sub-clusters.
    """

    def _open(self, options: dict[str, Any]) -> None:
        self._http = httpx.AsyncClient(**options)
        self.rm = _AsyncManager(self)

    async def send(self, call: Call[T]) -> T:
        """Ask one call; raises `ClientError`."""
        steps = exchanged(call, self.patience, self.server)
        return self._read(await self._driven(steps, self._once, (httpx.HTTPError, httpx.InvalidURL)), call)

    async def document(self, call: Call[Any]) -> Any:
        """Ask one call, and give its JSON as it came: with members that are newer than this client."""
        return await self.send(replace(call, answer=object))

    async def run(self, steps: Flow[T]) -> T:
        """Do several calls."""
        return await self._driven(steps, self.send, (ClientError,))

    async def _driven(
        self, steps: Generator[Call[Any] | Pause, Any, T], ask: Callable[[Call[Any]], Awaitable[Any]], told: _Errors
    ) -> T:
        """Do what steps want, and send them what came of it: an answer, or an error of those that they are told."""
        answer, error = None, None
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as ended:
                outcome: T = ended.value
                return outcome
            answer = error = None
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                continue
            try:
                answer = await ask(step)
            except told as exc:
                error = exc

    async def _once(self, call: Call[Any]) -> httpx.Response:
        return await self._http.send(self._request(self._http, call))

    async def events(self, *watch: str) -> AsyncIterator[Event]:
        """Yield documents whenever they change; see `Client.events`."""
        call: Call[object] = Call("GET", LIVE, object, query={"watch": list(watch)})
        failures = 0
        while True:
            reader = EventReader()
            try:
                request = self._request(self._http, call)
                request.extensions["timeout"]["read"] = _SILENCE_S
                answer = await self._http.send(request, stream=True)
                try:
                    if not answer.is_success:
                        await answer.aread()
                        _raise(call, answer, self.server)
                    async for line in answer.aiter_lines():
                        failures = 0
                        if (event := reader.read(line)) is not None:
                            yield event
                finally:
                    await answer.aclose()
            except httpx.HTTPError as exc:
                failures += 1
                if failures > self.patience.retries:
                    raise translated(exc, self.server, call) from exc
                await asyncio.sleep(self.patience.pause_s(failures, None))

    async def aclose(self) -> None:
        """Give up the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


class _ManagerNow(AsksNow, ManagerOperations):
    """A ResourceManager's operations of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def run(self, steps: Flow[T]) -> T:
        """Do several calls."""
        return self._client.run(steps)


class _AsyncManager(AsyncAsks, ManagerOperations):
    """A ResourceManager's operations of an asynchronous client."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def run(self, steps: Flow[T]) -> T:
        """Do several calls."""
        return await self._client.run(steps)


def _raise(call: Call[Any], answer: httpx.Response, server: str) -> None:
    """Raise what a refusal says."""
    steps = exchanged(call, Patience(retries=0), server)
    next(steps)
    steps.send(answer)


def _trusting(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as exc:
        raise CredentialsError(f"HEDDLE_CA_FILE={ca_file} cannot be used: {exc}") from exc
