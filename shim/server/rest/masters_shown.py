"""The masters as a document of Heddle's own web services."""

from collections import Counter

from heddle import models
from shim.domain.launches import Verdict
from shim.peers.overview import MastersStatus

__all__ = ["shown_masters"]


def shown_masters(status: MastersStatus, asks: models.AsksStatus) -> models.Masters:
    """The document of `GET /heddle/v1/masters`."""
    said = Counter[Verdict]()
    for (_, verdict), count in status.verdicts.items():
        said[verdict] += count
    return models.Masters(
        name=status.name,
        masters=[
            models.Master(each.name, each.address, each.fence, each.remaining_s, is_live=each.remaining_s > 0)
            for each in status.masters
        ],
        queues=[models.QueueOwner(each.queue, each.owner) for each in status.queues],
        links=[
            models.Link(
                cluster=each.subcluster,
                is_linked=each.is_linked,
                address=each.address,
                trouble=each.trouble,
                reports=each.reports,
                resyncs=each.resyncs,
            )
            for each in status.links
        ],
        verdicts={verdict.value: said[verdict] for verdict in Verdict},
        inconsistencies=status.inconsistencies,
        repairs=status.repairs,
        passed_on=dict(status.passed_on),
        asks=asks,
    )
