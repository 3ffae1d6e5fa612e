"""Step 1 of a cycle where masters launch by themselves: the snapshot of what one Global Master knows.

Its own queues it knows exactly: every launch that it made and that has not ended counts. Of others' queues it knows
what Local Masters said in their last heartbeats. What it has asked back since then is counted as given back already, so
that nothing is asked back twice.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairness import FloatArray
from shim.domain.ids import LocalMasterId
from shim.domain.messages import LocalMasterReport, Offer
from shim.scheduling.cycle import share_of
from shim.scheduling.durations import horizon_of
from shim.scheduling.global_master.core import Core
from shim.scheduling.snapshot import Column, OfferedCapacity, Queues, Snapshot, expect_durations


def take_snapshot(core: Core, now_s: float, offers: Sequence[OfferedCapacity] = ()) -> Snapshot:
    """Take a snapshot of the present state; arrays are shared, not copied, so that it is good until the next event."""
    table, ordering = core.book.table, core.policy.ordering
    long_from_s = core.book.durations.long_from_s if core.policy.commitment.kept_for_short else math.inf
    if ordering.learns_durations and not table.is_idle:
        expect_durations(table, core.book.durations, now_s, horizon_s=_horizon_s(core, long_from_s, now_s))
    if ordering.reads_shares:
        _write_shares(core)
    return Snapshot(
        now_s=now_s,
        nodes=core.view,
        jobs=table.all_columns,
        requests=core.book.requests.requests(),
        queues=_queues_of(core, now_s) if core.queue_rows and not table.is_idle else _NO_QUEUES,
        offers=tuple(offers),
        long_from_s=long_from_s,
    )


_NO_QUEUES = Queues()


def _horizon_s(core: Core, long_from_s: float, now_s: float) -> float:
    """The horizon of the order: bids are comparable only if it is the same for all bidders.

    Local Masters have everybody's bids. So it goes by what they say, and not by the Global Master's own queue. Where
    room is kept for short tasks there is none: those do not wait for the long ones anyway.
    """
    if not core.policy.ordering.has_horizon or math.isfinite(long_from_s):
        return math.inf
    return horizon_of(now_s - core.nobody_bid_at_s)


def offered_room(core: Core, report: LocalMasterReport) -> tuple[list[OfferedCapacity], list[Offer]]:
    """Offers of a report as room on nodes of the view, and those on nodes that are not known."""
    known: list[OfferedCapacity] = []
    unknown: list[Offer] = []
    for offer in report.offers:
        row = core.view.row_of(report.local_master, offer.node)
        if row < 0:
            unknown.append(offer)
        else:
            properties = core.view.properties_of(row)
            known.append(
                OfferedCapacity(offer.number, row, offer.room, properties, offer.runner_up, offer.is_for_short)
            )
    return known, unknown


def _write_shares(core: Core) -> None:
    """Write the dominant share of each job that waits: its running tasks, by what the first of its kinds needs."""
    core.most_free = np.maximum(core.most_free, core.view.free.sum(axis=0))
    table = core.book.table
    for row in table.waiting_rows().tolist():
        demand = core.book.by_row[row].groups[0].need.demand
        table.put(Column.SHARE, row, table.get(Column.RUNNING, row) * share_of(demand, core.most_free))


def _queues_of(core: Core, now_s: float) -> Queues:
    names, n_resources = tuple(core.queue_rows), core.view.n_resources
    held_at: FloatArray = np.zeros((len(names), len(core.links), n_resources))
    total: FloatArray = core.view.free.sum(axis=0).astype(np.float64)
    for column, link in enumerate(core.links.values()):
        for queue, amounts in link.queue_usage.items():
            total = total + amounts
            if queue in core.queue_rows:
                held_at[core.queue_rows[queue], column] = amounts
    held: FloatArray = held_at.sum(axis=1)
    for queue, own in core.book.held.items():
        if queue in core.queue_rows:
            held[core.queue_rows[queue]] = own
    for column, link in enumerate(core.links.values()):
        for wish, taker in link.asked_back:
            held[core.queue_rows[wish.victim_queue]] -= wish.need.demand
            held_at[core.queue_rows[wish.victim_queue], column] -= wish.need.demand
            if taker:
                held[core.queue_rows[taker]] += wish.need.demand
    patient = [core.patient_until_s.get(queue, now_s) > now_s for queue in names]
    return Queues(names, core.shares, held, held_at, total, np.array(patient, dtype=np.bool_))


def local_master_of(core: Core, cluster: int) -> LocalMasterId:
    """The Local Master of a cluster's row in `Queues.held_at`."""
    return list(core.links)[cluster]
