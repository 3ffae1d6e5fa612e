"""Reports of a Local Master: which Global Master gets one when an event is done, and what is in it."""

from collections.abc import Iterable, Iterator

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import (
    Ending,
    LaunchRejected,
    LocalMasterReport,
    NodeState,
    Occasion,
    Offer,
    RunningLaunch,
)
from shim.scheduling.local_master.links import GlobalMasterLink
from shim.scheduling.local_master.offers import BidBook
from shim.scheduling.local_master.verify import Truth


class Reporter:
    """Collects what is to be told while an event is handled, and makes the reports at its end.

    Args:
        bids: Whose versions reports confirm.
        global_masters: Who shares the cluster.

    Attributes:
        links: The conversation with each Global Master that shares the cluster.
    """

    def __init__(
        self,
        local_master: LocalMasterId,
        incarnation: int,
        truth: Truth,
        bids: BidBook,
        global_masters: Iterable[GlobalMasterId],
    ) -> None:
        self.links: dict[GlobalMasterId, GlobalMasterLink] = {
            global_master: GlobalMasterLink() for global_master in global_masters
        }
        self._local_master = local_master
        self._incarnation = incarnation
        self._truth = truth
        self._bids = bids
        self._had_no_bid = True
        self._nobody_bid_at_s = 0.0
        self._told: dict[GlobalMasterId, Occasion] = {}
        self._offered: dict[GlobalMasterId, list[Offer]] = {}

    def mark(self, node: int) -> None:
        """Note that a node changed, for everybody's next report."""
        for link in self.links.values():
            link.changed[node] = None

    def pass_on(self, learnt: tuple[float, ...], sender: GlobalMasterId) -> None:
        """Let what one Global Master learnt ride along with the next reports to the others."""
        for global_master, link in self.links.items():
            if global_master != sender and link.incarnation:
                link.learnt.extend(learnt)

    def offer(self, global_master: GlobalMasterId, offer: Offer) -> None:
        self._offered.setdefault(global_master, []).append(offer)
        self.tell(global_master, Occasion.OFFER)

    def say(self, global_master: GlobalMasterId, entry: LaunchRejected | Ending, occasion: Occasion) -> None:
        """Tell a Global Master of a rejection or an ending, if it still shares the cluster."""
        link = self.links.get(global_master)
        if link is not None:
            link.fresh.append(entry)
            self.tell(global_master, occasion)

    def tell(self, global_master: GlobalMasterId, occasion: Occasion) -> None:
        """Have a report sent when the event is done; the first occasion names it, but an answer is always an answer.

        Nothing is said to a Global Master that has sent nothing yet.
        """
        if not self.links[global_master].incarnation:
            return
        if occasion is Occasion.ANSWER:
            self._told[global_master] = occasion
        else:
            self._told.setdefault(global_master, occasion)

    def beat(self, *, only_where_quiet: bool) -> None:
        """Tell every Global Master that this one is here.

        Args:
            only_where_quiet: Leave out whom a report has told everything since the last time; the next one tells it how
                much queues hold.
        """
        for global_master, link in self.links.items():
            if only_where_quiet and link.was_told:
                link.was_told, link.owes_usage = False, True
            else:
                self.tell(global_master, Occasion.HEARTBEAT)

    def take_reports(self, at_s: float) -> Iterator[tuple[GlobalMasterId, LocalMasterReport]]:
        """The reports that are due when an event is done; afterwards none is."""
        if self._had_no_bid or self._bids.is_empty:
            self._nobody_bid_at_s = at_s
        self._had_no_bid = self._bids.is_empty
        for global_master, occasion in self._told.items():
            yield global_master, self._report(global_master, occasion, at_s - self._nobody_bid_at_s)
        self._told.clear()
        self._offered.clear()

    def _report(self, global_master: GlobalMasterId, occasion: Occasion, waited_s: float) -> LocalMasterReport:
        link = self.links[global_master]
        link.sequence += 1
        is_full = occasion is Occasion.ANSWER or link.sequence == 1
        rejected, ended = list[LaunchRejected](), list[Ending]()
        for entry in link.fresh:
            link.outbox.append((link.sequence, entry))
            if isinstance(entry, Ending):
                ended.append(entry)
            else:
                rejected.append(entry)
        link.fresh = []
        report = LocalMasterReport(
            local_master=self._local_master,
            incarnation=self._incarnation,
            to_incarnation=link.incarnation,
            sequence=link.sequence,
            occasion=occasion,
            is_full=is_full,
            seen_to=link.seen_to,
            seen_beyond=tuple(sorted(link.seen_beyond)),
            nodes=self._all_nodes() if is_full else self._changed_nodes(link),
            rejected=tuple(rejected),
            ended=tuple(ended),
            offers=tuple(self._offered.get(global_master, ())),
            learnt=tuple(link.learnt),
            bid_version=self._bids.version_of(global_master),
            rival=self._bids.best_besides(global_master),
            waited_s=waited_s,
            owners=self._truth.owners if is_full else (),
            running=self._running_of(global_master) if is_full else (),
            queue_usage=self._usage() if is_full or occasion is Occasion.HEARTBEAT or link.owes_usage else (),
        )
        link.was_told, link.owes_usage = occasion is not Occasion.HEARTBEAT, False
        link.learnt.clear()
        link.changed.clear()
        link.properties_changed.clear()
        return report

    def _all_nodes(self) -> tuple[NodeState, ...]:
        truth = self._truth
        return tuple(NodeState(node, truth.free_of(node), truth.properties[node]) for node in range(len(truth)))

    def _changed_nodes(self, link: GlobalMasterLink) -> tuple[NodeState, ...]:
        truth, renamed = self._truth, link.properties_changed
        if renamed:
            link.changed.update(dict.fromkeys(renamed))
        return tuple(
            NodeState(node, truth.free_of(node), truth.properties[node] if node in renamed else None)
            for node in link.changed
        )

    def _running_of(self, global_master: GlobalMasterId) -> tuple[RunningLaunch, ...]:
        return tuple(
            RunningLaunch(number, run.launch.node, run.launch.need, run.launch.task, run.launch.queue, run.started_at_s)
            for (owner, number), run in self._truth.running.items()
            if owner == global_master
        )

    def _usage(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((queue, tuple(held)) for queue, held in self._truth.usage.items() if any(held))
