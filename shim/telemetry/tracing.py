"""Traces by OpenTelemetry: switched on by its own `OTEL_*` variables, and of no cost where they are not set.

A span begun while another one is open belongs to it, also in tasks that were begun meanwhile: so a request, what it
writes to the store, and what it asks of ResourceManagers are one trace. `traceparent` of a web client (W3C Trace
Context) goes before.

Source: OpenTelemetry specification 1.45, "Environment Variable Specification"; https://www.w3.org/TR/trace-context/.
"""

import importlib
from collections.abc import Callable, Mapping
from enum import Enum
from types import TracebackType
from typing import Any, Self

from shim.errors import ConfigError
from shim.telemetry.redaction import redact

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_LONGEST = 200

Attributes = Mapping[str, object]
_NONE: Attributes = {}


class Kind(Enum):
    """Roles of spans; the names are OpenTelemetry's."""

    SERVER = "SERVER"
    CLIENT = "CLIENT"


class Span:
    """A stretch of work, as a context manager; this one tells nobody.

    Attributes:
        is_recording: Whether anybody hears what is told: else it need not be made.
    """

    __slots__ = ()
    is_recording = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The end."""

    def tell(self, attributes: Attributes = _NONE, *, name: str = "", failed: str = "") -> None:
        """Say what was learnt: attributes, another name, how it failed. What is empty is not said."""


_NOTHING = Span()
_begin: Callable[[str, Kind, Attributes, str | None], Span] | None = None


def is_tracing() -> bool:
    """True while spans are exported."""
    return _begin is not None


def span(name: str, kind: Kind, attributes: Attributes = _NONE, *, parent: str | None = None) -> Span:
    """Begin a span at `with`.

    Args:
        name: Few different ones: an endpoint, a method, no value of a client.
        attributes: By the names of OpenTelemetry's semantic conventions, or `heddle.`.
        parent: `traceparent` of whoever asks, as it was received.
    """
    return _NOTHING if _begin is None else _begin(name, kind, attributes, parent)


def open_tracing(environment: Mapping[str, str], *, version: str) -> Callable[[], None] | None:
    """Begin to export, if the environment names a collector.

    Args:
        version: Of Heddle, for the resource.

    Returns:
        What sends the rest and ends it; None if nothing is exported.

    Raises:
        ConfigError: A collector is named and cannot be used.
    """
    endpoint = next((name for name in _ENDPOINTS if environment.get(name)), "")
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if not endpoint or is_off or environment.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp":
        return None
    protocol = next((found for name in _PROTOCOLS if (found := environment.get(name))), _PROTOCOL)
    if protocol != _PROTOCOL:
        raise ConfigError("the environment", _PROTOCOLS[1], f"is {protocol[:40]!r}; Heddle speaks {_PROTOCOL} alone")
    try:
        exporting = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        batches = importlib.import_module("opentelemetry.sdk.trace.export")
    except ImportError as exc:
        advice = "is set, and OpenTelemetry is not installed: install Heddle with its extra [tracing], or unset it"
        raise ConfigError("the environment", endpoint, advice) from exc
    return trace_with(batches.BatchSpanProcessor(exporting.OTLPSpanExporter()), version=version)


def trace_with(processor: Any, *, version: str) -> Callable[[], None]:
    """Hand every span to a processor of OpenTelemetry from now on; returns what ends that."""
    global _begin  # noqa: PLW0603 - there is one process to trace
    sdk = importlib.import_module("opentelemetry.sdk.trace")
    resources = importlib.import_module("opentelemetry.sdk.resources")
    named = resources.Resource({"service.name": "heddle", "service.version": version})
    resource = named.merge(resources.OTELResourceDetector().detect())
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("heddle", version)
    api = importlib.import_module("opentelemetry.trace")
    context = importlib.import_module("opentelemetry.trace.propagation.tracecontext").TraceContextTextMapPropagator()

    def begin(name: str, kind: Kind, attributes: Attributes, parent: str | None) -> Span:
        above = None if parent is None else context.extract({"traceparent": parent})
        begun = tracer.start_as_current_span(name, above, api.SpanKind[kind.value], _shown(attributes))
        return _Exported(begun, api.StatusCode.ERROR)

    def end() -> None:
        global _begin  # noqa: PLW0603 - as above
        _begin = None
        provider.shutdown()

    _begin = begin
    return end


class _Exported(Span):
    """A span of OpenTelemetry."""

    __slots__ = ("_error", "_manager", "_span")
    is_recording = True

    def __init__(self, manager: Any, error: Any) -> None:
        self._manager = manager
        self._error = error
        self._span: Any = None

    def __enter__(self) -> Self:
        self._span = self._manager.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manager.__exit__(kind, error, trace)

    def tell(self, attributes: Attributes = _NONE, *, name: str = "", failed: str = "") -> None:
        if name:
            self._span.update_name(name)
        if failed:
            self._span.set_status(self._error, str(redact(failed))[:_LONGEST])
        self._span.set_attributes(_shown(attributes))


def _shown(attributes: Attributes) -> dict[str, bool | int | float | str]:
    return {
        key: value if isinstance(value, bool | int | float) else str(redact(str(value)))[:_LONGEST]
        for key, value in attributes.items()
        if value not in ("", None)
    }
