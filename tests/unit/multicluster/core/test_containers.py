"""Each container is in one state; the names of those that are done with have a bound, and the newest are known."""

import pytest

from shim.domain.allocations import AskKey, Ended, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
REMEMBERED = 4096


class Unwatched:
    def begun(self, container, since_s, resource=None, spot=None):
        pass

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        pass


def test_of_containers_that_ended_the_newest_are_known() -> None:
    book = ContainerBook(Unwatched())
    ids = [ContainerId(ATTEMPT, number) for number in range(1, REMEMBERED + 2)]
    for each in ids:
        container = Container(each, SubClusterId("east"), ContainerState.ENDED)
        book.add(container)
        book.forget([container])
    assert [book.is_done(each) for each in (ids[0], ids[1], ids[-1])] == [False, True, True]
    assert len(book) == 0


# ---------------------------------------------------------------------- states

WAYS = {
    ("queued", "given"),
    ("queued", "stillborn"),
    ("queued", "surplus"),
    ("stillborn", "told"),
    ("given", "ended"),
    ("ended", "told"),
}
EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1024, 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=UNIT)


@pytest.mark.parametrize("before", ContainerState)
@pytest.mark.parametrize("after", ContainerState)
def test_a_container_goes_only_the_ways_there_are(before, after):
    container = Container(ContainerId(ATTEMPT, 1), EAST, before)
    if (before.value, after.value) in WAYS:
        container.move(after)
        assert container.state is after
    else:
        with pytest.raises(ValueError, match="cannot become"):
            container.move(after)
        assert container.state is before


class Watching:
    """Notes every word."""

    def __init__(self):
        self.heard = []

    def begun(self, container, since_s, resource=None, spot=None):  # noqa: ARG002
        self.heard.append((container.number, since_s, resource))

    def ended(self, container, *, is_whole):
        self.heard.append((container.number, is_whole))


def a_container(number, state, **more):
    return Container(ContainerId(ATTEMPT, number), more.pop("subcluster", EAST), state, **more)


@pytest.mark.parametrize("state", ContainerState)
def test_an_attempt_has_what_was_granted_and_given_and_has_not_ended(state):
    watch = Watching()
    book = ContainerBook(watch)
    grant = Grant(ContainerId(ATTEMPT, 1), NodeId("h", 1), 20, -1, UNIT)
    book.add(a_container(1, state, grant=grant, since_s=5.0))
    book.add(a_container(2, state))
    has = state in {ContainerState.QUEUED, ContainerState.GIVEN}
    assert watch.heard == ([(1, 5.0, UNIT), (2, None, None)] if has else [])
    watch.heard.clear()
    book.begin_anew(book)
    assert watch.heard == [(1, None, UNIT), (2, None, None)]


@pytest.mark.parametrize(
    ("status", "is_returned", "is_whole"),
    [(0, False, True), (-105, False, True), (1, False, False), (-100, False, False), (-100, True, True)],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [(ContainerState.QUEUED, ContainerState.STILLBORN), (ContainerState.GIVEN, ContainerState.ENDED)],
)
def test_an_end_is_noted_once_and_whether_it_was_cut_short(before, after, status, is_returned, is_whole):
    watch = Watching()
    book = ContainerBook(watch)
    container = a_container(1, before)
    book.add(container)
    book.give_back(container.id, is_used=is_returned)
    book.give_back(container.id, is_used=False)
    book.give_back(ContainerId(ATTEMPT, 9), is_used=True)
    watch.heard.clear()
    book.end(container, Ended(container.id, status))
    book.end(container, Ended(container.id, 77))
    assert (container.state, container.ended) == (after, Ended(container.id, status))
    assert watch.heard == [(1, is_whole)]


def test_the_end_of_a_container_that_nobody_wants_is_the_last_of_it():
    watch = Watching()
    book = ContainerBook(watch)
    container = a_container(1, ContainerState.QUEUED, key=KEY)
    book.add(container)
    container.become_surplus()
    assert container.key is None
    book.end(container, Ended(container.id, 0))
    assert (len(book), book.find(container.id), book.is_done(container.id)) == (0, None, True)
    assert watch.heard[1:] == [(1, False)]


def test_only_what_was_never_heard_of_ends_with_being_forgotten():
    for state in ContainerState:
        watch = Watching()
        book = ContainerBook(watch)
        container = a_container(1, state)
        book.add(container)
        watch.heard.clear()
        book.forget([container])
        unheard = state in {ContainerState.QUEUED, ContainerState.SURPLUS}
        assert watch.heard == ([(1, False)] if unheard else [])


@pytest.mark.parametrize("is_hearsay", [True, False])
@pytest.mark.parametrize("state", [ContainerState.GIVEN, ContainerState.ENDED])
def test_hearsay_is_dropped_while_it_is_given(state, is_hearsay):
    book = ContainerBook(Watching())
    book.add(a_container(1, state, is_hearsay=is_hearsay))
    book.drop_hearsay(ContainerId(ATTEMPT, 1))
    book.drop_hearsay(ContainerId(ATTEMPT, 2))
    assert len(book) == (0 if is_hearsay and state is ContainerState.GIVEN else 1)


def test_a_container_is_no_hearsay_and_not_returned_unless_that_is_said():
    watch = Watching()
    book = ContainerBook(watch)
    container = a_container(1, ContainerState.GIVEN)
    book.add(container)
    book.drop_hearsay(container.id)
    book.end(container, Ended(container.id, -100))
    assert (list(book), watch.heard[1:]) == ([container], [(1, False)])


def test_what_is_on_its_way_is_counted_by_key_and_the_rest_is_found_by_state_and_cluster():
    book = ContainerBook(Watching())
    queued = a_container(1, ContainerState.QUEUED, key=KEY)
    stillborn = a_container(2, ContainerState.STILLBORN, key=KEY, subcluster=WEST)
    others = [a_container(3, ContainerState.GIVEN, key=KEY), a_container(4, ContainerState.QUEUED)]
    for each in (queued, stillborn, *others):
        book.add(each)
    assert book.on_way() == {KEY: 2}
    assert book.in_state(ContainerState.STILLBORN, ContainerState.GIVEN) == [stillborn, others[0]]
    assert book.of(WEST) == [stillborn]
    assert list(book) == [queued, stillborn, *others]


def test_tags_are_counted_of_what_the_attempt_has_by_sub_cluster():
    web, db = frozenset({"web"}), frozenset({"db", "ssd"})

    def tagged(number, tags):
        return Grant(ContainerId(ATTEMPT, number), NodeId("h", 1), 20, -1, UNIT, tags=tags)

    book = ContainerBook(Watching())
    for number, state in enumerate(ContainerState, 10):
        book.add(a_container(number, state, grant=tagged(number, web)))
        book.add(a_container(number + 10, state, grant=tagged(number + 10, frozenset())))
        book.add(a_container(number + 20, state))
    for number in (40, 41):
        book.add(a_container(number, ContainerState.GIVEN, grant=tagged(number, db), subcluster=WEST))
    assert book.tags() == {EAST: {web: 2}, WEST: {db: 2}}, "queued and given ones"
    book.give_back(ContainerId(ATTEMPT, 40), is_used=True)
    assert book.tags() == {EAST: {web: 2}, WEST: {db: 1}}, "what is given back makes room for another at once"
