"""A book of promises at its boundaries: ages, repeated news, reports that come late, and what a rejection tells."""

from dataclasses import replace

import pytest

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ConflictKind, ContainerKind, LaunchNews, LaunchProposal, TentativelyAllocated, Verdict
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations

EAST = SubClusterId("east")
PROD = "root.prod"
LASTS_S = 30.0
REPORTED_S = 1.0


def gib(count: int) -> ResourceVector:
    return ResourceVector(1024 * count, count)


def a_kind(size: int = 1, queue: str = PROD) -> ContainerKind:
    return ContainerKind(queue, gib(size))


KIND = a_kind()
A_QUEUE = QueueReport(
    path=PROD,
    state=QueueState.RUNNING,
    is_leaf=True,
    capacity=gib(100),
    maximum=gib(100),
    used=gib(0),
    labels=("*",),
)


def tell_of(book: TentativeAllocations, at_s: float, *, used: int = 0, queue: QueueReport = A_QUEUE) -> None:
    """Report one node with room for eight containers, less those in use."""
    node = NodeReport(NodeId("n1", 1), "/r", "RUNNING", gib(8), gib(used), ())
    book.apply((node,), {queue.path: queue}, at_s)


@pytest.fixture
def book() -> TentativeAllocations:
    made = TentativeAllocations(EAST, LASTS_S)
    tell_of(made, REPORTED_S)
    return made


def propose(book: TentativeAllocations, count: int, *, number: int = 1, sender: str = "gm", at_s: float = 2.0) -> int:
    return book.propose(sender, LaunchProposal(number, "a", KIND, count), at_s).accepted


# ---------------------------------------------------------------------- reports


@pytest.mark.parametrize(("polled_at_s", "room"), [(0.5, 8), (REPORTED_S, 8), (1.5, 3)], ids=["older", "same", "newer"])
def test_only_a_newer_report_counts(book, polled_at_s, room):
    tell_of(book, polled_at_s, used=5)
    assert book.room(KIND) == room
    assert book.reported_at_s == max(REPORTED_S, polled_at_s)
    book.check()


@pytest.mark.parametrize(("polled_at_s", "room"), [(1.9, 6), (2.0, 6), (2.1, 8)], ids=["before", "at", "after"])
def test_what_was_granted_is_counted_until_a_report_that_was_begun_later(book, polled_at_s, room):
    assert propose(book, 1) == 1
    book.tell("gm", LaunchNews(1, honoured=1), 2.0)
    book.took("b", KIND, 2.0)
    assert (book.open, book.room(KIND)) == (0, 6)
    tell_of(book, polled_at_s)
    assert book.room(KIND) == room
    book.check()


def test_what_is_promised_is_counted_on_after_every_report(book):
    assert propose(book, 3) == 3
    tell_of(book, 10.0)
    assert (book.open, book.room(KIND)) == (3, 5)


# ---------------------------------------------------------------------- ages


@pytest.mark.parametrize(("at_s", "room"), [(2.0 + LASTS_S, 6), (2.1 + LASTS_S, 8)], ids=["just so old", "too old"])
@pytest.mark.parametrize("is_granted", [False, True])
def test_promises_and_grants_that_no_report_shows_are_forgotten_when_they_are_too_old(book, at_s, room, *, is_granted):
    assert propose(book, 2) == 2
    if is_granted:
        book.tell("gm", LaunchNews(1, honoured=2), 2.0)
    book.expire(at_s)
    assert book.room(KIND) == room
    book.check()


def test_a_younger_grant_stays_when_an_older_one_is_forgotten(book):
    book.took("a", KIND, 2.0)
    book.took("a", KIND, 5.0)
    book.expire(3.0 + LASTS_S)
    assert book.room(KIND) == 7
    book.check()


def test_a_proposal_finds_the_room_of_promises_that_have_become_too_old(book):
    assert propose(book, 8) == 8
    assert propose(book, 1, number=2, at_s=2.0 + LASTS_S) == 0
    assert propose(book, 8, number=3, at_s=2.1 + LASTS_S) == 8


# ---------------------------------------------------------------------- news


@pytest.mark.parametrize(
    ("news", "still_open", "room"),
    [
        ([(1, 0)], 4, 3),
        ([(1, 0), (1, 0)], 4, 3),
        ([(1, 0), (3, 0)], 2, 3),
        ([(3, 0), (1, 0)], 2, 3),
        ([(3, 0), (1, 0), (4, 0)], 1, 3),
        ([(0, 2)], 3, 5),
        ([(0, 2), (0, 2)], 3, 5),
        ([(0, 1), (0, 3)], 2, 6),
        ([(0, 3), (0, 1)], 2, 6),
        ([(2, 2)], 1, 5),
        ([(2, 0), (2, 2), (3, 2)], 0, 5),
        ([(9, 0)], 0, 3),
        ([(0, 9)], 0, 8),
        ([(0, 5), (2, 5)], 0, 8),
        ([(0, 0)], 5, 3),
    ],
)
def test_counts_of_news_only_grow_so_that_repetition_and_disorder_do_no_harm(book, news, still_open, room):
    assert propose(book, 5) == 5
    for honoured, withdrawn in news:
        book.tell("gm", LaunchNews(1, honoured=honoured, withdrawn=withdrawn), 2.0)
        book.check()
    assert (book.open, book.room(KIND)) == (still_open, room)


def test_news_of_another_sender_are_not_about_this_proposal(book):
    assert propose(book, 5) == 5
    book.tell("other", LaunchNews(1, withdrawn=5), 2.0)
    assert book.open == 5


# ---------------------------------------------------------------------- what was lost


@pytest.mark.parametrize(("at_s", "lost"), [(3.0, 0), (5.9, 0), (6.0, 2), (9.0, 2)])
def test_promises_without_room_count_as_lost_when_reports_have_shown_it_for_three_seconds(book, at_s, lost):
    assert propose(book, 6) == 6
    tell_of(book, 3.0, used=4)
    tell_of(book, at_s, used=4)
    assert book.lost("gm", 1) == lost


def test_room_that_comes_back_begins_the_time_anew(book):
    assert propose(book, 6) == 6
    for at_s, used in ((3.0, 4), (5.0, 0), (6.0, 4), (8.9, 4)):
        tell_of(book, at_s, used=used)
        assert book.lost("gm", 1) == 0
    tell_of(book, 9.0, used=4)
    assert book.lost("gm", 1) == 2


def test_what_is_too_old_is_lost_except_for_what_was_granted_or_withdrawn(book):
    assert book.lost("gm", 1) == 0, "never proposed"
    assert propose(book, 6) == 6
    book.tell("gm", LaunchNews(1, honoured=2, withdrawn=1), 2.0)
    assert book.lost("gm", 1) == 0
    book.expire(2.1 + LASTS_S)
    assert book.lost("gm", 1) == 3
    book.tell("gm", LaunchNews(1, honoured=9, withdrawn=1), 40.0)
    assert book.lost("gm", 1) == 0


# ---------------------------------------------------------------------- beliefs


@pytest.mark.parametrize(("accepted", "still_open"), [(6, 5), (5, 5), (3, 3), (0, 0)])
def test_a_belief_is_only_ever_corrected_downwards(book, accepted, still_open):
    assert propose(book, 5) == 5
    book.correct("gm", 2, 0)
    book.correct("gm", 1, accepted)
    assert (book.open, book.room(KIND)) == (still_open, 8 - still_open)
    book.expire(2.1 + LASTS_S)
    assert book.lost("gm", 1) == still_open, "nobody counts on more than was promised"


def test_what_others_were_promised_is_replaced_by_what_is_told_next_and_by_a_report(book):
    book.learn([TentativelyAllocated(KIND, 2), TentativelyAllocated(a_kind(2), 1)], 2.0)
    assert book.room(KIND) == 4
    book.learn([TentativelyAllocated(KIND, 3)], 2.0)
    assert book.room(KIND) == 5
    assert propose(book, 1) == 1
    book.check()
    tell_of(book, 3.0)
    assert (book.open, book.room(KIND)) == (1, 7), "one's own promises stay"


def test_what_others_were_promised_is_believed_as_far_as_there_is_room(book):
    book.learn([TentativelyAllocated(KIND, 6), TentativelyAllocated(KIND, 6), TentativelyAllocated(KIND, 1)], 2.0)
    assert (book.open, book.room(KIND)) == (8, 0)
    book.learn([], 2.0)
    assert (book.open, book.room(KIND)) == (0, 8)


# ---------------------------------------------------------------------- what is answered


@pytest.mark.parametrize("count", [0, -1])
def test_a_proposal_of_nothing_is_accepted_and_promises_nothing(book, count):
    verdict = book.propose("gm", LaunchProposal(1, "a", KIND, count), 2.0)
    assert (verdict.verdict, verdict.accepted, verdict.conflict) == (Verdict.ACCEPTED, 0, None)
    assert (book.open, book.room(KIND)) == (0, 8)


def test_a_verdict_says_how_old_its_report_is_and_names_what_it_is_about(book):
    verdict = book.propose("gm", LaunchProposal(7, "a", KIND, 8), 3.5)
    assert (verdict.subcluster, verdict.number, verdict.verdict) == (EAST, 7, Verdict.ACCEPTED)
    assert (verdict.accepted, verdict.age_s, verdict.promised) == (8, 2.5, ())


def test_a_rejection_tells_what_others_were_promised_by_kind_and_not_ones_own(book):
    for number, (sender, count, size) in enumerate([("one", 1, 1), ("one", 2, 1), ("gm", 1, 1), ("two", 1, 2)]):
        book.propose(sender, LaunchProposal(number, "a", a_kind(size), count), 2.0)
    verdict = book.propose("gm", LaunchProposal(9, "a", KIND, 3), 3.5)
    assert (verdict.subcluster, verdict.number, verdict.verdict) == (EAST, 9, Verdict.REJECTED)
    assert (verdict.accepted, verdict.age_s, verdict.conflict) == (2, 2.5, ConflictKind.CLAIMED)
    assert verdict.promised == (TentativelyAllocated(KIND, 3), TentativelyAllocated(a_kind(2), 1))
    assert verdict.reason == "room for 2 of 3; 4 are promised to others"


def test_a_rejection_tells_of_so_many_kinds_and_no_more():
    book = TentativeAllocations(EAST, LASTS_S)
    node = NodeReport(NodeId("n1", 1), "/r", "RUNNING", gib(300), gib(0), ())
    book.apply((node,), {}, REPORTED_S)
    for number in range(257):
        book.propose("one", LaunchProposal(number, "a", a_kind(queue=f"root.q{number}"), 1), 2.0)
    verdict = book.propose("gm", LaunchProposal(1, "a", KIND, 44), 2.0)
    assert [each.kind.queue for each in verdict.promised] == [f"root.q{number}" for number in range(256)]
    assert verdict.reason == "room for 43 of 44; 257 are promised to others"


@pytest.mark.parametrize(("count", "conflict"), [(6, ConflictKind.CLAIMED), (7, ConflictKind.USED)])
def test_room_is_claimed_if_without_the_promises_of_others_just_so_many_would_fit(book, count, conflict):
    tell_of(book, 1.5, used=2)
    assert propose(book, 1, sender="one") == 1
    verdict = book.propose("gm", LaunchProposal(1, "a", KIND, count), 2.0)
    assert (verdict.accepted, verdict.conflict) == (5, conflict)
    book.check()


def test_ones_own_promises_are_not_the_claims_of_others(book):
    assert propose(book, 5) == 5
    verdict = book.propose("gm", LaunchProposal(2, "a", KIND, 4), 2.0)
    assert (verdict.accepted, verdict.conflict) == (3, ConflictKind.USED)


@pytest.mark.parametrize(("count", "conflict"), [(4, ConflictKind.CLAIMED), (5, ConflictKind.QUEUE)])
def test_a_queue_is_in_the_way_if_it_may_not_have_so_many_by_its_report(book, count, conflict):
    tell_of(book, 1.5, queue=replace(A_QUEUE, maximum=gib(6), used=gib(2)))
    assert propose(book, 1, sender="one") == 1
    verdict = book.propose("gm", LaunchProposal(1, "a", KIND, count), 2.0)
    assert (verdict.accepted, verdict.conflict) == (3, conflict)


# ---------------------------------------------------------------------- limits of queues


@pytest.mark.parametrize(
    ("maximum", "used", "left", "room"),
    [
        (gib(6), gib(2), gib(4), 4),
        (gib(6), gib(6), gib(0), 0),
        (gib(6), gib(9), gib(0), 0),
        (ResourceVector(0, 6), gib(2), ResourceVector(-1, 4), 4),
        (ResourceVector(6144, 0), gib(2), ResourceVector(4096, -1), 4),
        (ResourceVector(0, 0), gib(2), ResourceVector(-1, -1), 8),
        (ResourceVector(1, 1), gib(0), ResourceVector(1, 1), 0),
    ],
)
def test_a_queue_may_have_what_its_limit_leaves_and_a_limit_of_nothing_bounds_nothing(book, maximum, used, left, room):
    tell_of(book, 2.0, queue=replace(A_QUEUE, maximum=maximum, used=used))
    assert book.left_of(PROD) == left
    assert book.room(KIND) == room


def test_an_unknown_queue_is_not_bounded(book):
    assert book.left_of("root.elsewhere") is None
    assert book.room(a_kind(queue="root.elsewhere")) == 8


def test_a_container_without_cores_is_not_bounded_by_cores(book):
    tell_of(book, 2.0, queue=replace(A_QUEUE, maximum=ResourceVector(3072, 1), used=ResourceVector(0, 1)))
    assert book.room(ContainerKind(PROD, ResourceVector(1024, 0))) == 3
    assert book.room(KIND) == 0


def test_promises_lessen_what_a_queue_may_have_in_both_types(book):
    tell_of(book, 2.0, queue=replace(A_QUEUE, maximum=gib(6)))
    kind = ContainerKind(PROD, ResourceVector(1024, 2))
    assert book.propose("gm", LaunchProposal(1, "a", kind, 2), 2.0).accepted == 2
    assert book.left_of(PROD) == ResourceVector(4096, 2)
    book.tell("gm", LaunchNews(1, honoured=1, withdrawn=1), 2.0)
    assert book.left_of(PROD) == ResourceVector(5120, 4)


# ---------------------------------------------------------------------- more is promised than there is room for


def promised_in_all(kinds: list[tuple[ContainerKind, int]], used: int) -> TentativeAllocations:
    """A book of promises, of which a later report shows that so much of the room is in use."""
    made = TentativeAllocations(EAST, LASTS_S)
    tell_of(made, REPORTED_S)
    for number, (kind, count) in enumerate(kinds):
        made.propose("others", LaunchProposal(number, "a", kind, count), 2.0)
    tell_of(made, 3.0, used=used)
    return made


@pytest.mark.parametrize("used", [0, 1, 2, 3])
def test_what_others_were_promised_is_told_in_its_order_as_the_older_have_theirs_first(used: int) -> None:
    """A rejection that told of each kind in all left a Global Master with the belief that there is room."""
    large = a_kind(3)
    truth = promised_in_all([(KIND, 1), (large, 1), (KIND, 4)], used)
    verdict = truth.propose("gm", LaunchProposal(9, "b", KIND, 9), 4.0)
    told = [(each.kind, each.count) for each in verdict.promised]
    assert told == [(KIND, 1), (large, 1), (KIND, 4)]
    belief = TentativeAllocations(EAST, LASTS_S)
    tell_of(belief, 3.0, used=used)
    belief.learn(verdict.promised, 4.0)
    assert [belief.room(kind) for kind in (KIND, large)] == [truth.room(kind) for kind in (KIND, large)] == [0, 0]


def test_of_very_many_promises_the_counts_of_each_kind_are_told_together() -> None:
    made = TentativeAllocations(EAST, LASTS_S)
    node = NodeReport(NodeId("n1", 1), "/r", "RUNNING", gib(2000), gib(0), ())
    made.apply((node,), {}, REPORTED_S)
    for number in range(300):
        made.propose("others", LaunchProposal(number, "a", a_kind(1 + number % 2), 1), 2.0)
    verdict = made.propose("gm", LaunchProposal(9, "b", KIND, 9999), 3.0)
    assert [(each.kind, each.count) for each in verdict.promised] == [(KIND, 150), (a_kind(2), 150)]
