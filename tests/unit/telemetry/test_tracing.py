"""Traces: nothing where nothing is asked for, OpenTelemetry's own form where it is."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.trace import StatusCode

from shim.errors import ConfigError
from shim.telemetry.tracing import Kind, open_tracing, span
from tests.support.traces import tracing

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collector:
    """Takes what is exported over HTTP."""

    def __init__(self) -> None:
        self.taken: list[ExportTraceServiceRequest] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    collector.taken.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {ENDPOINT: ""},
        {ENDPOINT: "http://x", "OTEL_SDK_DISABLED": "true"},
        {ENDPOINT: "http://x", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_traced_unless_a_collector_is_named(environment):
    assert open_tracing(environment, version="1") is None
    assert span("one", Kind.SERVER) is span("another", Kind.CLIENT, {"a": 1})
    with span("one", Kind.SERVER) as traced:
        traced.tell({"a": 1}, name="x", failed="y")


def test_a_protocol_that_is_not_spoken_is_refused():
    with pytest.raises(ConfigError, match="http/protobuf alone"):
        open_tracing({ENDPOINT: "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, version="1")


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match=r"its extra \[tracing\]"):
        open_tracing({ENDPOINT: "http://x"}, version="1")


def test_spans_go_to_the_collector_in_its_own_form(collector, monkeypatch):
    monkeypatch.setenv(ENDPOINT, collector.url)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=lab")
    end = open_tracing({ENDPOINT: collector.url}, version="1.2")
    assert end is not None
    outer = span("outer", Kind.SERVER, {"url.path": "/x", "empty": "", "long": "y" * 1000})
    with outer, span("inner", Kind.CLIENT) as inner:
        inner.tell({"http.response.status_code": 503}, failed="away")
    end()
    (told,) = [each for request in collector.taken for each in request.resource_spans]
    resource = {each.key: each.value.string_value for each in told.resource.attributes}
    assert (resource["service.name"], resource["service.version"]) == ("heddle", "1.2")
    assert resource["deployment.environment"] == "lab"
    spans = {each.name: each for scope in told.scope_spans for each in scope.spans}
    assert spans["inner"].parent_span_id == spans["outer"].span_id
    assert spans["inner"].status.message == "away"
    shown = {each.key: each.value.string_value for each in spans["outer"].attributes}
    assert shown == {"url.path": "/x", "long": "y" * 200}
    assert span("after", Kind.SERVER) is span("the end", Kind.SERVER)


async def test_tasks_that_are_begun_meanwhile_belong_to_it():
    async def work() -> None:
        with span("in a task", Kind.CLIENT):
            await asyncio.sleep(0)

    with tracing() as traced:
        with span("request", Kind.SERVER):
            task = asyncio.create_task(work())
        await task
        assert traced.below(traced.named("request")) == {"in a task"}


def test_an_exception_is_a_failure_and_a_foreign_parent_is_a_parent():
    with tracing() as traced:
        with pytest.raises(ValueError, match="bug"), span("fails", Kind.SERVER):
            raise ValueError("bug")
        with span("goes on", Kind.SERVER, parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
            """Nothing."""
        with span("stands alone", Kind.SERVER, parent="00-no-such"):
            """Nothing."""
    assert traced.named("fails").status.status_code is StatusCode.ERROR
    parent = traced.named("goes on").parent
    assert parent is not None
    assert f"{parent.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert traced.named("stands alone").parent is None
