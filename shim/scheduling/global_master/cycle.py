"""A scheduling cycle in six steps: snapshot, entitle, order, place, commit, repair.

Steps 1 to 5 run after every event that may have made a match possible (`run_cycle`); step 6 runs when verdicts arrive
(`repair`) and, while somebody entitled still waits after step 4, takes capacity back (`reallocate`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shim.domain.messages import LaunchRejected, LaunchRequest, Need, Preemption, TaskRef
from shim.scheduling.global_master.bidding import CurrentBid, bid_for, rank_of
from shim.scheduling.global_master.core import Core, Ordered
from shim.scheduling.global_master.events import Decided
from shim.scheduling.global_master.jobs import Group
from shim.scheduling.global_master.links import Draft, Link
from shim.scheduling.global_master.match import Match
from shim.scheduling.global_master.ordering import Column, expect_durations, order_jobs
from shim.scheduling.global_master.queue_usage import QueueStandings, standings_of, write_shares
from shim.scheduling.global_master.recipe import QueueOrder, Reallocation

__all__ = ["Snapshot", "commit", "entitle", "order", "place", "reallocate", "repair", "run_cycle", "take_snapshot"]

_MOST_PREEMPTIONS = 8
"""Tasks that one cycle asks back at most."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a cycle starts from.

    Attributes:
        now_s: Time in seconds.
        placeable: Needs of waiting tasks that fit somewhere by the view, constraints aside.
    """

    now_s: float
    placeable: frozenset[Need]


def run_cycle(core: Core, now_s: float) -> None:
    """Match what can be matched."""
    snapshot = take_snapshot(core, now_s)
    entitle(core)
    if snapshot.placeable:
        place(core, order(core, now_s), snapshot)
    reallocate(core, now_s)


def take_snapshot(core: Core, now_s: float) -> Snapshot:
    """Step 1: which of the waiting needs can be placed at all?"""
    view = core.view
    return Snapshot(now_s, frozenset(need for need in core.book.wanted if view.has_room_for(need.demand)))


def entitle(core: Core) -> None:
    """Step 2: mark whose queue goes first; jobs of queues that hold their share or more wait for those that do not."""
    if not core.queue_shares or core.book.table.is_idle or core.recipe.queues is QueueOrder.NONE:
        return
    standings = standings_of(core)
    for job in core.book.jobs.values():
        queue, need = job.request.queue, job.groups[0].need
        deficit = 1.0
        if standings.is_owed(queue, need):
            is_graded = core.recipe.queues is QueueOrder.MOST_OWED_FIRST
            deficit = standings.satisfaction(queue, core.queue_shares) if is_graded else 0.0
        core.book.table.put(Column.DEFICIT, job.row, deficit)


def order(core: Core, now_s: float) -> list[Ordered]:
    """Step 3: jobs with waiting tasks in the order of the recipe."""
    table = core.book.table
    if core.recipe.learns_durations:
        expect_durations(table, core.book.durations, now_s)
    if core.recipe.reads_shares:
        write_shares(core)
    rows = table.waiting_rows()
    columns = table.columns(rows)
    keys = core.recipe.ordering(columns, core.book.durations, now_s)
    positions = order_jobs(columns, keys)
    by_row = core.book.by_row
    turns = zip(rows[positions].tolist(), keys[positions].tolist(), strict=True)
    ordered = [Ordered(by_row[row], key) for row, key in turns]
    return [turn for turn in ordered if not _is_patient(core, turn, now_s)] if core.patient_until_s else ordered


def _is_patient(core: Core, turn: Ordered, now_s: float) -> bool:
    """Whether a job's queue was asked back lately and holds its share: others want what comes free."""
    until_s = core.patient_until_s.get(turn.job.request.queue, now_s)
    return until_s > now_s and core.book.table.get(Column.DEFICIT, turn.job.row) >= 1.0


def place(core: Core, ordered: Sequence[Ordered], snapshot: Snapshot) -> None:
    """Step 4: match the tasks of each job in its turn, a gang's all or none."""
    placeable = set(snapshot.placeable)
    for turn in ordered:
        if not placeable:
            return
        if turn.job.held is not None:
            _place_gang(core, turn, snapshot.now_s)
            continue
        for group in turn.job.groups:
            if group.waiting and group.need in placeable and not _place_group(core, turn, group, snapshot.now_s):
                placeable.discard(group.need)


def commit(core: Core, now_s: float) -> None:
    """Step 5: one launch request for each Local Master that a match, an answer or a bid is for."""
    has_bid = core.recipe.commitment.bids and not core.book.table.is_idle
    bid = bid_for(core, order(core, now_s) if has_bid else [], now_s)
    drafts, core.drafts = core.drafts, {}
    for local_master, draft in drafts.items():
        link = core.links[local_master]
        if link.incarnation:
            core.send_request(local_master, _request(core, link, draft, bid), now_s)
    if has_bid:
        for local_master, link in core.links.items():
            if link.incarnation and local_master not in drafts:
                bid.send_alone(local_master, link)


def _request(core: Core, link: Link, draft: Draft, bid: CurrentBid) -> LaunchRequest:
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
        wants_verdict=core.recipe.commitment.answers_acceptance or any(launch.is_held for launch in draft.launches),
    )


def repair(core: Core, rejected: Sequence[LaunchRejected]) -> None:
    """Step 6: tasks of rejected launches wait again; the report that said so has brought the view up to date."""
    for rejection in rejected:
        if core.book.put_back(rejection.number) is not None:
            core.counters.inconsistencies[rejection.kind] += 1


def reallocate(core: Core, now_s: float) -> None:
    """Step 6, while somebody entitled waits: ask tasks back of the queue that is furthest above its share.

    Source: Megha, algorithm 2. The Local Master verifies; the freed capacity is offered to this Global Master alone.
    """
    if core.recipe.reallocation is Reallocation.NONE or not core.queue_shares or core.book.table.is_idle:
        return
    standings = standings_of(core)
    asked = 0
    for turn in order(core, now_s):
        for group in turn.job.groups:
            for _ in range(min(len(group.waiting), _MOST_PREEMPTIONS - asked)):
                if not _ask_back(core, standings, turn, group.need):
                    break
                asked += 1


def _ask_back(core: Core, standings: QueueStandings, turn: Ordered, need: Need) -> bool:
    """Ask one task back for a queue that is owed, of the queue that is furthest above its share, where it holds most.

    What was asked back counts as given until the next word of usage: so no more is asked than is missing.
    """
    taker = turn.job.request.queue
    if not standings.is_owed(taker, need):
        return False
    victim = max(standings.excess, key=lambda queue: standings.excess[queue])
    if victim == taker or not standings.exceeds(victim, need):
        return False
    holders = [(max(_left_of(link, victim), default=0), name) for name, link in core.links.items()]
    most, name = max(holders, default=(0, None))
    if name is None or most <= 0:
        return False
    wish = Preemption(victim, need, rank_of(core, turn.job, turn.key))
    core.draft(name).preemptions.append(wish)
    core.links[name].asked_back.append((wish, taker))
    standings.move(need, giver=victim, taker=taker)
    return True


def _left_of(link: Link, queue: str) -> list[int]:
    """What a queue holds at a Local Master by its last word, less what was asked back since."""
    left = list(link.queue_usage.get(queue, ()))
    for wish, _ in link.asked_back:
        if wish.victim_queue == queue and left:
            left = [amount - more for amount, more in zip(left, wish.need.demand, strict=True)]
    return left


def _place_group(core: Core, turn: Ordered, group: Group, now_s: float) -> bool:
    """Match a group's waiting tasks; says whether all found a node."""
    view, need = core.view, group.need
    while group.waiting:
        match = core.search.find_match(view, need)
        if match is None:
            return False
        _take(core, turn, group, match, now_s)
    return True


def _place_gang(core: Core, turn: Ordered, now_s: float) -> None:
    """Match all waiting tasks of a gang, or undo what was matched."""
    view = core.view
    found: list[tuple[Group, Match]] = []
    for group in turn.job.groups:
        for _ in group.waiting:
            match = core.search.find_match(view, group.need)
            if match is None:
                for taken, undone in found:
                    view.give_back(undone.row, taken.need.demand)
                return
            view.take(match.row, group.need.demand)
            found.append((group, match))
    for group, match in found:
        view.give_back(match.row, group.need.demand)
        _take(core, turn, group, match, now_s)


def _take(core: Core, turn: Ordered, group: Group, match: Match, now_s: float) -> None:
    """Book a match and draft its launch."""
    if core.keeps_decisions:
        _explain(core, turn, group, match, now_s)
    core.counters.matches += 1
    core.counters.repartitions += match.is_repartition
    core.view.take(match.row, group.need.demand)
    core.launch(turn.job, group, match.row, now_s)


def _explain(core: Core, turn: Ordered, group: Group, match: Match, now_s: float) -> None:
    view = core.view
    index = view.partition_of(match.row)
    name, node = view.place_of(match.row)
    bits = view.partitions[index].fits[view.shape_of(group.need.demand)] & view.eligible(group.need, index)
    core.effects.append(
        Decided(
            task=TaskRef(turn.job.request.job, group.waiting[0]),
            local_master=name,
            node=node,
            rank=rank_of(core, turn.job, turn.key),
            is_repartition=match.is_repartition,
            is_offer=False,
            candidates=bits.bit_count(),
            age_s=now_s - view.as_of_s.get(name, now_s),
        )
    )
