"""Rules of a book of promises one by one; all of them together are in tests/property/test_tentative_allocations.py."""

import pytest

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ConflictKind, ContainerKind, LaunchNews, LaunchProposal, Verdict
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations

EAST = SubClusterId("east")
PROD, DEV = "root.prod", "root.dev"


def gib(count: int) -> ResourceVector:
    return ResourceVector(1024 * count, count)


def a_kind(size: int = 1, queue: str = PROD, label: str = "") -> ContainerKind:
    return ContainerKind(queue, gib(size), label)


def propose(book: TentativeAllocations, number: int, kind: ContainerKind, count: int) -> int:
    return book.propose("gm", LaunchProposal(number, "a", kind, count), 2.0).accepted


@pytest.fixture
def book() -> TentativeAllocations:
    """Two nodes with room for 8 containers each, one of them labelled, and queues that may have 4 more."""
    made = TentativeAllocations(EAST, 30.0)
    queues = {
        path: QueueReport(
            path=path,
            state=QueueState.RUNNING,
            is_leaf=True,
            capacity=gib(4),
            maximum=gib(6),
            used=gib(2),
            labels=("*",),
        )
        for path in (PROD, DEV)
    }
    nodes = (
        NodeReport(NodeId("n1", 1), "/r", "RUNNING", gib(8), gib(0), ()),
        NodeReport(NodeId("n2", 1), "/r", "RUNNING", gib(8), gib(0), ("gpu",)),
    )
    made.apply(nodes, queues, 1.0)
    return made


def test_what_was_promised_counts_against_the_queue_also_when_it_is_granted_and_no_report_shows_it(book):
    assert book.room(a_kind()) == 4
    assert propose(book, 1, a_kind(), 3) == 3
    assert book.room(a_kind()) == 1
    book.tell("gm", LaunchNews(1, honoured=3, withdrawn=0), 2.0)
    assert book.open == 0
    assert book.room(a_kind()) == 1, "granted, and in no report"
    assert propose(book, 2, a_kind(), 3) == 1
    assert book.room(a_kind(queue=DEV)) == 4, "another queue has its own limit"


def test_what_is_promised_on_labelled_nodes_does_not_count_against_the_limit_of_the_others(book):
    assert propose(book, 1, a_kind(2, label="gpu"), 3) == 3
    assert book.room(a_kind()) == 4
    book.tell("gm", LaunchNews(1, honoured=3, withdrawn=0), 2.0)
    assert book.room(a_kind()) == 4


def test_a_proposal_that_comes_after_its_news_is_not_promised(book):
    book.tell("gm", LaunchNews(7, honoured=0, withdrawn=2), 2.0)
    verdict = book.propose("gm", LaunchProposal(7, "a", a_kind(), 2), 2.0)
    assert (verdict.verdict, verdict.accepted, book.open) == (Verdict.REJECTED, 0, 0)
    assert verdict.conflict is None, "nothing was in the way"
    assert book.room(a_kind()) == 4


def test_of_very_many_answers_the_newest_are_remembered(book):
    most = 8192
    for number in range(1, most + 2):
        book.tell("gm", LaunchNews(number, honoured=0, withdrawn=1), 2.0)
    assert propose(book, 2, a_kind(), 1) == 0, "its news is known: it comes too late"
    assert propose(book, 1, a_kind(), 1) == 1, "forgotten, as one that never came"


# ---------------------------------------------------------------------- what was in the way


def conflict(book: TentativeAllocations, sender: str, number: int, kind: ContainerKind, count: int) -> object:
    return book.propose(sender, LaunchProposal(number, "a", kind, count), 2.0).conflict


def a_report(used: int, *, memory: int = 8, queue_used: int = 0) -> TentativeAllocations:
    """One node, and a queue that may have twelve."""
    made = TentativeAllocations(EAST, 30.0)
    queue = QueueReport(
        path=PROD,
        state=QueueState.RUNNING,
        is_leaf=True,
        capacity=gib(4),
        maximum=gib(12),
        used=gib(queue_used),
        labels=("*",),
    )
    made.apply((NodeReport(NodeId("n1", 1), "/r", "RUNNING", gib(memory), gib(used), ()),), {PROD: queue}, 1.0)
    return made


def test_room_that_another_was_promised_or_granted_is_claimed():
    book = a_report(0)
    assert conflict(book, "one", 1, a_kind(), 5) is None
    assert conflict(book, "two", 1, a_kind(), 5) is ConflictKind.CLAIMED
    book.tell("one", LaunchNews(1, honoured=5), 2.0)
    assert conflict(book, "two", 2, a_kind(), 5) is ConflictKind.CLAIMED, "granted, and in no report"
    book.check()


def test_room_that_the_report_shows_in_use_is_used_whoever_was_promised_the_rest():
    book = a_report(4)
    assert conflict(book, "one", 1, a_kind(), 2) is None
    assert conflict(book, "two", 1, a_kind(), 5) is ConflictKind.USED
    book.check()


def test_the_limit_of_a_queue_is_a_conflict_of_its_own_unless_others_were_promised_its_room():
    assert conflict(a_report(0, queue_used=10), "one", 1, a_kind(), 3) is ConflictKind.QUEUE
    book = a_report(0, memory=16)
    assert conflict(book, "one", 1, a_kind(), 10) is None
    assert conflict(book, "two", 1, a_kind(), 5) is ConflictKind.CLAIMED


@pytest.mark.parametrize("kind", [a_kind(9), a_kind(label="gpu")])
def test_what_no_node_could_hold_conflicts_with_the_nodes(kind):
    assert conflict(a_report(0), "one", 1, kind, 1) is ConflictKind.NODE


def test_a_repeated_proposal_is_told_of_the_same_conflict():
    book = a_report(8)
    assert [conflict(book, "one", 1, a_kind(), 1) for _ in range(2)] == [ConflictKind.USED] * 2
