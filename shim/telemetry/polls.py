"""Polls of ResourceManagers, counted by how they ended."""

from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.errors import HeddleError
from shim.federation.core.federation_view import Applied
from shim.telemetry.metrics import Metrics

__all__ = ["PollCounter"]


@dataclass(frozen=True, slots=True)
class PollCounter:
    """Counts polls by how they ended."""

    metrics: Metrics

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        """See `PollListener`."""
        self.metrics.poll(report.subcluster, "reported")
        for what, count in report.left_out.items():
            self.metrics.left_out(report.subcluster, what, count)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`."""
        self.metrics.poll(subcluster, type(error).__name__)
