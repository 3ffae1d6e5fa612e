"""The processes behind `poll.workers`: how one is begun and ended, and what it consists of.

A child is spawned, not forked: it has nothing of its parent's but the configuration, which goes to it through a pipe,
and one end of a pair of sockets. It makes its own way to ResourceManagers of that configuration, so tickets and
certificates are those that its parent would use. It logs to the same standard error, in the same form.
"""

import asyncio
import multiprocessing
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess

import structlog

from shim.app.connections import connect_for_polls
from shim.app.host_limits import SystemClock, spare_collector, system_random
from shim.app.kerberos import open_login
from shim.app.settings import poll_schedule
from shim.config.kerberos import KerberosConfig
from shim.config.loader import Config
from shim.config.sections import LogConfig
from shim.config.subclusters import PollConfig, SubClusterConfig
from shim.domain.ids import SubClusterId
from shim.federation.poll_workers import PollDuty, serve_polls
from shim.protocol.peers.poll_frames import (
    LENGTH_BYTES,
    PollFrame,
    decode_poll_frame,
    encode_poll_frame,
    poll_frame_length,
)
from shim.telemetry import ObservedResourceManager, configure_logs

_LOG = structlog.get_logger("heddle.heartbeats")
_ENDS_WITHIN_S = 2.0
_BUFFERED = 1024 * 1024
_PARENTS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
)
"""Signals that a terminal or a service manager sends to all processes of Heddle: the first one answers them, and the
others end with it."""


class FrameStream:
    """Frames over a socket; see `PollStream`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=_BUFFERED)

    @classmethod
    async def over(cls, end: socket.socket) -> "FrameStream":
        return cls(*await asyncio.open_connection(sock=end, limit=_BUFFERED))

    async def read(self) -> PollFrame:
        length = poll_frame_length(await self._reader.readexactly(LENGTH_BYTES))
        return decode_poll_frame(await self._reader.readexactly(length))

    def write(self, frame: PollFrame) -> None:
        self._writer.write(encode_poll_frame(frame))

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


@dataclass(frozen=True, slots=True)
class _Child:
    """A process that polls; see `PollProcess`."""

    process: BaseProcess
    stream: FrameStream

    @property
    def pid(self) -> int | None:
        return self.process.pid

    async def end(self) -> int | None:
        self.stream.close()
        await asyncio.to_thread(_end, self.process)
        return self.process.exitcode


def _end(process: BaseProcess) -> None:
    process.join(_ENDS_WITHIN_S)
    if process.is_alive():
        process.kill()
        process.join()


@dataclass(frozen=True, slots=True)
class _Settings:
    """The part of a configuration that a process that polls goes by."""

    subclusters: tuple[SubClusterConfig, ...]
    poll: PollConfig
    kerberos: KerberosConfig
    log: LogConfig
    proxy_url: str

    @classmethod
    def of(cls, config: Config, duty: PollDuty) -> "_Settings":
        """Its share alone, without what decides on placement, and what cannot be handed on."""
        mine = (each for each in config.subclusters if SubClusterId(each.id) in duty.live)
        share = tuple(replace(each, reads_from={}) for each in mine)
        return cls(share, config.poll, config.security.kerberos, config.log, config.server.proxy_url)


def child_processes(config: Config) -> Callable[[PollDuty], Awaitable[_Child]]:
    async def begin(duty: PollDuty) -> _Child:
        ours, theirs = socket.socketpair()
        name = f"heddle-polls-{duty.number}"
        process = multiprocessing.get_context("spawn").Process(
            target=poll_in_child, args=(_Settings.of(config, duty), duty, theirs), daemon=True, name=name
        )
        try:
            await asyncio.to_thread(process.start)  # writes until the child reads
            stream = await FrameStream.over(ours)
        except BaseException:
            ours.close()  # a child that began all the same ends by this
            raise
        finally:
            theirs.close()
        return _Child(process, stream)

    return begin


def poll_in_child(settings: _Settings, duty: PollDuty, channel: socket.socket) -> None:
    """Poll until the parent has gone: the child's main function."""
    import uvloop  # noqa: PLC0415 - the parent has it already, where it is needed

    for each in _PARENTS:
        signal.signal(each, signal.SIG_IGN)
    configure_logs(level=settings.log.level, style=settings.log.format)
    try:
        uvloop.run(_poll(settings, duty, channel))
    except Exception:  # noqa: BLE001 - the boundary of the process: the parent begins another one
        _LOG.exception("a process that polls failed", process=duty.number)
        raise SystemExit(1) from None


@dataclass(frozen=True, slots=True)
class _Exchanges:
    """Notes exchanges with ResourceManagers, for the metrics of the parent."""

    noted: list[tuple[str, str, float]]

    def exchange(self, subcluster: str, outcome: str, duration_s: float) -> None:
        self.noted.append((subcluster, outcome, duration_s))


async def _poll(settings: _Settings, duty: PollDuty, channel: socket.socket) -> None:
    clock, exchanges = SystemClock(), _Exchanges([])
    async with AsyncExitStack() as stack:
        login = open_login(settings.kerberos)
        if login is not None:
            stack.callback(login.close)
        managers = connect_for_polls(settings.subclusters, settings.poll, settings.proxy_url, login)
        for manager in managers.values():
            stack.push_async_callback(manager.close)
        observed = {id_: ObservedResourceManager(each, exchanges, clock) for id_, each in managers.items()}
        stream, schedule = await FrameStream.over(channel), poll_schedule(settings.poll)
        stack.callback(stream.close)
        spare_collector()
        await serve_polls(duty, observed, stream, clock, schedule, system_random(), exchanges.noted)
