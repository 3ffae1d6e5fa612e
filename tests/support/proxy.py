"""A network between two masters that a test can freeze, cut, and give back."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(slots=True)
class _Connection:
    """Both directions of one connection."""

    label: str
    writers: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    pipes: list["asyncio.Task[None]"] = field(default_factory=list)

    async def end(self) -> None:
        for pipe in self.pipes:
            pipe.cancel()
        for writer in self.writers:
            writer.close()
        await asyncio.gather(*self.pipes, return_exceptions=True)
        for writer in self.writers:
            with suppress(ConnectionError):
                await writer.wait_closed()


class Proxy:
    """Passes bytes on between whoever connects and one address; an asynchronous context manager.

    Attributes:
        address: Where it listens.
        inner: `host:port` that it passes on to; may be set late.
        label: Given to the connections that are made from now on.
        seen: What was passed on, either way, if somebody gave it a place.
    """

    def __init__(self, inner: str = "") -> None:
        self.inner = inner
        self.address = ""
        self.label = ""
        self.seen: bytearray | None = None
        self._takes = True
        self._flows = asyncio.Event()
        self._flows.set()
        self._connections: list[_Connection] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self._flows.set()
        await self.cut()

    def freeze(self) -> None:
        """Connections stay, and nothing moves on them."""
        self._flows.clear()

    def thaw(self) -> None:
        """What was frozen moves."""
        self._flows.set()

    async def cut(self, label: str | None = None) -> None:
        """End the connections with a label, or all; new ones are ended at once until `mend`."""
        self._takes = False
        ended = [each for each in self._connections if label is None or each.label == label]
        for each in ended:
            self._connections.remove(each)
            await each.end()

    def mend(self) -> None:
        """Take connections again."""
        self._takes = True

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._takes:
            writer.close()
            return
        host, _, port = self.inner.rpartition(":")
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        joined = _Connection(self.label, (writer, inner_writer))
        for source, target in ((reader, inner_writer), (inner_reader, writer)):
            joined.pipes.append(asyncio.create_task(self._pipe(source, target)))
        self._connections.append(joined)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                await self._flows.wait()
                if self.seen is not None:
                    self.seen += data
                writer.write(data)
        writer.close()
