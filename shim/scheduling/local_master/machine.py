"""The Local Master: owner of the truth about one cluster (Megha, section IV; algorithm 1's verification).

Theory of operation. Requests of Global Masters are executed at most once each and verified against `Truth`; the
answer is a report with everything that changed since the last one to that Global Master. When capacity comes free it
is, if the policy wants offers, kept for the best bidder and offered to it; the owner of its partition hears of it
only when nobody bids. Otherwise (Megha as published) only the Global Master whose task ended hears of it at once,
everybody else by piggybacked reports and heartbeats.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import (
    Bid,
    Ending,
    EndingKind,
    InconsistencyKind,
    Launch,
    LaunchRejected,
    LaunchRequest,
    Occasion,
    Offer,
    PreemptionRequest,
    ReportRequest,
)
from shim.errors import InvariantViolationError
from shim.scheduling.local_master.events import (
    GlobalMastersChanged,
    HeartbeatDue,
    LocalMasterEffect,
    LocalMasterEvent,
    LocalMasterTick,
    MessageReceived,
    NodeChanged,
    NodeSpec,
    SendReport,
    StartTask,
    StopTask,
    TaskEnded,
)
from shim.scheduling.local_master.links import GlobalMasterLink
from shim.scheduling.local_master.offers import BidBook, Reservation, Winner, divide_nodes
from shim.scheduling.local_master.reporter import Reporter
from shim.scheduling.local_master.verify import LaunchKey, Truth
from shim.scheduling.policy import Commitment

_GONE = 0


class LocalMaster:
    """Verifies launches, keeps the books of one cluster and reports to all Global Masters.

    Mutate only through `handle`; `event.at_s` is the only time. A standby that is fed the same events has the same
    state.

    Args:
        nodes: The cluster's nodes; their place is their index in every message.
        global_masters: Who shares the cluster, in an order that all agree on.
        commitment: Of the policy: whether capacity that comes free is offered, and who is told by heartbeats.
        incarnation: Number of this life; a later one must be larger.
        answer_within_s: Offers and held launches expire when they are older than that at a tick.
    """

    def __init__(
        self,
        local_master: LocalMasterId,
        nodes: Sequence[NodeSpec],
        global_masters: Sequence[GlobalMasterId],
        *,
        n_resources: int,
        commitment: Commitment,
        incarnation: int = 1,
        answer_within_s: float = 5.0,
    ) -> None:
        self.local_master = local_master
        self.incarnation = incarnation
        self.truth = Truth(nodes, divide_nodes(len(nodes), global_masters), n_resources)
        self._commitment = commitment
        self._answer_within_s = answer_within_s
        self._bids = BidBook(commitment.kept_of(len(nodes)))
        self._reporter = Reporter(local_master, incarnation, self.truth, self._bids, global_masters)
        self._reservations: dict[int, Reservation] = {}
        self._next_offer = 1
        self._at_s = 0.0
        self._effects: list[LocalMasterEffect] = []
        self._handlers = {
            TaskEnded: self._on_task_ended,
            HeartbeatDue: self._on_heartbeat_due,
            NodeChanged: self._on_node_changed,
            GlobalMastersChanged: self._on_global_masters_changed,
            LocalMasterTick: self._on_tick,
        }
        self._readers = {LaunchRequest: self._on_request, Bid: self._on_bid, ReportRequest: self._on_report_request}

    def handle(self, event: LocalMasterEvent) -> list[LocalMasterEffect]:
        """Take in one event; gives what has to be done."""
        self._at_s = event.at_s
        self._effects = []
        if isinstance(event, MessageReceived):
            self._on_message(event.message)
        else:
            self._handlers[type(event)](event)  # type: ignore[operator]  # the table pairs each type with its handler
        self._effects.extend(starmap(SendReport, self._reporter.take_reports(event.at_s)))
        return self._effects

    def check_invariants(self) -> None:
        """Compare the books with what runs and what is offered.

        Raises:
            InvariantViolationError: If capacity was given out twice or got lost.
        """
        self.truth.check((kept.node, kept.room) for kept in self._reservations.values())
        for kept in self._reservations.values():
            if min(kept.room) < 0:
                raise InvariantViolationError(f"an offer keeps {kept.room} of node {kept.node}")

    def _on_message(self, message: LaunchRequest | Bid | ReportRequest) -> None:
        link = self._reporter.links.get(message.global_master)
        if link is None or message.incarnation < link.incarnation:
            return
        if message.incarnation > link.incarnation:
            if link.incarnation:
                self._forget_life(message.global_master)
            link.restart(message.incarnation)
        self._readers[type(message)](message, link)  # type: ignore[operator]  # the table pairs type and reader

    def _forget_life(self, global_master: GlobalMasterId) -> None:
        """Take back what an ended life of a Global Master had been offered or held; what runs goes on."""
        self._bids.forget(global_master)
        kept = [number for number, offer in self._reservations.items() if offer.global_master == global_master]
        held = [key for key, run in self.truth.running.items() if key[0] == global_master and run.is_held]
        self._put_back([*self._unkeep(kept, global_master), *self._release(held)], None)

    def _on_request(self, request: LaunchRequest, link: GlobalMasterLink) -> None:
        sender = request.global_master
        if request.to_incarnation != self.incarnation:
            return
        link.acknowledge(request.heard_to)
        if request.bid is not None:
            self._bids.place(request.bid)
        if link.has_seen(request.sequence):
            link.say_again()
            self._reporter.tell(sender, Occasion.VERDICT)
            return
        link.see(request.sequence)
        if request.learnt:
            self._reporter.pass_on(request.learnt, sender)
        freed = self._unkeep(request.declined, sender)
        freed += self._release([(sender, number) for number in request.cancels])
        self._start_held(sender, request)
        freed += self._verify(request, link)
        for preemption in request.preemptions:
            self._preempt(preemption, sender)
        if freed:
            self._put_back(freed, sender)
        if request.bid is not None and request.bid.lines:
            self._offer_vacant(sender)

    def _verify(self, request: LaunchRequest, link: GlobalMasterLink) -> list[int]:
        """Accept or reject each launch; gives the nodes of offers that were used, in case something is left of them."""
        sender, truth = request.global_master, self.truth
        freed = self._unkeep(self._offers_of(request), sender) if self._reservations else []
        is_rejected = False
        for launch in request.launches:
            kind = truth.reject_reason(sender, launch)
            if kind is None:
                self._accept(launch, request)
                continue
            is_rejected = True
            link.fresh.append(LaunchRejected(launch.number, kind))
            if 0 <= launch.node < len(truth):
                link.changed[launch.node] = None
        if is_rejected or request.wants_verdict:
            self._reporter.tell(sender, Occasion.VERDICT)
        return freed

    def _offers_of(self, request: LaunchRequest) -> list[int]:
        """Offers that launches use: by their number, or because they go where capacity is kept for their sender anyway.

        The second happens when an offer and a launch to the same node meet on their way.
        """
        nodes = {launch.node for launch in request.launches}
        return [
            number
            for number, kept in self._reservations.items()
            if kept.global_master == request.global_master and kept.node in nodes
        ]

    def _accept(self, launch: Launch, request: LaunchRequest) -> None:
        sender = request.global_master
        self.truth.take((sender, launch.number), launch, self._at_s)
        self._reporter.mark(launch.node)
        if not launch.is_held:
            self._effects.append(StartTask(sender, launch))

    def _start_held(self, sender: GlobalMasterId, request: LaunchRequest) -> None:
        for number in request.starts:
            running = self.truth.running.get((sender, number))
            if running is not None and running.is_held:
                running.is_held = False
                running.started_at_s = self._at_s
                self._effects.append(StartTask(sender, running.launch))

    def _on_bid(self, bid: Bid, link: GlobalMasterLink) -> None:  # noqa: ARG002 - every reader gets the link
        if self._bids.place(bid) and bid.lines:
            self._offer_vacant(bid.global_master)

    def _on_report_request(self, request: ReportRequest, link: GlobalMasterLink) -> None:
        link.say_again()
        self._reporter.tell(request.global_master, Occasion.ANSWER)

    def _on_task_ended(self, event: TaskEnded) -> None:
        self._end((event.global_master, event.number), EndingKind.FINISHED)

    def _end(self, key: LaunchKey, kind: EndingKind) -> None:
        """Book the end of a launch, tell its Global Master, and pass its capacity on."""
        ended = self.truth.release(key)
        if ended is None:
            return
        launch = ended.launch
        ending = Ending(launch.number, launch.task, kind, self._at_s - ended.started_at_s)
        self._reporter.say(key[0], ending, Occasion.COMPLETION)
        self._put_back([launch.node], key[0])

    def _on_heartbeat_due(self, event: HeartbeatDue) -> None:  # noqa: ARG002 - every handler gets its event
        self._reporter.beat(only_where_quiet=self._commitment.beats_when_quiet)

    def _on_tick(self, event: LocalMasterTick) -> None:
        limit_s = event.at_s - self._answer_within_s
        expired = [number for number, kept in self._reservations.items() if kept.offered_at_s < limit_s]
        freed: list[int] = []
        for number in expired:
            freed += self._unkeep([number], self._reservations[number].global_master)
        for key, running in list(self.truth.running.items()):
            if running.is_held and running.started_at_s < limit_s:
                rejected = LaunchRejected(running.launch.number, InconsistencyKind.INTERNAL)
                self._reporter.say(key[0], rejected, Occasion.VERDICT)
                freed += self._release([key])
        self._put_back(freed, None)

    def _on_node_changed(self, event: NodeChanged) -> None:
        node, truth = event.node, self.truth
        spec = event.spec or NodeSpec((_GONE,) * truth.n_resources)
        for number in [number for number, kept in self._reservations.items() if kept.node == node]:
            self._unkeep([number], self._reservations[number].global_master)
        if event.spec is None:
            for key in truth.running_on(node):
                self._end(key, EndingKind.LOST)
        truth.resize(node, spec)
        for link in self._reporter.links.values():
            link.properties_changed.add(node)
        self._put_back([node], None)

    def _on_global_masters_changed(self, event: GlobalMastersChanged) -> None:
        self.truth.owners = divide_nodes(len(self.truth), event.global_masters)
        for gone in self._reporter.links.keys() - set(event.global_masters):
            self._forget_life(gone)
            del self._reporter.links[gone]
        for global_master in event.global_masters:
            self._reporter.links.setdefault(global_master, GlobalMasterLink())
            self._reporter.tell(global_master, Occasion.ANSWER)

    def _preempt(self, wish: PreemptionRequest, sender: GlobalMasterId) -> None:
        """Take back the youngest task of the victim queue whose node then has room, and offer the sender that."""
        truth = self.truth
        victims = [
            (running.started_at_s, key)
            for key, running in truth.running.items()
            if running.launch.queue == wish.victim_queue
            and not running.is_held
            and self._makes_room(running.launch, wish)
        ]
        if not victims:
            return
        key = max(victims)[1]
        launch = truth.running[key].launch
        self._effects.append(StopTask(key[0], key[1], launch.node))
        truth.release(key)
        ending = Ending(launch.number, launch.task, EndingKind.PREEMPTED, 0.0)
        self._reporter.say(key[0], ending, Occasion.COMPLETION)
        self._keep(launch.node, Winner(sender, None))

    def _makes_room(self, victim: Launch, wish: PreemptionRequest) -> bool:
        free = self.truth.free_of(victim.node)
        together = (have + more for have, more in zip(free, victim.need.demand, strict=True))
        admits = wish.need.admits(self.truth.properties[victim.node])
        return admits and all(amount <= have for amount, have in zip(wish.need.demand, together, strict=True))

    def _release(self, keys: Iterable[LaunchKey]) -> list[int]:
        """Give up launches that have not started; gives their nodes."""
        released = (self.truth.release(key) for key in keys)
        return [running.launch.node for running in released if running is not None]

    def _unkeep(self, offers: Iterable[int], global_master: GlobalMasterId) -> list[int]:
        """End offers to a Global Master; gives the nodes whose room is free again."""
        nodes: list[int] = []
        for number in offers:
            kept = self._reservations.get(number)
            if kept is not None and kept.global_master == global_master:
                del self._reservations[number]
                self._bids.unanswered[global_master] -= 1
                self.truth.shift(kept.node, kept.room, +1)
                nodes.append(kept.node)
        return nodes

    def _put_back(self, nodes: Iterable[int], released_by: GlobalMasterId | None) -> None:
        """Pass free capacity of nodes on: to the best bidder, or to the knowledge of the owner."""
        truth = self.truth
        for node in nodes:
            self._reporter.mark(node)
            if not self._commitment.bids or not truth.vacant >> node & 1:
                continue
            winner = None if self._bids.is_empty else self._bids.best_for(truth, node, released_by)
            if winner is not None:
                self._keep(node, winner)
            elif truth.owners[node] in self._reporter.links:
                self._reporter.tell(truth.owners[node], Occasion.CHANGE)

    def _offer_vacant(self, bidder: GlobalMasterId) -> None:
        """Offer what is free now to a new bid, nodes of the bidder's own partition first."""
        vacant = self.truth.vacant
        owners = self.truth.owners
        nodes: list[int] = []
        while vacant:
            low = vacant & -vacant
            vacant ^= low
            nodes.append(low.bit_length() - 1)
        nodes.sort(key=lambda node: owners[node] != bidder)
        for node in nodes:
            winner = self._bids.best_for(self.truth, node, None)
            if winner is not None:
                self._keep(node, winner)

    def _keep(self, node: int, winner: Winner) -> None:
        """Reserve the free capacity of a node and offer it."""
        room = self.truth.free_of(node)
        number = self._next_offer
        self._next_offer += 1
        self.truth.shift(node, room, -1)
        self._reservations[number] = Reservation(winner.global_master, node, room, self._at_s)
        self._bids.unanswered[winner.global_master] += 1
        self._reporter.mark(node)
        offer = Offer(number, node, room, winner.runner_up, winner.is_for_short)
        self._reporter.offer(winner.global_master, offer)
