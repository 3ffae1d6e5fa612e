"""Write the page of metrics from the definitions of the metrics, or check that it is current (`--check`)."""

import sys
from collections.abc import Iterator
from pathlib import Path

from shim.telemetry import definitions
from shim.telemetry.definitions import MetricDefinition

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators" / "monitoring" / "metrics.md"

_HEAD = """# Metrics

<!-- written by scripts/metrics_page.py: change shim/telemetry/definitions.py instead -->

What `/metrics` of `heddle serve` and of each Global Master tells. A histogram has `_bucket`, `_sum` and `_count`
behind its name. `process_resident_memory_bytes`, `process_cpu_seconds_total` and the others of Prometheus' client
library are there, too. [Alerts](alerts.yaml) and [boards](README.md) are made of these.
"""


_SUBJECTS = {
    definitions.HTTP_REQUESTS: "The process",
    definitions.SUBCLUSTER_AGE_SECONDS: "Sub-clusters",
    definitions.SUBMISSIONS: "Submissions",
    definitions.QUEUE_WAITING_APPLICATIONS: "Queues",
    definitions.AM_SESSIONS: "ApplicationMasters",
    definitions.HOME_VERDICTS: "Masters",
}
"""Subjects by the first of their metrics. Those of masters are there where several Global Masters are."""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_subject(subject, defined) for subject, defined in subjects().items())


def subjects() -> dict[str, tuple[MetricDefinition, ...]]:
    """Every definition, by its subject."""
    found: dict[str, tuple[MetricDefinition, ...]] = {}
    subject = ""
    for each in vars(definitions).values():
        if isinstance(each, MetricDefinition):
            subject = _SUBJECTS.get(each, subject)
            found[subject] = (*found.get(subject, ()), each)
    return found


def _subject(subject: str, defined: tuple[MetricDefinition, ...]) -> str:
    return "\n".join(
        (f"\n## {subject}\n", "| metric | type | labels | meaning |", "|---|---|---|---|", *_rows(defined), "")
    )


def _rows(defined: tuple[MetricDefinition, ...]) -> Iterator[str]:
    for each in defined:
        meaning = f"{each.meaning}; {each.notes}" if each.notes else each.meaning
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.exposed}` | {each.kind} | {labels} | {meaning} |"


def main() -> int:
    """Write the page; with `--check`, say whether it is current."""
    if "--check" in sys.argv[1:]:
        is_current = PAGE.read_text("utf-8") == page()
        if not is_current:
            print(f"{PAGE.name} is not what the code says: run python -m scripts.metrics_page", file=sys.stderr)
        return 0 if is_current else 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
