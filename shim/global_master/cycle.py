"""A scheduling cycle in six steps: snapshot, entitle, order, place, commit, repair.

Steps 1 to 5 run after every event that may have made a match possible (`run_cycle`); step 6 runs when verdicts arrive
(`repair`) and, while somebody entitled still waits after step 4, takes capacity back (`reallocate`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.domain.messages import LaunchRejected, LaunchRequest, Need, Preemption, TaskRef
from shim.global_master.bidding import CurrentBid, bid_for, rank_of
from shim.global_master.core import Core, Ordered
from shim.global_master.events import Decided
from shim.global_master.jobs import Group
from shim.global_master.links import Draft, Link
from shim.global_master.match import Match
from shim.global_master.ordering import Column, expect_durations, order_jobs
from shim.global_master.recipe import Reallocation

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
    """Step 2: mark the jobs of queues that hold their share or more; they wait for those that do not."""
    if not core.queue_shares or core.book.table.is_idle:
        return
    violations = _share_violations(core)
    for job in core.book.jobs.values():
        deficit = 0.0 if violations.get(job.request.queue, 0.0) < 0.0 else 1.0
        core.book.table.put(Column.DEFICIT, job.row, deficit)


def order(core: Core, now_s: float) -> list[Ordered]:
    """Step 3: jobs with waiting tasks in the order of the recipe."""
    table = core.book.table
    if core.recipe.learns_durations:
        expect_durations(table, core.book.durations, now_s)
    rows = table.waiting_rows()
    columns = table.columns(rows)
    keys = core.recipe.ordering(columns, core.book.durations, now_s)
    positions = order_jobs(columns, keys)
    by_row = core.book.by_row
    turns = zip(rows[positions].tolist(), keys[positions].tolist(), strict=True)
    return [Ordered(by_row[row], key) for row, key in turns]


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
    violations = _share_violations(core)
    victim, excess = max(violations.items(), key=lambda entry: entry[1], default=("", 0.0))
    if excess <= 0.0:
        return
    asked = 0
    for turn in order(core, now_s):
        if violations.get(turn.job.request.queue, 0.0) >= 0.0:
            continue
        for group in turn.job.groups:
            wishes = min(len(group.waiting), _MOST_PREEMPTIONS - asked)
            asked += wishes
            _ask_back(core, victim, Preemption(victim, group.need, rank_of(core, turn.job, turn.key)), wishes)
    return


def _ask_back(core: Core, victim: str, wish: Preemption, wishes: int) -> None:
    """Send a wish to the Local Masters where the victim holds most, at most once between two words of its usage."""
    holders = sorted(
        ((-max(link.queue_usage[victim]), name) for name, link in core.links.items() if victim in link.queue_usage),
    )
    for _, name in holders[:wishes]:
        link = core.links[name]
        core.draft(name).preemptions.append(wish)
        del link.queue_usage[victim]


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


def _share_violations(core: Core) -> dict[str, float]:
    """By how much each queue's dominant share exceeds what it is entitled to; negative when it holds less.

    Usage is that of the Local Masters' last words: exact for nobody, like everything in the view.
    """
    used: dict[str, np.ndarray] = {name: np.zeros(core.view.n_resources) for name in core.queue_shares}
    total = core.view.free.sum(axis=0).astype(np.float64)
    for link in core.links.values():
        for queue, held in link.queue_usage.items():
            total = total + held
            if queue in used:
                used[queue] = used[queue] + held
    existing = total > 0
    return {
        queue: float(np.max(held[existing] / total[existing], initial=0.0)) - core.queue_shares[queue]
        for queue, held in used.items()
    }
