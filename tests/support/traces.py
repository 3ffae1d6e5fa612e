"""Spans that were ended, for tests to look at."""

import contextlib
from collections.abc import Iterator, Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shim.telemetry.tracing import trace_with


class Traced:
    """What was traced."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """All that have ended, in that order."""
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> ReadableSpan:
        """The one of that name."""
        (found,) = [each for each in self.spans if each.name == name]
        return found

    def below(self, above: ReadableSpan) -> set[str]:
        """Names of the spans that were begun while `above` was open, at whatever depth."""
        children = {each.context.span_id: each for each in self.spans if each.context}
        found = set()
        for each in self.spans:
            parent = each.parent
            while parent is not None:
                if above.context is not None and parent.span_id == above.context.span_id:
                    found.add(each.name)
                parent = children[parent.span_id].parent if parent.span_id in children else None
        return found


@contextlib.contextmanager
def tracing() -> Iterator[Traced]:
    """Trace for a while."""
    exporter = InMemorySpanExporter()
    end = trace_with(SimpleSpanProcessor(exporter), version="test")
    try:
        yield Traced(exporter)
    finally:
        end()
