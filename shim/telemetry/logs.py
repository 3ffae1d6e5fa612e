"""Structured logs: one JSON object a line, or coloured lines for people at a terminal.

Everybody logs with `structlog.get_logger("heddle.PART")` and key-value pairs; whoever handles a request binds its
`request_id` with `structlog.contextvars`. Lines of libraries that use `logging` take the same way.
"""

import logging
import sys
from contextlib import suppress
from functools import partial
from typing import TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from shim.telemetry.redaction import are_plain, escape, on_one_line, redact

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_QUIET = {
    "uvicorn.access": logging.CRITICAL,
    **dict.fromkeys(("uvicorn.error", "alembic", "asyncio", "httpx"), logging.WARNING),
}


def configure_logs(*, level: str, style: str, stream: TextIO | None = None) -> None:
    """Set up logging for this process.

    Args:
        level: `debug`, `info`, `warning` or `error`.
        style: `json`, `console`, or `auto`: console on a terminal, else json.
        stream: Where lines go; standard error if None.
    """
    target = stream or sys.stderr
    is_console = style == "console" or (style == "auto" and target.isatty())
    renderer = _for_people(colors=target.isatty()) if is_console else [_as_json]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _add_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            _on_one_line,
            *renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=partial(_NamedLogger, target),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_ToStructlog()]
    root.setLevel(_LEVELS[level])
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(least)


class _NamedLogger(structlog.WriteLogger):
    """Writes lines, and knows the name that it was asked for by.

    A line that nobody takes (the reader has gone, the disk is full) is lost: work does not end for want of a log.
    """

    def __init__(self, target: TextIO, name: str = "heddle") -> None:
        super().__init__(target)
        self.name = name

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):  # the latter of a stream that was closed
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg


def _add_name(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.setdefault("logger", logger.name)
    return event


class _ToStructlog(logging.Handler):
    """Passes the lines of libraries on."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(record.levelno, record.getMessage(), exc_info=record.exc_info or None)


def _on_one_line(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    # a traceback stays on many lines: for people each is indented, and JSON writes them as one
    trace = event.pop("exception", None)
    said = event if are_plain(event) else {key: on_one_line(value, key=key) for key, value in event.items()}
    if trace is not None:
        said["exception"] = redact(trace)
    return said


def _as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    if "exception" in event:
        event["exception"] = on_one_line(event["exception"])
    return msgspec.json.encode(event).decode()


def _for_people(*, colors: bool) -> list[Processor]:
    return [_readable, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _readable(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    # none of a traceback's lines can pass for a line of the log
    if "exception" in event:
        event["exception"] = "\n".join(f"  | {escape(line)}" for line in str(event["exception"]).splitlines())
    return event
