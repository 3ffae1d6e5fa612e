"""Heddle's own web service on policies in the shadow of queues, below `/heddle/v1/`.

GET   policy/shadow     where the policy in the shadow of each queue differs from the one in force, for operators
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from shim.scheduling.shadow_report import Difference, DifferenceKind, ShadowReport
from shim.server.rest.own_endpoints import OwnEndpoint, as_json

__all__ = ["ShadowAPI", "shown_shadow"]


@dataclass(frozen=True, slots=True)
class ShadowAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        reports: Tells how the two policies of each queue differ.
    """

    reports: Callable[[], Mapping[str, ShadowReport]]

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each."""
        return (OwnEndpoint("GET", "policy/shadow", self.differences),)

    async def differences(self) -> Response:
        """Counts by kind, and the newest differences, of each queue with a policy in its shadow."""
        return as_json({"queues": [shown_shadow(queue, each) for queue, each in sorted(self.reports().items())]})


def shown_shadow(queue: str, report: ShadowReport) -> dict[str, Any]:
    """Write one queue's report as a plain JSON object, the newest difference first."""
    return {
        "queue": queue,
        "in_force": report.in_force,
        "shadow": report.shadow,
        "since_ms": int(report.since_s * 1000),
        "cycles": report.cycles,
        "skipped": report.skipped,
        "solved": report.solved,
        "unsolved": report.unsolved,
        "differences": {kind.value: report.counts[kind] for kind in DifferenceKind},
        "newest": [_shown(each) for each in reversed(report.newest)],
    }


def _shown(difference: Difference) -> dict[str, Any]:
    return {
        "at_ms": int(difference.at_s * 1000),
        "kind": difference.kind.value,
        "application": str(difference.attempt.application),
        "priority": None if difference.key is None else difference.key.priority,
        "in_force": difference.in_force,
        "in_force_reason": difference.in_force_why,
        "shadow": difference.shadow,
        "shadow_reason": difference.shadow_why,
    }
