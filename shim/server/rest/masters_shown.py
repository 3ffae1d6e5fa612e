"""The masters as a document of Heddle's own web services."""

from collections import Counter
from typing import Any

from shim.domain.verdicts import Verdict
from shim.peers.overview import MastersStatus

__all__ = ["shown_masters"]


def shown_masters(status: MastersStatus) -> dict[str, Any]:
    """The document of `GET /heddle/v1/masters`."""
    said = Counter[Verdict]()
    for (_, verdict), count in status.verdicts.items():
        said[verdict] += count
    return {
        "name": status.name,
        "masters": [
            {
                "master": each.name,
                "address": each.address,
                "fence": each.fence,
                "remaining_s": each.remaining_s,
                "is_live": each.remaining_s > 0,
            }
            for each in status.masters
        ],
        "queues": [{"queue": each.queue, "owner": each.owner} for each in status.queues],
        "links": [
            {
                "cluster": each.subcluster,
                "is_linked": each.is_linked,
                "address": each.address,
                "trouble": each.trouble,
                "reports": each.reports,
                "resyncs": each.resyncs,
            }
            for each in status.links
        ],
        "verdicts": {verdict.value: said[verdict] for verdict in Verdict},
        "inconsistencies": status.inconsistencies,
        "repairs": status.repairs,
        "passed_on": dict(status.passed_on),
    }
