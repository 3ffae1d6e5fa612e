"""Heddle's own web service on policies in the shadow of queues, below `/heddle/v1/`.

GET   policy/shadow     where the policy in the shadow of each queue differs from the one in force, for operators
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import Response

from heddle import models
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
        return (OwnEndpoint("GET", "policy/shadow", self.differences, models.Shadows),)

    async def differences(self) -> Response:
        """Counts by kind, and the newest differences, of each queue with a policy in its shadow."""
        return as_json(models.Shadows([shown_shadow(queue, each) for queue, each in sorted(self.reports().items())]))


def shown_shadow(queue: str, report: ShadowReport) -> models.Shadow:
    """Write one queue's report, the newest difference first."""
    return models.Shadow(
        queue=queue,
        in_force=report.in_force,
        shadow=report.shadow,
        since_ms=int(report.since_s * 1000),
        cycles=report.cycles,
        skipped=report.skipped,
        solved=report.solved,
        unsolved=report.unsolved,
        differences={kind.value: report.counts[kind] for kind in DifferenceKind},
        newest=[_shown(each) for each in reversed(report.newest)],
    )


def _shown(difference: Difference) -> models.Difference:
    return models.Difference(
        at_ms=int(difference.at_s * 1000),
        kind=difference.kind.value,
        application=str(difference.attempt.application),
        priority=None if difference.key is None else difference.key.priority,
        in_force={str(name): count for name, count in difference.in_force.items()},
        in_force_reason=difference.in_force_why,
        shadow={str(name): count for name, count in difference.shadow.items()},
        shadow_reason=difference.shadow_why,
    )
