"""Steps 5 and 6 of a cycle where masters launch by themselves: a plan becomes launch requests, verdicts repair it."""

from collections.abc import Sequence

from shim.domain.messages import LaunchRejected, LaunchRequest, PreemptionRequest, TaskRef
from shim.scheduling.cycle import entitle, order
from shim.scheduling.global_master.bidding import CurrentBid, bid_for
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import Decided
from shim.scheduling.global_master.links import LaunchDraft, LocalMasterLink
from shim.scheduling.global_master.snapshots import local_master_of, take_snapshot
from shim.scheduling.plan import NO_PLAN, Plan, PlannedGrant, TakeBack, Turn
from shim.scheduling.ranks import rank_of

__all__ = ["carry_out", "commit", "order_now", "repair"]


def carry_out(core: Core, plan: Plan, now_s: float) -> None:
    """Book what a plan grants as launches on their way, and draft what Local Masters are asked for."""
    turns = {turn.request: turn for turn in plan.turns} if core.keeps_decisions else {}
    for grant in plan.grants:
        for _ in range(grant.count):
            if core.keeps_decisions:
                _explain(core, turns[grant.request], grant, now_s)
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


def order_now(core: Core, now_s: float) -> Sequence[Turn]:
    """Requests that wait now, in their order."""
    snapshot = take_snapshot(core, now_s)
    return order(snapshot, core.policy, entitle(snapshot))


def commit(core: Core, now_s: float, plan: Plan = NO_PLAN) -> None:
    """Step 5: one launch request for each Local Master that a match, an answer or a bid is for.

    Args:
        core: Whose.
        now_s: The time.
        plan: What was carried out just now: if it changed nothing, its order is that of the bid.
    """
    has_bid = core.policy.commitment.bids and not core.book.table.is_idle
    is_as_planned = bool(plan.turns) and not plan.grants and not plan.take_backs
    turns = plan.turns if is_as_planned else order_now(core, now_s) if has_bid else []
    bid = bid_for(core, turns if has_bid else [], now_s)
    drafts, core.drafts = core.drafts, {}
    for local_master, draft in drafts.items():
        link = core.links[local_master]
        if link.incarnation:
            core.send_request(local_master, _request(core, link, draft, bid), now_s)
    if has_bid:
        for local_master, link in core.links.items():
            if link.incarnation and local_master not in drafts:
                bid.send_alone(local_master, link)


def _request(core: Core, link: LocalMasterLink, draft: LaunchDraft, bid: CurrentBid) -> LaunchRequest:
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


def _explain(core: Core, turn: Turn, grant: PlannedGrant, now_s: float) -> None:
    view = core.view
    job, group = core.book.by_request[grant.request]
    index = view.cell_of(grant.place)
    name, node = view.place_of(grant.place)
    bits = view.cells[index].fits[view.shape_of(group.need.demand)] & view.eligible(group.need, index)
    core.effects.append(
        Decided(
            task=TaskRef(job.request.job, group.waiting[0]),
            local_master=name,
            node=node,
            rank=rank_of(core.policy, turn),
            is_repartition=grant.is_borrowed,
            is_offer=bool(grant.offer),
            candidates=bits.bit_count(),
            age_s=now_s - view.as_of_s.get(name, now_s),
        )
    )
