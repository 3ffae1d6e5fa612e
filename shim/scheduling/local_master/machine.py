"""The Local Master: owner of the truth about one cluster (Megha, section IV; algorithm 1's verification).

Theory of operation. Requests of Global Masters are executed at most once each and verified against `Truth`; the
answer is a report with everything that changed since the last one to that Global Master. When capacity comes free it
is, if the policy wants offers, kept for the best bidder and offered to it; the owner of its partition hears of it
only when nobody bids. Otherwise (Megha as published) only the Global Master whose task ended hears of it at once,
everybody else by piggybacked reports and heartbeats.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    LocalMasterReport,
    NodeState,
    Occasion,
    Offer,
    PreemptionRequest,
    ReportRequest,
    RunningLaunch,
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
from shim.scheduling.local_master.offers import BidBook, Reservation, Winner, divide_nodes
from shim.scheduling.local_master.verify import LaunchKey, Truth
from shim.scheduling.policy import Commitment

_GONE = 0


@dataclass(slots=True)
class GlobalMasterLink:
    """State of one direction each: requests seen, reports sent.

    Attributes:
        incarnation: Newest life of the Global Master that was seen; older ones are fenced off.
        seen_to: Every request up to this sequence has been executed.
        seen_beyond: Executed requests above it.
        sequence: Of the last report that was sent.
        changed: Nodes that changed since then, in the order of their first change.
        properties_changed: Nodes whose properties changed since then.
        outbox: Rejections and endings with the sequence of the report that first carried them, until acknowledged.
        was_told: Whether there was a report since the last heartbeat was due.
        owes_usage: Whether a heartbeat was left out, so that the next report tells how much queues hold.
        learnt: What other Global Masters learnt, to be passed on.
        fresh: Those that no report has carried yet.
    """

    incarnation: int = 0
    seen_to: int = 0
    seen_beyond: set[int] = field(default_factory=set)
    sequence: int = 0
    changed: dict[int, None] = field(default_factory=dict)
    properties_changed: set[int] = field(default_factory=set)
    outbox: deque[tuple[int, LaunchRejected | Ending]] = field(default_factory=deque)
    fresh: list[LaunchRejected | Ending] = field(default_factory=list)
    was_told: bool = False
    owes_usage: bool = False
    learnt: list[float] = field(default_factory=list)

    def has_seen(self, sequence: int) -> bool:
        """True if the request was executed already."""
        return sequence <= self.seen_to or sequence in self.seen_beyond

    def see(self, sequence: int) -> None:
        """Note that the request is being executed."""
        if sequence == self.seen_to + 1 and not self.seen_beyond:
            self.seen_to = sequence
            return
        self.seen_beyond.add(sequence)
        while self.seen_to + 1 in self.seen_beyond:
            self.seen_to += 1
            self.seen_beyond.remove(self.seen_to)

    def acknowledge(self, heard_to: int) -> None:
        outbox = self.outbox
        while outbox and outbox[0][0] <= heard_to:
            outbox.popleft()

    def restart(self, incarnation: int) -> None:
        """Begin anew with a new life of the Global Master; what was for the old one nobody waits for any more."""
        self.incarnation = incarnation
        self.seen_to = 0
        self.seen_beyond.clear()
        self.outbox.clear()
        self.fresh.clear()

    def say_again(self) -> None:
        """Have the next report carry everything that was not acknowledged."""
        self.fresh = [entry for _, entry in self.outbox] + self.fresh
        self.outbox.clear()


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


# Reports: which Global Master gets one when an event is done, and what is in it.


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
