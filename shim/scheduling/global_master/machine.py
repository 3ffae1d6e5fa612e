"""The Global Master: places tasks on an eventually consistent view of all clusters (Megha, sections III and IV).

Theory of operation. Jobs come in, reports of Local Masters come in, launch requests go out. After each event that may
have made a match possible, a cycle runs (`cycle.py`). A match is tentative: the Local Master verifies it; a rejection
is an ordinary part of a report, and the same report has brought the view up to date. Nothing here has to survive: a
new Global Master is filled by full reports and learns from them what runs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairness import FloatArray
from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import (
    Bid,
    BidLine,
    Ending,
    EndingKind,
    LaunchRejected,
    LaunchRequest,
    LocalMasterReport,
    Offer,
    PreemptionRequest,
    Rank,
    ReportRequest,
    RunningLaunch,
)
from shim.domain.resources import Need
from shim.errors import InvariantViolationError
from shim.scheduling.cycle import entitle, order, run_cycle, share_of
from shim.scheduling.durations import horizon_of
from shim.scheduling.global_master.core import Core, Counters
from shim.scheduling.global_master.events import (
    GlobalMasterEffect,
    GlobalMasterEvent,
    GlobalMasterTick,
    JobSubmitted,
    JobWithdrawn,
    LocalMastersFound,
    ReportReceived,
    SendMessage,
    TaskSettled,
)
from shim.scheduling.global_master.links import LaunchDraft, LocalMasterLink
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.placements import PolicyRandom
from shim.scheduling.plan import NO_PLAN, NO_TURNS, Plan, PlannedGrant, TakeBack, Turns
from shim.scheduling.policy import Policy
from shim.scheduling.ranks import is_worth_renewing, rank_of
from shim.scheduling.snapshot import Column, OfferedCapacity, Queues, Snapshot, expect_durations

_PATIENCE_S = 10.0
"""A queue that was asked back borrows nothing anew for this long: a slot that comes free is then another's."""


class GlobalMaster:
    """Places the tasks of its queues' jobs.

    Mutate only through `handle`; `event.at_s` is the only time, and `rng` the only chance: the same events and the same
    seed give the same effects.

    Args:
        incarnation: Number of this life; a later one must be larger.
        queue_shares: Share of each queue in the whole federation; empty when nobody has shares.
        answer_within_s: At a tick, what was not answered for so long is sent again.
    """

    def __init__(
        self,
        global_master: GlobalMasterId,
        policy: Policy,
        *,
        n_resources: int,
        rng: PolicyRandom,
        incarnation: int = 1,
        queue_shares: Mapping[str, float] | None = None,
        answer_within_s: float = 2.0,
    ) -> None:
        self.global_master = global_master
        self._core = Core(
            global_master,
            policy,
            n_resources=n_resources,
            rng=rng,
            incarnation=incarnation,
            queue_shares=queue_shares or {},
        )
        self._answer_within_s = answer_within_s
        self._adopted: dict[int, RunningLaunch] = {}
        self._offers: dict[OfferedCapacity, LocalMasterId] = {}
        self._handlers = {
            ReportReceived: self._on_report,
            JobSubmitted: self._on_job,
            JobWithdrawn: self._on_withdrawal,
            LocalMastersFound: self._on_local_masters,
            GlobalMasterTick: self._on_tick,
        }

    @property
    def view(self) -> GlobalView:
        """View of this Global Master; to be read only."""
        return self._core.view

    @property
    def counters(self) -> Counters:
        return self._core.counters

    @property
    def adopted(self) -> Mapping[int, RunningLaunch]:
        """Launches of earlier lives that still run, by number."""
        return self._adopted

    @property
    def is_filled(self) -> bool:
        """True if every Local Master has reported."""
        return all(link.incarnation for link in self._core.links.values())

    def handle(self, event: GlobalMasterEvent) -> list[GlobalMasterEffect]:
        """Take in one event; gives what has to be done."""
        core = self._core
        core.effects = []
        self._offers = {}
        self._handlers[type(event)](event)  # type: ignore[operator]  # the table pairs each type with its handler
        plan = self._run_cycle(event.at_s) if self._offers or not core.book.table.is_idle else NO_PLAN
        commit(core, event.at_s, plan)
        return core.effects

    def _run_cycle(self, now_s: float) -> Plan:
        """Decide on what is known now; offers that nothing is granted on are declined."""
        core = self._core
        plan = run_cycle(take_snapshot(core, now_s, tuple(self._offers)), core.policy, core.state)
        carry_out(core, plan, now_s)
        core.counters.offers_used += plan.used_offers
        core.counters.offers_declined += len(plan.declined)
        if self._offers:
            declined = set(plan.declined)
            for offer, local_master in self._offers.items():
                if offer.number in declined:
                    core.draft(local_master).declined.append(offer.number)
        return plan

    def check_invariants(self) -> None:
        """Compare the books with each other.

        Raises:
            InvariantViolationError: If a count or a bit is wrong.
        """
        core = self._core
        core.view.check()
        for job in core.book.jobs.values():
            waiting = sum(len(group.waiting) for group in job.groups)
            placed = sum(placed.job is job for placed in core.book.placed.values())
            if waiting != job.n_waiting or waiting + placed != job.n_unfinished:
                raise InvariantViolationError(
                    f"job {job.request.job}: {waiting} waiting and {placed} placed are not {job.n_unfinished}"
                )

    def _on_local_masters(self, event: LocalMastersFound) -> None:
        for local_master in event.local_masters:
            link = self._core.links.setdefault(local_master, LocalMasterLink())
            self._ask_for_everything(local_master, link, event.at_s)

    def _on_job(self, event: JobSubmitted) -> None:
        self._core.book.add(event.job, event.at_s)

    def _on_withdrawal(self, event: JobWithdrawn) -> None:
        job = self._core.book.withdraw(event.job)
        if job is not None and job.held:
            for number in job.held:
                placed = self._core.book.placed[number]
                self._core.draft(placed.local_master).cancels.append(number)

    def _on_tick(self, event: GlobalMasterTick) -> None:
        core = self._core
        limit_s = event.at_s - self._answer_within_s
        for local_master, link in core.links.items():
            if link.asked_at_s is not None and link.asked_at_s <= limit_s:
                self._ask_for_everything(local_master, link, event.at_s)
            for sequence, (_, sent_at_s) in list(link.unseen.items()):
                if sent_at_s <= limit_s:
                    core.repeat_request(local_master, sequence, event.at_s)
            if link.bid_backoff_s and link.bid_at_s + link.bid_backoff_s <= event.at_s:
                link.bid_rank = None

    def _ask_for_everything(self, local_master: LocalMasterId, link: LocalMasterLink, at_s: float) -> None:
        link.asked_at_s = at_s
        request = ReportRequest(self._core.global_master, self._core.incarnation)
        self._core.effects.append(SendMessage(local_master, request))

    def _on_report(self, event: ReportReceived) -> None:
        report, core = event.report, self._core
        link = core.links.setdefault(report.local_master, LocalMasterLink())
        if report.incarnation < link.incarnation or report.to_incarnation != core.incarnation:
            return
        if report.incarnation > link.incarnation and not self._begin_life(report, link, event.at_s):
            return
        if report.sequence <= link.heard_to:
            self._decline(report)
            return
        if report.sequence != link.heard_to + 1 and not report.is_full:
            self._decline(report)
            if link.asked_at_s is None:
                self._ask_for_everything(report.local_master, link, event.at_s)
            return
        self._apply(report, link, event.at_s)

    def _begin_life(self, report: LocalMasterReport, link: LocalMasterLink, at_s: float) -> bool:
        """A Local Master is new, or began a new life: wait for its full report, then start over with it."""
        if not report.is_full:
            if link.asked_at_s is None:
                self._ask_for_everything(report.local_master, link, at_s)
            return False
        core = self._core
        running = {launch.number for launch in report.running}
        for request, _ in link.unseen.values():
            for launch in request.launches:
                self._settle(launch.number)
                if launch.number in running:
                    self._confirm(launch.number)
                else:
                    core.book.put_back(launch.number)
        link.unseen.clear()
        link.incarnation = report.incarnation
        link.sequence, link.heard_to = 0, 0
        link.bid, link.bid_rank = None, None
        return True

    def _apply(self, report: LocalMasterReport, link: LocalMasterLink, at_s: float) -> None:
        core, name = self._core, report.local_master
        link.heard_to, link.rival = report.sequence, report.rival
        core.nobody_bid_at_s = max(core.nobody_bid_at_s, at_s - report.waited_s)
        core.view.as_of_s[name] = at_s
        if link.bid is not None and report.bid_version == link.bid.version:
            link.bid_backoff_s = 0.0
        if report.queue_usage:
            link.queue_usage = dict(report.queue_usage)
            link.asked_back.clear()
        self._see(report, link)
        repair(core, report.rejected)
        for duration_s in report.learnt:
            core.book.durations.observe(duration_s)
        for ending in report.ended:
            self._end(ending, at_s)
        if report.is_full:
            link.asked_at_s = None
            core.view.replace_cluster(name, report.nodes, report.owners, report.sequence)
            self._compare_running(report)
        else:
            for state in report.nodes:
                row = core.view.row_of(name, state.node)
                if row >= 0:
                    core.view.apply_node(row, state, report.sequence)
        if report.offers:
            link.note_offers(len(report.offers))
            known, unknown = offered_room(core, report)
            self._offers = dict.fromkeys(known, name)
            for offer in unknown:
                core.counters.offers_declined += 1
                core.draft(name).declined.append(offer.number)

    def _see(self, report: LocalMasterReport, link: LocalMasterLink) -> None:
        """Requests that were executed: their launches are no longer on their way."""
        beyond = report.seen_beyond
        seen = [sequence for sequence in link.unseen if sequence <= report.seen_to or sequence in beyond]
        if not seen:
            return
        rejected = {rejection.number for rejection in report.rejected}
        for sequence in seen:
            request, _ = link.unseen.pop(sequence)
            for launch in request.launches:
                self._settle(launch.number)
                if launch.number not in rejected:
                    self._confirm(launch.number)

    def _settle(self, number: int) -> None:
        core = self._core
        placed = core.book.placed.get(number)
        if placed is not None:
            row = core.view.row_of(placed.local_master, placed.node)
            if row >= 0:
                core.view.settle(row, placed.group.need.demand)

    def _confirm(self, number: int) -> None:
        placed = self._core.book.confirm(number)
        if placed is None or placed.job.held is None:
            return
        job, together = placed.job, placed.job.held
        if not job.n_waiting and not job.unconfirmed:
            for held in together:
                self._core.draft(self._core.book.placed[held].local_master).starts.append(held)
            together.clear()

    def _end(self, ending: Ending, at_s: float) -> None:
        known = self._core.book.end(ending.number, ending.kind, ending.ran_for_s)
        if known is not None and ending.kind is EndingKind.PREEMPTED:
            queue = known.job.request.queue
            self._core.patient_until_s[queue] = at_s + _PATIENCE_S
            self._core.links[known.local_master].note_preempted(queue)
        if known is not None or self._adopted.pop(ending.number, None) is not None:
            self._core.effects.append(TaskSettled(ending.task, ending.kind))

    def _compare_running(self, report: LocalMasterReport) -> None:
        """A full report lists all that runs: adopt what is not known, ask again for what is gone."""
        core, running = self._core, {launch.number: launch for launch in report.running}
        for number, launch in running.items():
            if number not in core.book.placed:
                self._adopted[number] = launch
        gone = [
            number
            for number, placed in core.book.placed.items()
            if placed.is_confirmed and placed.local_master == report.local_master and number not in running
        ]
        for number in gone:
            core.book.put_back(number)

    def _decline(self, report: LocalMasterReport) -> None:
        if report.offers:
            self._core.draft(report.local_master).declined.extend(offer.number for offer in report.offers)


# Steps 5 and 6 of a cycle where masters launch by themselves: a plan becomes launch requests, verdicts repair it.


def carry_out(core: Core, plan: Plan, now_s: float) -> None:
    """Book what a plan grants as launches on their way, and draft what Local Masters are asked for."""
    for grant in plan.grants:
        for _ in range(grant.count):
            _launch(core, grant, now_s)
    for wish in plan.take_backs:
        _ask_back(core, wish)


def _launch(core: Core, grant: PlannedGrant, now_s: float) -> None:
    """Book a match and draft its launch."""
    job, group = core.book.by_request[grant.request]
    core.counters.matches += 1
    core.counters.repartitions += grant.is_borrowed
    core.view.take(grant.place, group.need.demand)
    core.launch(job, group, grant.place, now_s, offer=grant.offer)


def _ask_back(core: Core, wish: TakeBack) -> None:
    """Ask a Local Master to take something back; what was asked counts as given until the next word of usage."""
    names, local_master = tuple(core.queue_rows), local_master_of(core, wish.cluster)
    taker, _ = core.book.by_request[wish.request]
    preemption = PreemptionRequest(names[wish.victim], wish.need, wish.rank)
    core.draft(local_master).preemptions.append(preemption)
    core.links[local_master].asked_back.append((preemption, taker.request.queue))


def order_now(core: Core, now_s: float) -> Turns:
    """Requests that wait now, in their order."""
    snapshot = take_snapshot(core, now_s)
    return order(snapshot, core.policy, entitle(snapshot))


def commit(core: Core, now_s: float, plan: Plan = NO_PLAN) -> None:
    """Step 5: one launch request for each Local Master that a match, an answer or a bid is for.

    Args:
        plan: What was carried out just now: if it changed nothing, its order is that of the bid.
    """
    has_bid = core.policy.commitment.bids and not core.book.table.is_idle
    is_as_planned = bool(plan.turns.rows) and not plan.grants and not plan.take_backs
    turns = NO_TURNS if not has_bid else plan.turns if is_as_planned else order_now(core, now_s)
    bid = bid_for(core, turns, now_s)
    drafts, core.drafts = core.drafts, {}
    for local_master, draft in drafts.items():
        link = core.links[local_master]
        if link.incarnation:
            core.send_request(local_master, _request(core, link, draft, bid), now_s)
    if has_bid:
        for local_master, link in core.links.items():
            if link.incarnation and local_master not in drafts:
                bid.send_alone(local_master, link)


def _request(core: Core, link: LocalMasterLink, draft: LaunchDraft, bid: "CurrentBid") -> LaunchRequest:
    """The next request of a link; the first one to be sent carries the news of durations."""
    link.sequence += 1
    news, core.book.news = core.book.news, []
    return LaunchRequest(
        global_master=core.global_master,
        incarnation=core.incarnation,
        to_incarnation=link.incarnation,
        sequence=link.sequence,
        heard_to=link.heard_to,
        launches=tuple(draft.launches),
        declined=tuple(draft.declined),
        starts=tuple(draft.starts),
        cancels=tuple(draft.cancels),
        preemptions=tuple(draft.preemptions),
        learnt=tuple(news),
        bid=bid.ride(link, declines=bool(draft.declined)),
        wants_verdict=core.policy.commitment.answers_acceptance or any(launch.is_held for launch in draft.launches),
    )


def repair(core: Core, rejected: Sequence[LaunchRejected]) -> None:
    """Step 6: tasks of rejected launches wait again; the report that said so has brought the view up to date."""
    for rejection in rejected:
        if core.book.put_back(rejection.number) is not None:
            core.counters.inconsistencies[rejection.kind] += 1


# Bids: how a Global Master tells Local Masters what it would do with capacity that it does not see.
#
# A bid is sent when none was sent before, rides along with every launch request, and is renewed on its own only when
# the need has become *more* urgent, so that it overtakes another bid or by much (`is_worth_renewing`), within a budget
# that launches earn. When the need became less urgent nothing is sent: the offer names the runner-up, and a Global
# Master that needs the offer less than that declines, with its true bid riding along. So a stale bid costs a round trip
# when it matters, and nothing when it does not. Nothing is bid where a full report is being waited for: offers could
# not be told from older ones.


_MOST_LINES = 8
_FIRST_BACKOFF_S = 2.0


_Kind = tuple[Need, bool]
"""What is needed, and whether for long."""


def _most_urgent(ranked: Iterable[tuple[_Kind, Rank]], wanted: Mapping[_Kind, int]) -> Iterable[BidLine]:
    """The needs that a bid tells of, each once with its best rank and how many wait; only so many."""
    seen: set[_Kind] = set()
    for kind, rank in ranked:
        if kind not in seen:
            seen.add(kind)
            need, is_long = kind
            yield BidLine(rank, need, wanted[kind], is_long)
            if len(seen) == min(_MOST_LINES, len(wanted)):
                return


def bid_for(core: Core, turns: Turns, now_s: float) -> "CurrentBid":
    """Present bid of the waiting work: a line for each need, and one for its long tasks, the most urgent ones first."""
    needs = core.book.requests.needs
    columns = zip(turns.rows, turns.are_long, turns.keys, turns.deficits, turns.priorities, strict=True)
    ranked = (((needs[row], is_long), rank_of(core.policy, *urgency)) for row, is_long, *urgency in columns)
    return CurrentBid(core, tuple(_most_urgent(ranked, _wanted(core, turns))), now_s)


def _wanted(core: Core, turns: Turns) -> Mapping[_Kind, int]:
    requests = core.book.requests
    wanted: dict[_Kind, int] = {(need, False): count for need, count in requests.wanted.items()}
    for row, is_long in zip(turns.rows, turns.are_long, strict=True):
        if is_long:
            need, count = requests.needs[row], requests.count(row)
            wanted[need, True] = wanted.get((need, True), 0) + count
            wanted[need, False] = wanted.get((need, False), 0) - count
    return {kind: count for kind, count in wanted.items() if count > 0}


class CurrentBid:
    """The bid of this moment, and who has to hear of it."""

    __slots__ = ("_core", "_lines", "_now_s", "_short")

    def __init__(self, core: Core, lines: tuple[BidLine, ...], now_s: float) -> None:
        self._core = core
        self._lines = lines
        self._now_s = now_s
        self._short = _rank_of_short(lines)

    def ride(self, link: LocalMasterLink, *, declines: bool) -> Bid | None:
        """The bid for a request that is sent anyway; None when nothing is wanted, and nothing else was said before.

        Who declines an offer always says what he wants instead, else he would be offered the same again.
        """
        lines = self._lines if link.asked_at_s is None else ()
        if not lines and not declines and (link.bid is None or not link.bid.lines):
            return None
        return self._renew(link, lines)

    def send_alone(self, local_master: LocalMasterId, link: LocalMasterLink) -> None:
        """Send a bid of its own if it is the first, or worth renewing and paid for."""
        if not self._lines or link.asked_at_s is not None:
            return
        core = self._core
        if link.bid_rank is not None:
            if core.tokens < 1.0 or not self._is_worth_sending(link, link.bid_rank):
                return
            core.tokens -= 1.0
        core.effects.append(SendMessage(local_master, self._renew(link, self._lines)))

    def _is_worth_sending(self, link: LocalMasterLink, told: Rank) -> bool:
        """Return whether the most urgent need is more urgent now, or that of short tasks, for which room is kept."""
        policy = self._core.policy
        if is_worth_renewing(policy, told, self._lines[0].rank, link.rival):
            return True
        if link.bid is None or not self._lines[0].is_long:
            return False
        if self._short is None:
            return False
        told_short = _rank_of_short(link.bid.lines)
        return told_short is None or is_worth_renewing(policy, told_short, self._short, None)

    def _renew(self, link: LocalMasterLink, lines: tuple[BidLine, ...]) -> Bid:
        version = 1 if link.bid is None else link.bid.version + 1
        link.bid = Bid(self._core.global_master, self._core.incarnation, version, lines)
        link.bid_rank = lines[0].rank if lines else None
        link.bid_at_s = self._now_s
        link.bid_backoff_s = 2.0 * link.bid_backoff_s or _FIRST_BACKOFF_S
        return link.bid


def _rank_of_short(lines: Sequence[BidLine]) -> Rank | None:
    """Rank of the most urgent short tasks; None if there are none."""
    for line in lines:  # at each of thousands of links in a second: a generator would cost twice as much
        if not line.is_long:
            return line.rank
    return None


# Snapshots: what the cycle reads.


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
