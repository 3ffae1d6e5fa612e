"""The choice of the home sub-cluster of an application.

First who may have it at all (`home_rules.py`). Then who is best: where it is expected to end first (`completion.py`),
as far as the work of applications is known. Before anything of the kind has ended it goes by free shares: the mean of
the free share of the queue and of the whole sub-cluster there, counting what waits there and what was sent since the
last report. By those, whoever can start its ApplicationMaster now goes before whoever cannot, however free. Who perhaps
never can start it comes last in any case. An application that waits for its ApplicationMaster has asked for no more
than that yet: in its queue it counts as much as one takes there on average. Equal scores go to the sub-cluster that is
configured first, so that the choice can be repeated.
"""

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission
from shim.domain.submissions import Candidate, HomeDecision, Submission
from shim.federation.core.federation_view import FederationView, SubClusterView, find_queue
from shim.submission.core.completion import Expectation, QueueWork, expected_completion
from shim.submission.core.home_refusals import refusal_of
from shim.submission.core.home_rules import Effect, HomeReason, Question, reasons_against, types_told

_LAST_RESORT = -1000.0
"""Score of a sub-cluster without a running node: it keeps an application waiting, as a ResourceManager without nodes
does, and gets one only if no other may have it."""

_LATER: Mapping[Effect, float] = {Effect.WAITS: -4.0, Effect.MAY_WAIT_FOR_EVER: -8.0}
"""Added to the score where its ApplicationMaster cannot start now: what its queue is guaranteed there is of use only
when something ends, and the container can be had nowhere else afterwards. More than free shares (over -1, at most 1)
and files (at most 1) make up for."""

_AS_LONG_AS_S = 60.0
"""Expected completion that halves the score of one that would end at once."""

_NOTHING = ResourceVector()
_MOST_KINDS = 64
"""Kinds of submissions that are kept of one sub-cluster."""


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """Settings of the choice of homes.

    Attributes:
        default_queue: For submissions that name none, as YARN's.
        queue_weight: How much the queue's free share counts against the sub-cluster's, from 0 to 1.
        data_parts: Part of a submission's files that lies in each sub-cluster's own file systems.
        home_with_data: What is added to the score of a sub-cluster where all of them lie.
        out_of_reach: Why a submission cannot be sent to a sub-cluster in the form in which it came; empty if it can.
        containers_up_to: The largest containers that a submission says it will ask for; empty if it says nothing.
        reserved_at: The sub-cluster of the reservation that a submission is to run in; None if it may run anywhere.
        expected: Work that an application is expected to be.
        work_in: What is left of the applications of a sub-cluster's queue; None where that is not known.
        note_sent: Told of each choice at once: its work is in no report yet.
        orders_asks: Whether a queue's applications are served by Heddle's order, whatever that of their clusters is: a
            small one is then not behind what is left of those before it.
    """

    default_queue: str = "default"
    queue_weight: float = 0.5
    name_at: Callable[[SubClusterId, str], str] = lambda _, queue: queue
    out_of_reach: Callable[[SubClusterId, Submission], str] = lambda _, __: ""
    data_parts: Callable[[Submission], Mapping[SubClusterId, float]] = lambda _: {}
    home_with_data: float = 0.0
    reserved_at: Callable[[Submission], SubClusterId | None] = lambda _: None
    containers_up_to: Callable[[Submission], ResourceVector] = lambda _: ResourceVector()
    expected: Callable[[Submission], Expectation] = lambda _: Expectation()
    work_in: Callable[[SubClusterView, QueueReport], QueueWork | None] = lambda _, __: None
    note_sent: Callable[[SubClusterId, Submission], None] = lambda _, __: None
    orders_asks: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class _OnWay:
    """Placements that no report shows yet.

    Attributes:
        cluster: Resources that they take there, each as much as an application there takes on average, or as its
            ApplicationMaster asks for if that is more; `queue` is the part of one queue.
        count: Those in that queue; `masters` is what their ApplicationMasters ask for.
    """

    cluster: ResourceVector = _NOTHING
    queue: ResourceVector = _NOTHING
    count: int = 0
    masters: ResourceVector = _NOTHING


@dataclass(frozen=True, slots=True)
class _Case:
    """A submission at one sub-cluster, and what is known of the two that the view does not tell."""

    submission: Submission
    queue_name: str
    admission: Admission
    excluded: str
    out_of_reach: str
    reserved_at: SubClusterId | None
    up_to: ResourceVector

    def kind(self, listed: Container[str]) -> Hashable:
        """The same for cases that are weighed alike, where only `listed` users are told of one by one."""
        submission = self.submission
        return (
            submission.resource,
            submission.label,
            submission.is_unmanaged,
            submission.user if submission.user in listed else None,
            submission.queue,
            self.queue_name,
            self.admission,
            self.excluded,
            self.out_of_reach,
            self.reserved_at,
            self.up_to,
        )


@dataclass(frozen=True, slots=True)
class _ByWork:
    """A candidate by work, and all that it goes by beside what was weighed; work that was added makes it longer."""

    work: QueueWork
    length: int
    expected: Expectation
    orders_asks: bool
    candidate: Candidate


@dataclass(slots=True)
class _Weighed:
    """One sub-cluster as it was weighed.

    Attributes:
        candidate: By its room alone.
        is_eligible: Whether an application may be there by the work that is left; `has_room` for its ApplicationMaster.
        speed: Memory that its queue may hold, and may have at once, in MiB; None before anybody asked.
        last: What the last choice found by work.
    """

    question: Question
    reasons: Sequence[HomeReason]
    on_way: _OnWay
    candidate: Candidate
    is_eligible: bool = False
    has_room: bool = False
    speed: tuple[float, float] | None = None
    last: _ByWork | None = None


@dataclass(slots=True)
class _Standing:
    """What was found of one sub-cluster as long as the view knows nothing new of it.

    Attributes:
        stands: As the view numbers what it knows.
        listed: Users who are told of one by one, by the queue that was looked at.
        kinds: As it was weighed, by the kind of the case.
    """

    stands: Hashable
    listed: dict[str, frozenset[str]] = field(default_factory=dict)
    kinds: dict[Hashable, _Weighed] = field(default_factory=dict)


class WeighedHomes:
    """Sub-clusters as they were weighed, for the next submissions of the same kinds.

    What was found of one stands until the view knows something new of it: of a hundred that is mostly the one that an
    application was just sent to. One user's kinds cannot fill the memory.
    """

    def __init__(self) -> None:
        self._known: dict[SubClusterId, _Standing] = {}

    @property
    def count(self) -> int:
        """Number of all that is kept."""
        return sum(len(known.kinds) for known in self._known.values())

    def find(self, subcluster: SubClusterId, stands: Hashable, case: _Case) -> _Weighed | None:
        known = self._known.get(subcluster)
        if known is None or known.stands != stands:
            return None
        listed = known.listed.get(case.queue_name)
        return None if listed is None else known.kinds.get(case.kind(listed))

    def keep(self, subcluster: SubClusterId, stands: Hashable, case: _Case, weighed: _Weighed) -> None:
        known = self._known.get(subcluster)
        if known is None or known.stands != stands or len(known.kinds) >= _MOST_KINDS:
            known = self._known[subcluster] = _Standing(stands)
        queue = weighed.question.queue
        listed = known.listed.get(case.queue_name)
        if listed is None:
            listed = frozenset() if queue is None else frozenset(user.name for user in queue.users)
            known.listed[case.queue_name] = listed
        known.kinds[case.kind(listed)] = weighed


def choose_home(
    submission: Submission,
    view: FederationView,
    admissions: Mapping[SubClusterId, Admission],
    now_s: float,
    settings: HomeSettings | None = None,
    *,
    excluded: Mapping[SubClusterId, str] | None = None,
    known: WeighedHomes | None = None,
) -> HomeDecision:
    """Choose the sub-cluster that an application will run on, and say why.

    The caller tells the view at once (`FederationView.note_placed`), before it lets others run: so submissions between
    two polls spread.

    Args:
        admissions: Operators' words; a sub-cluster that is not in here is OPEN.
        now_s: Seconds since the epoch.
        excluded: Sub-clusters that are out of the question, with the reason: those that rejected it before.
        known: What earlier choices on the same view with the same settings found; None to weigh all anew.
    """
    settings, excluded = settings or HomeSettings(), excluded or {}
    asked = submission.queue or settings.default_queue
    candidates: list[Candidate] = []
    against: list[tuple[Question, HomeReason | None]] = []
    data_parts = settings.data_parts(submission) if settings.home_with_data > 0.0 else {}
    reserved_at = settings.reserved_at(submission)
    up_to = settings.containers_up_to(submission)
    expected = settings.expected(submission)
    types: frozenset[str] = frozenset()
    if submission.resource.others or up_to.others:  # what others tell of matters: nothing is known beforehand
        types = types.union(*(types_told(view.look(each, now_s)) for each in view.subclusters))
        known = None
    weighs = replace(submission, body=b"")  # what is kept of it shall not keep what a client sent
    for subcluster in view.subclusters:
        queue_name = settings.name_at(subcluster, asked)
        case = _Case(
            weighs,
            queue_name,
            admissions.get(subcluster, Admission.OPEN),
            excluded.get(subcluster, ""),
            settings.out_of_reach(subcluster, submission),
            reserved_at,
            up_to,
        )
        stands = None if known is None else view.standing(subcluster, now_s)
        weighed = None if known is None or stands is None else known.find(subcluster, stands, case)
        if weighed is None:
            weighed = _weighed(case, view.look(subcluster, now_s), types, settings)
            if known is not None and stands is not None:
                known.keep(subcluster, stands, case, weighed)
        candidate = weighed.candidate
        if weighed.is_eligible and expected.mib_s > 0:
            candidate = _by_work(weighed, settings, expected)
        age_s = view.age_s(subcluster, now_s)
        if candidate.age_s != age_s:
            candidate = Candidate(subcluster, candidate.score, candidate.reason, age_s, room=candidate.room)
        against.append((weighed.question, weighed.reasons[0] if weighed.reasons else None))
        candidates.append(_with_data(candidate, data_parts.get(subcluster, 0.0), settings.home_with_data))
    return _decide(submission, asked, tuple(candidates), against)


def next_best(decision: HomeDecision) -> float | None:
    """The score that the home has to keep to stay the best: that of the second; None if it is the only one.

    Its Local Master knows nothing of the application's files: what they are worth is taken off. Nor does it know of
    work: where that decided, the home has to keep the room that it was believed to have, or more than the best other.
    """
    home = next((each for each in decision.candidates if each.subcluster == decision.home_subcluster), None)
    others = (each for each in decision.candidates if each.subcluster != decision.home_subcluster)
    best = max((score for each in others if (score := _by_room(each)) is not None), default=None)
    if best is None or home is None:
        return best
    own = _by_room(home)
    return (best if home.room is None or own is None else min(best, own)) - home.for_data


def _by_room(candidate: Candidate) -> float | None:
    return candidate.score if candidate.room is None else candidate.room


# ---------------------------------------------------------------------- who is best


def _weighed(case: _Case, seen: SubClusterView, types: frozenset[str], settings: HomeSettings) -> _Weighed:
    """One sub-cluster by the rules and by its room, whatever work is known."""
    queue = find_queue(seen, case.queue_name)
    on_way = _on_way(seen, settings, queue)
    question = Question(
        case.submission,
        seen,
        case.admission,
        case.queue_name,
        queue,
        case.excluded,
        case.out_of_reach,
        case.reserved_at,
        on_way.count,
        on_way.masters,
        types,
        case.up_to,
    )
    reasons = reasons_against(question)
    if reasons and reasons[0].effect not in _LATER:
        return _Weighed(question, reasons, on_way, _refused(seen, reasons[0].text))
    return _by_room_alone(question, reasons, on_way, settings)


def _by_room_alone(
    question: Question, reasons: Sequence[HomeReason], on_way: _OnWay, settings: HomeSettings
) -> _Weighed:
    reason = reasons[0] if reasons else None
    seen, queue, submission = question.subcluster, question.queue, question.submission
    ahead = _ahead(seen, queue, submission)
    load = seen.used + seen.pending + on_way.cluster + ahead
    cluster_free = _free_share(load, seen.capacity)
    queue_free = cluster_free
    if queue is not None:
        guaranteed = queue.capacity if queue.capacity.memory_mib > 0 else queue.maximum
        queue_free = _free_share(queue.used + queue.pending + on_way.queue + ahead, guaranteed)
    score = _squeezed(settings.queue_weight * queue_free + (1 - settings.queue_weight) * cluster_free)
    told = f"{_free_told('queue', queue_free)}, {_free_told('cluster', cluster_free)}"
    has_room = submission.is_unmanaged or _free_share(load + submission.resource, seen.capacity) >= 0
    if reason is not None and (has_room or reason.effect is not Effect.WAITS):
        wait = "it would wait there" if reason.effect is Effect.WAITS else "it may wait there for ever"
        score, told = score + _LATER[reason.effect], f"{told}, {wait}: {reason.text}"
    elif not has_room:
        score, told = score + _LATER[Effect.WAITS], f"{told}, it would wait there"
    if queue is not None and queue.waiting_applications:
        told += f", {queue.waiting_applications} wait in its queue"
    if seen.placements:
        told += f", {sum(seen.placements.values())} on the way"
    if not any(node.state == "RUNNING" for node in seen.nodes):
        last = Candidate(seen.subcluster, _LAST_RESORT, "no node is RUNNING: it would wait there", seen.age_s)
        return _Weighed(question, reasons, on_way, last)
    candidate = Candidate(seen.subcluster, score, told, seen.age_s)
    return _Weighed(question, reasons, on_way, candidate, is_eligible=True, has_room=has_room)


def _by_work(weighed: _Weighed, settings: HomeSettings, expected: Expectation) -> Candidate:
    """The candidate by when the application is expected to end there, as far as the work of its queue is known."""
    question, reasons, on_way, candidate = weighed.question, weighed.reasons, weighed.on_way, weighed.candidate
    seen, queue, submission = question.subcluster, question.queue, question.submission
    work = settings.work_in(seen, queue) if queue is not None else None
    if work is None or queue is None or candidate.score is None:
        return candidate
    orders_asks = settings.orders_asks(submission.queue or settings.default_queue)
    last = weighed.last
    if (
        last is not None
        and last.work is work
        and (last.length, last.orders_asks) == (len(work.left), orders_asks)
        and last.expected == expected
    ):
        return last.candidate
    if weighed.speed is None:
        is_held = not weighed.has_room or any(each.effect is Effect.WAITS for each in reasons)
        weighed.speed = _power_mib(seen, queue), 0.0 if is_held else _free_mib(seen, queue, on_way)
    power_mib, free_mib = weighed.speed
    completion = expected_completion(
        work,
        expected.mib_s,
        is_fair=queue.is_fair or orders_asks,
        power_mib=power_mib,
        free_mib=free_mib,
        masters_ahead=_masters_ahead(queue, reasons, on_way),
    )
    score = _AS_LONG_AS_S / (_AS_LONG_AS_S + completion.total_s)
    if reasons and reasons[0].effect is Effect.MAY_WAIT_FOR_EVER:
        score += _LATER[Effect.MAY_WAIT_FOR_EVER]
    ordering = "fair" if queue.is_fair else "ordered" if orders_asks else "fifo"
    told = f"{completion.told(ordering, expected.ground)}; {candidate.reason}"
    found = Candidate(seen.subcluster, score, told, seen.age_s, room=candidate.score)
    weighed.last = _ByWork(work, len(work.left), expected, orders_asks, found)
    return found


def _free_told(what: str, share: float) -> str:
    return f"{what} {share:.0%} free" if share >= 0 else f"{what} {-share:.0%} more than full"


def _masters_ahead(queue: QueueReport, reasons: Sequence[HomeReason], on_way: _OnWay) -> int:
    """Applications that have to end before its ApplicationMaster may start."""
    if not queue.waiting_applications and not any(each.until_one_ends for each in reasons):
        return 0
    return queue.waiting_applications + on_way.count + 1


def _power_mib(seen: SubClusterView, queue: QueueReport) -> float:
    """Memory that a queue may hold beside what others hold and want; less where virtual cores run out before."""
    load = seen.used + seen.pending
    part = _part_before_others(seen, queue, load)
    others = max(0, load.memory_mib - queue.used.memory_mib - queue.pending.memory_mib)
    power = max(queue.capacity.memory_mib * part, seen.capacity.memory_mib * part - others)
    return min(power, queue.maximum.memory_mib * part) if queue.maximum.memory_mib > 0 else power


def _free_mib(seen: SubClusterView, queue: QueueReport, on_way: _OnWay) -> float:
    """Memory that a queue may have at once, as nobody wants it."""
    load = seen.used + seen.pending + on_way.cluster
    part = _part_before_others(seen, queue, load)
    return min(_power_mib(seen, queue), seen.capacity.memory_mib * part - load.memory_mib)


def _part_before_others(seen: SubClusterView, queue: QueueReport, load: ResourceVector) -> float:
    """Part of the memory that is in use when the dominant type is used up: all of it where that is memory."""
    dominant = load.dominant_share_of(seen.capacity)
    if queue.counts_all is False or dominant <= 0 or load.memory_mib <= 0:
        return 1.0
    return min(1.0, load.memory_mib / max(1, seen.capacity.memory_mib) / dominant)


def _squeezed(free: float) -> float:
    """A free share, above -1 however many times over all is asked for: the order stays."""
    return free if free >= 0 else free / (1 - free)


def _with_data(candidate: Candidate, part: float, worth: float) -> Candidate:
    """The candidate with what it is worth that a part of the application's files lies there."""
    if candidate.score is None or not part:
        return candidate
    told = f"{candidate.reason}, {part:.0%} of its files are in its file systems (home_with_data)"
    room = None if candidate.room is None else candidate.room + part * worth
    return replace(candidate, score=candidate.score + part * worth, reason=told, for_data=part * worth, room=room)


def _on_way(seen: SubClusterView, settings: HomeSettings, queue: QueueReport | None) -> _OnWay:
    if not seen.placements:
        return _OnWay()
    mean = _mean_use(seen)
    is_meant: dict[str, bool] = {}
    memory = vcores = queue_memory = queue_vcores = number = masters_memory = masters_vcores = 0
    for (name, asked_memory, asked_vcores), count in seen.placements.items():
        takes_memory = max(asked_memory, mean.memory_mib) * count
        takes_vcores = max(asked_vcores, mean.vcores) * count
        memory, vcores = memory + takes_memory, vcores + takes_vcores
        if name not in is_meant:
            is_meant[name] = find_queue(seen, name or settings.default_queue) is queue
        if is_meant[name]:
            queue_memory, queue_vcores, number = (
                queue_memory + takes_memory,
                queue_vcores + takes_vcores,
                number + count,
            )
            masters_memory, masters_vcores = (
                masters_memory + asked_memory * count,
                masters_vcores + asked_vcores * count,
            )
    return _OnWay(
        ResourceVector(memory, vcores),
        ResourceVector(queue_memory, queue_vcores),
        number,
        ResourceVector(masters_memory, masters_vcores),
    )


def _ahead(seen: SubClusterView, queue: QueueReport | None, submission: Submission) -> ResourceVector:
    """Resources that the applications of its queue which have not started will want beside their ApplicationMasters."""
    if queue is None or not queue.waiting_applications:
        return _NOTHING
    mean, count = _mean_use(seen), queue.waiting_applications
    return ResourceVector(
        max(0, mean.memory_mib - submission.resource.memory_mib) * count,
        max(0, mean.vcores - submission.resource.vcores) * count,
    )


def _mean_use(seen: SubClusterView) -> ResourceVector:
    """Use of the applications that have started there, on average."""
    started = seen.running - seen.waiting_applications
    if started <= 0:
        return _NOTHING
    return ResourceVector(seen.used.memory_mib // started, seen.used.vcores // started)


def _free_share(load: ResourceVector, capacity: ResourceVector) -> float:
    """1 for idle, 0 for full, below 0 by how many times over it is asked for; 0 where there is nothing."""
    return 1.0 - load.dominant_share_of(capacity) if capacity.memory_mib > 0 else 0.0


# ---------------------------------------------------------------------- what is said


def _refused(seen: SubClusterView, reason: str) -> Candidate:
    return Candidate(seen.subcluster, None, reason, seen.age_s)


def _decide(
    submission: Submission,
    queue_name: str,
    candidates: tuple[Candidate, ...],
    against: Sequence[tuple[Question, HomeReason | None]],
) -> HomeDecision:
    eligible = [candidate for candidate in candidates if candidate.score is not None]
    if not eligible:
        is_lasting = all(reason is not None and reason.effect is Effect.NEVER for _, reason in against)
        each = ", ".join(f"{candidate.subcluster} {candidate.reason}" for candidate in candidates)
        hint = "Correct the submission." if is_lasting else "Try again, or another queue."
        reason = f"No cluster can take {submission.application_id} in queue {queue_name}: {each}. {hint}"
        decision = HomeDecision(None, reason, candidates, is_lasting=is_lasting)
        return refusal_of(decision, submission, queue_name, against) if is_lasting else decision
    best = max(eligible, key=lambda candidate: candidate.score or 0.0)
    praise = f"was the best of {len(eligible)}" if len(eligible) > 1 else "was the only one possible"
    return HomeDecision(best.subcluster, f"{best.subcluster} ({best.reason}) {praise}", candidates)
