"""Where asks go that are matched: to verified room, on from broken promises, and by capacity when the view is old."""

from dataclasses import replace

from shim.domain.allocations import AskKey
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.domain.verdicts import Verdict
from shim.multicluster.core import ClusterCapacity, Demand
from shim.multicluster.core.matching import MatchingSplitter, MatchSettings
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from tests.support.launches import Unordered

EAST, WEST = SubClusterId("east"), SubClusterId("west")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def gib(count):
    return ResourceVector(1024 * count, count)


class Books(Unordered):
    """Implements `Launches` by books of promises that the test looks into; `waiting` are verdicts that are late."""

    def __init__(self, free, sender="gm", books=None):
        self.books = books or {name: TentativeAllocations(name, 30.0) for name in free}
        self.sender = sender
        self.number = 0
        self.is_late = False
        self.waiting = []
        self.report(1.0, free)

    def report(self, at_s, free):
        for name, left in free.items():
            node = NodeReport(NodeId(f"{name}-1", 1), "/r", "RUNNING", gib(20), gib(20 - left))
            self.books[name].apply((node,), {}, at_s)

    def room(self, subcluster, key, places=()):
        return self.books[subcluster].room(ContainerKind("", key.resource, "", places))

    def propose(self, subcluster, key, count, places=()):
        self.number += 1
        proposal = LaunchProposal(self.number, "a", ContainerKind("", key.resource, "", places), count)
        verdict = self.books[subcluster].propose(self.sender, proposal, 1.0)
        if self.is_late:
            self.waiting.append(verdict)
        return self.number, None if self.is_late else verdict

    def tell(self, subcluster, number, *, honoured, withdrawn):
        self.books[subcluster].tell(self.sender, LaunchNews(number, honoured, withdrawn), 1.0)

    def took(self, subcluster, key):
        self.books[subcluster].took("a", ContainerKind("", key.resource), 1.0)

    def lost(self, subcluster, number):
        return self.books[subcluster].lost(self.sender, number)

    @property
    def open(self):
        return {name: book.open for name, book in self.books.items()}


def a_room(name, **more):
    values = {"is_home": name == EAST, "free": gib(10), "size": gib(20), "largest": gib(10)} | more
    return ClusterCapacity(name, **values)


CAPACITIES = (a_room(EAST), a_room(WEST))


def a_splitter(books, **settings):
    return MatchingSplitter(books, MatchSettings(**({"patience": 3} | settings)))


def test_asks_go_where_nodes_are_free_and_are_promised_there():
    books = Books({EAST: 2, WEST: 6})
    assert a_splitter(books).split(Demand(KEY, 8), CAPACITIES) == {EAST: 2, WEST: 6}
    assert books.open == {EAST: 2, WEST: 6}


def test_what_others_were_promised_is_not_free_though_no_report_shows_it():
    books = Books({EAST: 6, WEST: 6})
    a_splitter(books).split(Demand(KEY, 10), CAPACITIES)
    other = Books({}, sender="other", books=books.books)
    assert a_splitter(other).split(Demand(KEY, 2), CAPACITIES) == {EAST: 1, WEST: 1}
    assert a_splitter(other).split(Demand(replace(KEY, priority=9), 4), CAPACITIES) == {EAST: 2, WEST: 2}, "they wait"
    assert books.open == {EAST: 6, WEST: 6}


def test_a_grant_honours_a_promise_and_the_next_report_shows_it():
    books = Books({EAST: 4, WEST: 0})
    splitter = a_splitter(books)
    splitter.split(Demand(KEY, 4), CAPACITIES)
    splitter.granted(KEY, EAST)
    assert books.open[EAST] == 3
    assert books.room(EAST, KEY) == 0, "granted, and not in the report yet"
    books.report(2.0, {EAST: 3})
    assert books.room(EAST, KEY) == 0
    splitter.drop(KEY)
    assert books.room(EAST, KEY) == 3


def test_a_container_that_nobody_had_promised_is_no_room_though_no_report_shows_it():
    books = Books({EAST: 0, WEST: 0})
    splitter = a_splitter(books)
    assert splitter.split(Demand(KEY, 4), CAPACITIES) == {EAST: 2, WEST: 2}, "both are full: they wait"
    books.report(2.0, {EAST: 1, WEST: 0})
    splitter.granted(KEY, EAST)
    assert books.room(EAST, KEY) == 0, "what the report shows as free is what was granted"
    assert splitter.split(Demand(KEY, 3, standing={EAST: 1, WEST: 2}), CAPACITIES) == {EAST: 1, WEST: 2}
    assert books.open == {EAST: 0, WEST: 0}


def test_what_others_were_granted_was_promised_in_vain_and_is_matched_again():
    books = Books({EAST: 2, WEST: 0})
    splitter = a_splitter(books, patience=1000)
    assert splitter.split(Demand(KEY, 2), CAPACITIES) == {EAST: 2}
    standing = {"standing": {EAST: 2}, "starved": {EAST: 4}}
    books.report(2.0, {EAST: 1, WEST: 0})
    books.report(4.9, {EAST: 1, WEST: 5})
    assert splitter.split(Demand(KEY, 2, **standing), CAPACITIES) == {EAST: 2}, "granted to it, and not heard of yet?"
    books.report(5.0, {EAST: 1, WEST: 5})
    assert splitter.split(Demand(KEY, 2, **standing), CAPACITIES) == {EAST: 1, WEST: 1}
    assert (splitter.repairs, books.open) == (1, {EAST: 1, WEST: 1})
    books.report(6.0, {EAST: 0, WEST: 5})
    books.report(7.0, {EAST: 1, WEST: 5})
    books.report(9.5, {EAST: 0, WEST: 5})
    splitter.split(Demand(KEY, 2, standing={EAST: 1, WEST: 1}), CAPACITIES)
    assert splitter.repairs == 1, "there was room again in between"


def test_a_promise_that_is_too_old_is_matched_again():
    books = Books({EAST: 2, WEST: 0})
    splitter = a_splitter(books, patience=1000)
    splitter.split(Demand(KEY, 2), CAPACITIES)
    books.report(50.0, {EAST: 2, WEST: 0})
    assert books.open == {EAST: 0, WEST: 0}
    assert splitter.split(Demand(KEY, 2, standing={EAST: 2}), CAPACITIES) == {EAST: 2}
    assert (splitter.repairs, books.open) == (2, {EAST: 2, WEST: 0})


def test_what_waits_is_promised_elsewhere_as_soon_as_there_is_room():
    books = Books({EAST: 0, WEST: 0})
    splitter = a_splitter(books)
    capacities = (a_room(EAST), a_room(WEST, size=gib(1)))
    standing = splitter.split(Demand(KEY, 4), capacities)
    assert standing[EAST] >= 3, "by size"
    books.report(2.0, {WEST: 4})
    moved = splitter.split(Demand(KEY, 4, standing=standing, starved={EAST: 2}), capacities)
    assert moved == {WEST: 4}
    assert books.open == {EAST: 0, WEST: 4}


def test_a_promise_that_is_not_kept_is_taken_back_and_made_elsewhere():
    books = Books({EAST: 4, WEST: 0})
    splitter = a_splitter(books)
    standing = splitter.split(Demand(KEY, 4), CAPACITIES)
    assert standing == {EAST: 4}
    books.report(2.0, {EAST: 4, WEST: 3})
    assert splitter.split(Demand(KEY, 4, standing=standing, starved={EAST: 2}), CAPACITIES) == {EAST: 4}
    assert splitter.split(Demand(KEY, 4, standing=standing, starved={EAST: 3}), CAPACITIES) == {EAST: 1, WEST: 3}
    assert (splitter.repairs, books.open) == (4, {EAST: 0, WEST: 3})


def test_late_verdicts_hold_what_is_meant_for_elsewhere_and_let_go_what_is_meant_for_the_home():
    books = Books({EAST: 2, WEST: 2})
    books.is_late = True
    splitter = a_splitter(books)
    standing = splitter.split(Demand(KEY, 4), CAPACITIES)
    assert standing == {EAST: 2}
    for verdict in books.waiting:
        assert splitter.judge(verdict)
    assert not splitter.judge(books.waiting[0]), "once is enough"
    assert splitter.split(Demand(KEY, 4, standing=standing), CAPACITIES) == {EAST: 2, WEST: 2}


def test_a_late_rejection_takes_back_what_the_home_was_asked_for_too_soon():
    books = Books({EAST: 3, WEST: 0})
    books.is_late = True
    splitter = a_splitter(books)
    standing = splitter.split(Demand(KEY, 3), CAPACITIES)
    assert standing == {EAST: 3}
    (verdict,) = books.waiting
    books.is_late = False
    books.report(2.0, {EAST: 1, WEST: 5})
    splitter.judge(replace(verdict, verdict=Verdict.REJECTED, accepted=1))
    assert splitter.split(Demand(KEY, 3, standing=standing), CAPACITIES) == {EAST: 1, WEST: 2}


def test_a_silent_local_master_stands_in_nobodys_way():
    books = Books({EAST: 0, WEST: 2})
    books.is_late = True
    splitter = a_splitter(books)
    assert splitter.split(Demand(KEY, 2), CAPACITIES) == {}
    (verdict,) = books.waiting
    splitter.judge(replace(verdict, verdict=Verdict.UNVERIFIED, accepted=0))
    assert splitter.split(Demand(KEY, 2), CAPACITIES) == {WEST: 2}


def test_an_old_view_is_not_matched_on_and_the_record_says_so():
    books = Books({EAST: 0, WEST: 9})
    splitter = a_splitter(books, oldest_s=5.0)
    capacities = (a_room(EAST), a_room(WEST, age_s=7.5))
    assert splitter.split(Demand(KEY, 4), capacities) == {EAST: 2, WEST: 2}, "by free capacity as last reported"
    (decision,) = splitter.decisions
    assert (decision.by, decision.reason) == ("capacity", "the view is too old: west 7.5 s")
    assert (splitter.fallbacks, books.open) == (1, {EAST: 0, WEST: 0})


NEAR_WEST = (a_room(EAST, racks={"east-1": "/r"}), a_room(WEST, racks={"west-1": "/r"}))


def a_strict(count, place="west-1", **more):
    return Demand(KEY, count, places={place: count}, is_strict=True, allowed=(place,), **more)


def test_strict_asks_go_to_the_named_places_and_are_promised_what_is_free_there():
    books = Books({EAST: 9, WEST: 4})
    splitter = a_splitter(books)
    assert splitter.split(a_strict(6), NEAR_WEST) == {WEST: 6}, "the others wait there"
    assert books.open == {EAST: 0, WEST: 4}
    assert books.room(WEST, KEY) == 0, "nobody else counts on it"
    (told,) = splitter.decisions
    assert (told.by, [(each.subcluster, each.room) for each in told.candidates]) == ("heddle", [(EAST, 0), (WEST, 4)])
    books.report(2.0, {WEST: 5})
    assert splitter.split(a_strict(6, standing={WEST: 6}), NEAR_WEST) == {WEST: 6}
    assert books.open == {EAST: 0, WEST: 5}
    assert splitter.split(a_strict(2, standing={WEST: 6}), NEAR_WEST) == {WEST: 2}
    assert books.open == {EAST: 0, WEST: 2}


def test_strict_asks_for_a_host_without_room_are_not_proposed_to_its_neighbours():
    books = Books({EAST: 9, WEST: 4})
    splitter = a_splitter(books)
    capacities = (a_room(EAST), a_room(WEST, racks={"west-9": "/r"}))
    assert splitter.split(a_strict(3, "west-9"), capacities) == {WEST: 3}
    assert (splitter.decisions[0].verdicts, books.open) == ((), {EAST: 0, WEST: 0})


def test_strict_asks_that_are_rejected_or_starve_stay_at_their_places():
    books = Books({EAST: 9, WEST: 4})
    splitter = a_splitter(books)
    books.is_late = True
    assert splitter.split(a_strict(4), NEAR_WEST) == {WEST: 4}
    (verdict,) = books.waiting
    splitter.judge(replace(verdict, verdict=Verdict.REJECTED, accepted=1))
    books.is_late = False
    assert splitter.split(a_strict(4, standing={WEST: 4}), NEAR_WEST) == {WEST: 4}
    assert splitter.split(a_strict(4, standing={WEST: 4}, starved={WEST: 3}), NEAR_WEST) == {WEST: 4}
    assert splitter.repairs


def test_strict_asks_that_name_nothing_are_the_homes():
    books = Books({EAST: 9, WEST: 9})
    splitter = a_splitter(books)
    assert splitter.split(Demand(KEY, 2, is_strict=True), NEAR_WEST) == {EAST: 2}
    assert splitter.decisions[0].reason == "only the named places will do, and none is named"
    assert splitter.split(a_strict(2, "nowhere"), NEAR_WEST) == {EAST: 2}, "it says what a ResourceManager says"
    assert books.open == {EAST: 0, WEST: 0}


def test_named_hosts_go_first_and_wait_for_their_hosts():
    books = Books({EAST: 9, WEST: 1})
    capacities = (a_room(EAST), a_room(WEST, racks={"w1": "/r"}))
    assert a_splitter(books).split(Demand(KEY, 4, places={"w1": 3}), capacities) == {EAST: 1, WEST: 3}
    assert books.open == {EAST: 1, WEST: 1}


def test_the_record_tells_candidates_verdicts_and_allocations():
    splitter = a_splitter(Books({EAST: 2, WEST: 6}))
    splitter.split(Demand(KEY, 8), (a_room(EAST, age_s=0.5), a_room(WEST, age_s=1.5)))
    (decision,) = splitter.decisions
    assert (decision.by, decision.wanted, decision.asked) == ("heddle", 8, {EAST: 2, WEST: 6})
    assert decision.promised == {EAST: 2, WEST: 6}
    assert [(each.subcluster, each.age_s) for each in decision.candidates] == [(EAST, 0.5), (WEST, 1.5)]
    assert [(count, told.subcluster, told.verdict) for count, told in decision.verdicts] == [
        (2, EAST, Verdict.ACCEPTED),
        (6, WEST, Verdict.ACCEPTED),
    ]


def test_what_starves_is_not_taken_back_before_its_verdict_is_there():
    books = Books({EAST: 0, WEST: 0})
    splitter = a_splitter(books)
    standing = splitter.split(Demand(KEY, 2), (a_room(EAST), a_room(WEST, size=gib(1))))
    assert standing == {EAST: 2}
    books.report(2.0, {EAST: 2})
    books.is_late = True
    assert splitter.split(Demand(KEY, 2, standing=standing), CAPACITIES) == {EAST: 2}, "promised where it waits, maybe"
    assert splitter.split(Demand(KEY, 2, standing=standing, starved={EAST: 3}), CAPACITIES) == {EAST: 2}
    assert splitter.repairs == 0
    assert books.open[EAST] == 2
    for verdict in books.waiting:
        assert splitter.judge(verdict), "somebody waits for it"


def test_what_starves_is_cut_first_where_less_is_wanted():
    books = Books({EAST: 3, WEST: 0})
    splitter = a_splitter(books)
    assert splitter.split(Demand(KEY, 3), CAPACITIES) == {EAST: 3}
    standing = {EAST: 3, WEST: 3}
    books.report(2.0, {EAST: 0, WEST: 0})
    less = splitter.split(Demand(KEY, 4, standing=standing, starved={EAST: 3}), CAPACITIES)
    assert less == {EAST: 1, WEST: 3}
