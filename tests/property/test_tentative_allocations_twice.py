"""The book of tentative allocations beside one written from its rules: the same calls, and after each the same answers.

Times are few and round, so that what ends at a moment is also asked about at just that moment.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal, TentativelyAllocated, Verdict
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from tests.property.reference_tentative import PlainTentativeAllocations
from tests.support.examples import examples

LASTS_S = 4.0
SENDERS = ("gm/a", "gm/b")
QUEUES = ("root.free", "root.bound", "root.cores", "root.unknown")
PLACES = ((), (), (), ("n0",), ("/r1",), ("n1", "/r2"))

resources = st.sampled_from(
    [
        ResourceVector(1, 1),
        ResourceVector(1, 1),
        ResourceVector(2, 1),
        ResourceVector(1, 3),
        ResourceVector(3, 0),
        ResourceVector(0, 2),
        ResourceVector(1, 1, {"gpu": 1}),
        ResourceVector(0, 0),
    ]
)
kinds = st.builds(
    ContainerKind, st.sampled_from(QUEUES), resources, st.sampled_from(["", "", "x"]), st.sampled_from(PLACES)
)
senders, numbers, counts = st.sampled_from(SENDERS), st.integers(1, 2), st.integers(0, 6)


@st.composite
def nodes(draw):
    """Three nodes: one of a label, the last sometimes down, each with a type of its own now and then."""
    vectors = st.builds(ResourceVector, st.integers(0, 6), st.integers(0, 6), st.sampled_from([{}, {"gpu": 2}]))
    return tuple(
        NodeReport(NodeId(f"n{row}", 1), f"/r{row}", state, draw(vectors), ResourceVector(used, used), labels)
        for row, (labels, state, used) in enumerate(
            [
                ((), "RUNNING", draw(st.integers(0, 2))),
                (("x",), "RUNNING", 0),
                ((), draw(st.sampled_from(["RUNNING", "LOST"])), draw(st.integers(0, 1))),
            ]
        )
    )


@st.composite
def queues(draw):
    def a_queue(path, maximum):
        used = ResourceVector(draw(st.integers(0, 3)), draw(st.integers(0, 3)))
        return QueueReport(
            path, QueueState.RUNNING, is_leaf=True, capacity=ResourceVector(), maximum=maximum, used=used
        )

    maxima = {
        "root.bound": ResourceVector(draw(st.integers(1, 9)), draw(st.integers(1, 9))),
        "root.cores": ResourceVector(0, draw(st.integers(1, 9))),
        "root.free": ResourceVector(0, 0),
    }
    return {path: a_queue(path, maximum) for path, maximum in maxima.items()}


calls = st.one_of(
    st.tuples(st.just("propose"), senders, st.builds(LaunchProposal, numbers, st.just("attempt"), kinds, counts)),
    st.tuples(st.just("propose"), senders, st.builds(LaunchProposal, numbers, st.just("attempt"), kinds, counts)),
    st.tuples(st.just("tell"), senders, st.builds(LaunchNews, numbers, counts, counts)),
    st.tuples(st.just("tell"), senders, st.builds(LaunchNews, numbers, st.integers(0, 3), st.integers(0, 1))),
    st.tuples(st.just("took"), st.just("attempt"), kinds),
    st.tuples(st.just("correct"), senders, numbers, counts),
    st.tuples(st.just("learn"), st.lists(st.builds(TentativelyAllocated, kinds, counts), max_size=3)),
    st.tuples(st.just("expire")),
    st.tuples(st.just("apply"), nodes(), queues()),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 2.0, 4.0, 5.0])),
)
asked = [ContainerKind(queue, ResourceVector(1, 1), label) for queue in QUEUES for label in ("", "x")]
asked += [
    ContainerKind("root.free", ResourceVector(3, 0)),
    ContainerKind("root.bound", ResourceVector(0, 2), "", ("n0",)),
]
TIMELESS = {"correct"}


def call(book, name, *arguments, at_s, is_plain):
    """Make one call; return what it answers, and check a verdict's words."""
    answer = getattr(book, name)(*arguments, *(() if name in TIMELESS else (at_s,)))
    if name != "propose" or is_plain:
        return answer
    sender, proposal = arguments
    is_whole = answer.accepted >= proposal.count
    assert answer.verdict is (Verdict.ACCEPTED if is_whole else Verdict.REJECTED)
    assert (answer.number, answer.subcluster, answer.age_s) == (proposal.number, "east", at_s - book.reported_at_s)
    return answer.accepted, sender, None if is_whole else answer.promised


def told(plain, sender, proposal, accepted):
    """What a refused Global Master is told of others, by kind in the order of the first."""
    others = {}
    for (who, _), promise in plain.promises.items():
        if who != sender:
            others[promise.kind] = others.get(promise.kind, 0) + promise.number
    listed = tuple(TentativelyAllocated(kind, number) for kind, number in others.items())
    return accepted, sender, None if accepted >= proposal.count else listed


def compare(first_nodes, first_queues, history):
    """Make the same calls to both books."""
    book, plain, now_s = TentativeAllocations(SubClusterId("east"), LASTS_S), PlainTentativeAllocations(LASTS_S), 100.0
    for name, *arguments in [("apply", first_nodes, first_queues), *history]:
        if name == "wait":
            now_s += arguments[0]
            continue
        answers = [call(each, name, *arguments, at_s=now_s, is_plain=each is plain) for each in (book, plain)]
        if name == "propose":
            answers[1] = told(plain, *arguments, answers[1])
        assert answers[0] == answers[1]
        assert book.open == plain.open
        assert [book.room(kind) for kind in asked] == [plain.room(kind) for kind in asked]
        assert [left(book, path) for path in QUEUES] == [plain.left_of(path) for path in QUEUES]
        for sender in SENDERS:
            assert [book.lost(sender, n) for n in range(1, 4)] == [plain.lost(sender, n) for n in range(1, 4)]
        assert book.nodes.left.tolist() == [in_columns(book, plain, row) for row in range(len(plain.nodes))]
        book.check()


@settings(max_examples=examples(200), deadline=None)
@given(nodes(), queues(), st.lists(calls, min_size=1, max_size=25))
def test_both_books_answer_alike_after_every_call(first_nodes, first_queues, history):
    compare(first_nodes, first_queues, history)


def of_three_each(used):
    """Three nodes without a label with room for three containers each, but for what they hold."""
    return tuple(
        NodeReport(NodeId(f"n{row}", 1), "/r", "RUNNING", ResourceVector(3, 3), ResourceVector(held, held))
        for row, held in enumerate(used)
    )


PLAIN = ContainerKind("root.free", ResourceVector(1, 1))
few = st.integers(0, 3)
calls_for_few = st.one_of(
    st.tuples(st.just("tell"), st.just("gm/a"), st.builds(LaunchNews, numbers, st.integers(0, 7), few)),
    st.tuples(st.just("correct"), st.just("gm/a"), numbers, st.integers(0, 7)),
    st.tuples(st.just("took"), st.just("attempt"), st.just(PLAIN)),
    st.tuples(st.just("apply"), st.builds(of_three_each, st.tuples(few, few, few)), st.just({})),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 3.0])),
)


@settings(max_examples=examples(200), deadline=None)
@given(st.tuples(few, st.just(0), st.just(0)), st.integers(4, 9), st.lists(calls_for_few, min_size=1, max_size=12))
def test_both_books_move_and_give_up_the_same_parts_of_large_promises(used, first, history):
    proposals = [("propose", "gm/a", LaunchProposal(n, "a", PLAIN, count)) for n, count in ((1, first), (2, 9))]
    compare(of_three_each(used), {}, [*proposals, *history])


def left(book, path):
    """Bounds of a queue as the plain book tells them."""
    vector = book.left_of(path)
    return vector and (vector.memory_mib, vector.vcores)


def in_columns(book, plain, row):
    """A node's free amounts in the order of the array's columns."""
    free = plain.free(row)
    return [free.get(name, 0) for name in book.nodes.types]
