"""What an ApplicationMaster's rows of asks amount to."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import ANY, Ask, AskKey, ConstraintHandling, GangDemand, Grant, PlacementConstraint
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.asks import AskBook, new_rows, rows_by_key

EAST = SubClusterId("east")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


class Noted:
    """An `AskSplitter` that keeps the demands which it is given, and asks the home for all."""

    takes_constraints = False

    def __init__(self):
        self.demands = []
        self.dropped = []

    def split(self, demand, capacities):
        self.demands.append(demand)
        return {capacities[0].subcluster: demand.wanted}

    def has_spares(self, _):
        return True

    def pins(self, _):
        return {}

    def granted(self, key, subcluster):
        pass

    def drop(self, key):
        self.dropped.append(key)

    def clear(self):
        pass


def demand_of(*rows, containers=()):
    book, splitter = AskBook(containers), Noted()
    book.tell((Ask(KEY, place, count, relaxes) for place, count, relaxes in rows), {})
    book.split(splitter, (ClusterCapacity(EAST, is_home=True),))
    return splitter.demands[0]


@pytest.mark.parametrize(
    ("rows", "allowed"),
    [
        ([("h1", 2, True), ("/r", 2, False), (ANY, 2, False)], ("h1",)),
        ([("h1", 2, False), ("/r", 2, True), (ANY, 2, False)], ("/r", "h1")),
        ([("h1", 0, True), ("h2", 1, True), ("/r", 1, False), (ANY, 1, False)], ("h2",)),
        ([(ANY, 1, False)], ()),
        ([("h1", 2, True), ("/r", 2, True), (ANY, 2, True)], ()),
    ],
)
def test_where_containers_may_be_that_may_not_be_anywhere(rows, allowed):
    demand = demand_of(*rows)
    assert demand.is_strict == (not rows[-1][2])
    assert demand.places == allowed


def test_a_demand_tells_how_many_containers_there_are_already():
    assert demand_of((ANY, 2, True), containers=range(5)).held == 5


# ---------------------------------------------------------------------- counts

WEST = SubClusterId("west")
HOME = (ClusterCapacity(EAST, is_home=True),)
LATER = AskKey(30, -1, is_opportunistic=False, resource=ResourceVector(2048, 1))
SOONER = AskKey(10, -1, is_opportunistic=False, resource=ResourceVector(512, 2, {"gpu": 1}))


def a_grant(key=KEY, host="h1"):
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 1)
    return Grant(container, NodeId(host, 1), key.priority, key.allocation_request_id, key.resource)


def a_book(**counts):
    """A book that wants so many of each key."""
    book = AskBook()
    keys = {"sooner": SOONER, "key": KEY, "later": LATER}
    book.tell([Ask(keys[name], ANY, count) for name, count in counts.items()], {})
    return book


def wanted(book):
    return {group.key: group.wanted for group in book.groups}


def split(book):
    """What the home is asked for of each key, by a splitter that asks it for all; and the demands."""
    splitter = Noted()
    book.split(splitter, HOME)
    return {group.key: group.targets.get(EAST, 0) for group in book.groups}, splitter


@pytest.mark.parametrize(("on_way", "left"), [(0, 3), (2, 1), (3, 0), (5, 0)])
def test_what_is_on_its_way_is_taken_off_a_count(on_way, left):
    book = a_book(key=1)
    book.tell([Ask(KEY, ANY, 3), Ask(KEY, "h1", 2)], {KEY: on_way})
    assert wanted(book) == {KEY: left}
    assert book.groups[0].places == {"h1": 2}


def test_a_named_place_alone_wants_nothing_and_one_that_wants_nothing_is_not_kept():
    book = AskBook()
    book.tell([Ask(KEY, "h1", 2)], {})
    assert wanted(book) == {KEY: 0}
    book.tell([Ask(KEY, "h1", 0), Ask(KEY, ANY, 0)], {})
    assert list(book.groups[0].rows) == [ANY]


def test_a_grant_is_taken_off_its_count_its_places_its_target_and_the_allowance():
    book = a_book(key=3)
    book.tell([Ask(KEY, "h1", 2), Ask(KEY, "/r", 1), Ask(KEY, "h2", 1)], {})
    book.allowance = ResourceVector(2048, 5, {"gpu": 1})
    split(book)
    group = book.groups[0]
    group.starved = {EAST: 4, WEST: 4}
    assert book.grant(a_grant(), EAST, "/r") == KEY
    assert (group.wanted, group.targets, group.starved) == (2, {EAST: 1}, {EAST: 0, WEST: 4})
    assert group.places == {"h1": 1, "h2": 1}
    assert book.allowance == ResourceVector(1024, 4, {"gpu": 1})
    assert book.grant(a_grant(), WEST, "") == KEY
    assert (group.wanted, group.targets, group.starved) == (1, {EAST: 1}, {EAST: 0, WEST: 0})
    book.allowance = ResourceVector(100, 0)
    book.grant(a_grant(host="h2"), EAST, "/r")
    assert book.allowance == ResourceVector(0, 0), "never less than nothing"
    assert book.grant(a_grant(), EAST, "/r") is None, "nobody wants it"
    assert group.targets[EAST] == 0
    assert group.places == {}
    assert group.spent == {}, "without a gang nothing is wanted again at its place"


def test_what_was_spent_of_a_gang_is_wanted_again_at_its_place():
    book = a_book(key=2)
    book.gang = GangDemand(2)
    book.tell([Ask(KEY, "h1", 1), Ask(KEY, "/r", 2)], {})
    book.grant(a_grant(), EAST, "/r")
    assert book.groups[0].places == {"/r": 1}
    book.give_back(KEY, ("h1", "/r", "h9"))
    assert wanted(book) == {KEY: 2}
    assert book.groups[0].places == {"/r": 2, "h1": 1}
    book.give_back(LATER)
    assert wanted(book) == {KEY: 2}


def test_a_container_that_is_given_back_can_be_granted_again():
    book = a_book(key=1)
    assert book.grant(a_grant(), EAST, "") == KEY
    assert book.grant(a_grant(), EAST, "") is None
    book.give_back(KEY)
    assert book.grant(a_grant(), EAST, "") == KEY


def test_a_session_starves_by_each_answer_while_it_is_asked_and_not_lucky():
    book = a_book(key=1, later=1)
    split(book)
    for lucky in ((), (KEY,), ()):
        book.beat(EAST, lucky)
        book.beat(WEST, ())
    assert [group.starved for group in book.groups] == [{EAST: 2}, {EAST: 3}]
    _, splitter = split(book)
    assert [demand.starved for demand in splitter.demands] == [{EAST: 2}, {EAST: 3}]
    book.forgive()
    assert [group.starved for group in book.groups] == [{}, {}]


def test_what_was_refused_or_left_is_asked_for_there_no_more():
    book = a_book(key=1, later=1)
    split(book)
    book.beat(EAST, ())
    book.refuse([KEY, SOONER], EAST)
    first, second = book.groups
    assert (first.targets, first.refused, second.targets, second.refused) == ({}, {EAST}, {EAST: 1}, set())
    _, splitter = split(book)
    assert [demand.refused for demand in splitter.demands] == [{EAST}, set()]
    book.leave(EAST)
    assert (second.targets, second.starved) == ({}, {})


# ---------------------------------------------------------------------- how much may be asked for


@pytest.mark.parametrize(
    ("allowance", "asked"),
    [
        (None, {SOONER: 2, KEY: 3, LATER: 2}),
        (ResourceVector(0, 0), {SOONER: 0, KEY: 0, LATER: 0}),
        (ResourceVector(1024, 4), {SOONER: 2, KEY: 0, LATER: 0}),
        (ResourceVector(3072, 9), {SOONER: 2, KEY: 2, LATER: 0}),
        (ResourceVector(6144, 100), {SOONER: 2, KEY: 3, LATER: 1}),
        (ResourceVector(99999, 7), {SOONER: 2, KEY: 3, LATER: 0}),
        (ResourceVector(99999, 99, {"gpu": 1}), {SOONER: 1, KEY: 3, LATER: 2}),
        (ResourceVector(1024 + 512, 99), {SOONER: 2, KEY: 0, LATER: 0}),
        (ResourceVector(1024 + 514, 99), {SOONER: 2, KEY: 1, LATER: 0}),
    ],
    ids=["all", "none", "first", "second", "memory", "cores", "types", "half", "more than half"],
)
def test_an_allowance_is_for_the_most_urgent_first(allowance, asked):
    book = a_book(later=2, key=3, sooner=2)
    book.allowance = allowance
    found, splitter = split(book)
    assert found == asked
    assert [demand.key for demand in splitter.demands] == [key for key, count in asked.items() if count]
    assert splitter.dropped == [key for key, count in asked.items() if not count]
    wants, withheld = book.open_amounts()
    together = SOONER.resource.times(2) + KEY.resource.times(3) + LATER.resource.times(2)
    assert wants == together
    asks = [key.resource.times(count) for key, count in asked.items()]
    assert withheld + sum(asks[1:], asks[0]) == together


@pytest.mark.parametrize(
    ("resource", "asked"),
    [(ResourceVector(1024, 0), 2), (ResourceVector(0, 1), 1), (ResourceVector(1024, 1, {"disk": 0}), 1)],
    ids=["no cores", "no memory", "none of a type"],
)
def test_a_type_that_a_container_needs_nothing_of_bounds_nothing(resource, asked):
    book = AskBook()
    book.tell([Ask(AskKey(20, -1, is_opportunistic=False, resource=resource), ANY, 3)], {})
    book.allowance = ResourceVector(2048, 1, {"disk": 9})
    assert list(split(book)[0].values()) == [asked]


def test_an_allowance_is_for_no_container_that_needs_nothing():
    book = AskBook()
    book.tell([Ask(AskKey(20, -1, is_opportunistic=False, resource=ResourceVector()), ANY, 3)], {})
    book.allowance = ResourceVector(2048, 1)
    assert list(split(book)[0].values()) == [0]


def test_no_more_is_asked_for_than_a_gang_lacks_the_most_urgent_first():
    book = a_book(later=5, key=3)
    book.gang = GangDemand(4)
    found, splitter = split(book)
    assert found == {LATER: 1, KEY: 3}
    assert [demand.gang for demand in splitter.demands] == [book.gang, book.gang]


def test_a_gang_that_cannot_have_all_is_asked_for_as_wanted_and_says_so():
    book = a_book(key=6)
    book.gang = GangDemand(4, text="t")
    book.allowance = ResourceVector(2048, 9)
    found, splitter = split(book)
    assert found == {KEY: 6}
    (demand,) = splitter.demands
    assert (demand.wanted, demand.gang.count, demand.gang.text) == (6, 0, "t; its queue may not have so many now")


# ---------------------------------------------------------------------- what is held back


def test_what_is_held_back_is_never_more_than_is_wanted_and_neither_wanted_nor_withheld():
    book = a_book(key=3, later=1)
    book.hold_back({KEY: 2, LATER: 9, SOONER: 1})
    assert book.held_back() == {KEY: 2, LATER: 1}
    assert split(book)[0] == {KEY: 1, LATER: 0}
    assert book.open_amounts() == (KEY.resource, ResourceVector())
    book.hold_back({KEY: 0})
    assert book.held_back() == {}


def test_what_is_held_back_lapses_with_the_eighth_call():
    book = a_book(key=3)
    book.hold_back({KEY: 2})
    for _ in range(7):
        book.count_call()
        assert book.held_back() == {KEY: 2}
    book.count_call()
    assert book.held_back() == {}


# ---------------------------------------------------------------------- bounds, and what is forgotten


def many(count):
    return [Ask(AskKey(number, -1, is_opportunistic=False, resource=KEY.resource), ANY, 1) for number in range(count)]


@pytest.mark.parametrize(
    ("known", "new", "is_refused"), [(500, 0, False), (499, 1, False), (500, 1, True), (0, 501, True)]
)
def test_groups_are_bounded_over_all_calls(known, new, is_refused):
    book, asks = AskBook(), many(known + new)
    book.tell(asks[:known], {})
    assert bool(book.rejection(asks[known:])) == is_refused
    assert not book.rejection(asks[: min(known, 500)])


@pytest.mark.parametrize(
    ("new", "is_refused"),
    [(0, False), (1, False), (2, True)],
)
def test_rows_are_bounded_over_all_calls_and_those_that_are_known_or_want_nothing_are_not_new(new, is_refused):
    book = AskBook()
    book.tell([Ask(KEY, f"h{number}", 1) for number in range(7999)], {})
    rows = [Ask(KEY, "h1", 5), Ask(KEY, "h2", 1), Ask(KEY, "other", 0)]
    assert bool(book.rejection([*rows, *(Ask(KEY, f"new{number}", 1) for number in range(new))])) == is_refused


def test_a_call_that_was_refused_leaves_everything_as_it_was():
    book = a_book(key=3)
    book.tell([Ask(KEY, "h1", 1)], {})
    split(book)
    book.beat(EAST, ())
    book.refuse([KEY], WEST)
    before = book.snapshot([KEY, LATER])
    assert book.grant(a_grant(LATER), EAST, "") is None
    book.tell([Ask(KEY, ANY, 9), Ask(KEY, "h1", 0), Ask(LATER, ANY, 1)], {})
    book.grant(a_grant(), EAST, "")
    book.beat(EAST, ())
    book.refuse([KEY], EAST)
    book.restore(before)
    (group,) = book.groups
    assert (group.wanted, group.places, group.targets) == (3, {"h1": 1}, {EAST: 3})
    assert (group.starved, group.refused) == ({EAST: 1}, {WEST})
    assert book.grant(a_grant(LATER), EAST, "") is None
    assert book.grant(a_grant(), EAST, "") == KEY


def test_only_groups_that_want_nothing_and_are_asked_of_nobody_are_forgotten():
    book = a_book(sooner=0, key=0, later=1)
    book.forget_quiet([KEY])
    assert wanted(book) == {KEY: 0, LATER: 1}
    book.hold_back({LATER: 1})
    book.clear()
    assert (book.groups, book.held_back()) == ((), {})
    assert book.grant(a_grant(LATER), EAST, "") is None


def test_a_demand_tells_whether_more_is_wanted_than_may_be_asked_for():
    book, splitter, capacities = AskBook(), Noted(), (ClusterCapacity(EAST, is_home=True),)
    book.tell([Ask(KEY, ANY, 4, relaxes=True)], {})
    for allowance in (None, KEY.resource.times(4), KEY.resource.times(2)):
        book.allowance = allowance
        book.split(splitter, capacities)
    assert [each.is_limited for each in splitter.demands] == [False, False, True]
    assert book.has_spares, "as the splitter says"


# ---------------------------------------------------------------------- asks with a placement

WEB = PlacementConstraint(frozenset({"web"}), is_local=True)
PLACED = AskKey(20, 7, is_opportunistic=False, resource=KEY.resource, placement=WEB)
OTHERS = AskKey(25, 8, is_opportunistic=False, resource=KEY.resource, placement=WEB)
MUCH = ResourceVector(65536, 64)


def rooms(*, free_east):
    judges = {"constraints": ConstraintHandling.TOTALS, "size": MUCH, "largest": MUCH, "nodes": 4}
    home = ClusterCapacity(EAST, is_home=True, free=ResourceVector(1024 * free_east, 64), **judges)
    return home, ClusterCapacity(WEST, free=MUCH, **judges)


def placed_at(book, capacities):
    book.split(Noted(), capacities)
    return {group.key: group.targets for group in book.groups}


@pytest.mark.parametrize(
    ("adds", "on_way", "wanted_then"),
    [
        (True, {}, [3, 5]),
        (True, {PLACED: 2}, [1, 3]),
        (True, {PLACED: 9}, [0, 2]),
        (False, {}, [3, 2]),
        (None, {}, [3, 2]),
    ],
    ids=["adds", "two on their way", "more on their way", "does not add", "as usual"],
)
def test_a_count_with_a_placement_adds_to_the_one_before_where_the_home_adds_up(adds, on_way, wanted_then):
    book = AskBook()
    book.clear(on_way)
    for count, wanted_now in zip((3, 2), wanted_then, strict=True):
        book.tell([Ask(PLACED, ANY, count)], {}, **({} if adds is None else {"adds": adds}))
        assert wanted(book) == {PLACED: wanted_now}
    book.tell([Ask(KEY, ANY, 4)], {}, adds=True)
    book.tell([Ask(KEY, ANY, 1)], {}, adds=True)
    assert wanted(book)[KEY] == 1, "it has no placement"


def test_what_is_lost_on_its_way_before_the_master_says_anew_what_it_wants_is_taken_off_nothing():
    book = AskBook()
    book.clear({PLACED: 2})
    book.give_back(PLACED)
    book.tell([Ask(PLACED, ANY, 3)], {}, adds=True)
    assert wanted(book) == {PLACED: 2}


def test_what_other_asks_are_asked_for_takes_room_and_what_the_same_ask_is_asked_for_does_not():
    book = AskBook()
    book.tell([Ask(PLACED, ANY, 3), Ask(OTHERS, ANY, 2)], {})
    capacities = rooms(free_east=6)
    assert placed_at(book, capacities) == {PLACED: {EAST: 3}, OTHERS: {EAST: 2}}
    book.tell([Ask(PLACED, ANY, 5)], {})
    assert placed_at(book, capacities) == {PLACED: {EAST: 4, WEST: 1}, OTHERS: {EAST: 2}}
    book.tell([Ask(PLACED, ANY, 0), Ask(OTHERS, ANY, 6), Ask(KEY, ANY, 2)], {})
    assert placed_at(book, capacities) == {PLACED: {}, OTHERS: {EAST: 6}, KEY: {EAST: 2}}
    assert book.has_placed
    group = next(group for group in book.groups if group.key == OTHERS)
    free = [
        (capacities[0].free - claimed.amount(capacities[0].subcluster)).memory_mib // 1024
        for claimed in (book.claimed(), book.claimed(group))
    ]
    assert free == [0, 6], "what has no placement is not claimed"


def test_an_ask_with_a_placement_moves_after_ten_beats_without_a_grant():
    book = AskBook()
    book.tell([Ask(PLACED, ANY, 1)], {})
    capacities = rooms(free_east=0)
    assert placed_at(book, (capacities[0],)) == {PLACED: {EAST: 1}}
    for beats in range(1, 11):
        book.beat(EAST, ())
        assert placed_at(book, capacities) == {PLACED: {EAST: 1} if beats < 10 else {WEST: 1}}


def test_a_scheduler_that_found_no_place_is_asked_for_less_until_the_ask_is_said_again():
    book = AskBook()
    book.tell([Ask(PLACED, ANY, 5)], {})
    capacities = rooms(free_east=9)
    placed_at(book, capacities)
    (group,) = book.groups
    left = []
    for name, count in ((WEST, 1), (EAST, 1), (EAST, 3), (EAST, 9)):
        book.reject(PLACED, name, count)
        left.append(dict(group.targets))
    assert left == [{EAST: 5}, {EAST: 4}, {EAST: 1}, {EAST: 0}]
    assert book.request_of(group, 5).rejected == {EAST, WEST}
    book.tell([Ask(PLACED, ANY, 5)], {})
    assert book.request_of(group, 5).rejected == set()


keys = st.builds(
    AskKey,
    priority=st.integers(0, 1),
    allocation_request_id=st.just(-1),
    is_opportunistic=st.booleans(),
    resource=st.builds(ResourceVector, st.integers(1, 2), st.just(1)),
)
rows = st.builds(Ask, keys, st.sampled_from([ANY, "/rack", "h1", "h2"]), st.integers(0, 2))


@given(st.lists(rows))
def test_rows_of_each_key_keep_the_order_of_the_call(asks):
    found = rows_by_key(asks)
    assert list(found) == list(dict.fromkeys(ask.key for ask in asks))
    for key, group in found.items():
        assert list(group) == [ask for ask in asks if ask.key == key]


@given(st.lists(rows))
def test_neighbours_that_share_their_key_are_told_apart_as_others_are(asks):
    shared = {key: key for key in (ask.key for ask in asks)}
    assert rows_by_key([replace(ask, key=shared[ask.key]) for ask in asks]) == rows_by_key(asks)


@given(st.lists(rows), st.lists(rows))
def test_as_many_rows_are_new_as_a_group_would_have_more(before, asks):
    group = AskGroup(AskKey(0, -1, is_opportunistic=False, resource=ResourceVector(1, 1)))
    for ask in before:
        group.put(ask)
    had = set(group.rows)
    counted = new_rows(group, asks)
    assert set(group.rows) == had, "nothing was taken in"
    for ask in asks:
        if ask.count:
            group.put(ask)
    assert counted == len(set(group.rows) - had)
    assert new_rows(None, asks) == len({ask.place for ask in asks if ask.count})


@given(keys, keys)
def test_equal_keys_have_one_hash_and_changed_ones_another(one, other):
    assert (one == other) == (hash(one) == hash(other))
    assert hash(replace(one, label="gpu")) == hash(replace(one, label="gpu")) != hash(one)
