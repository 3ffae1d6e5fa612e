"""One conversation with one scheduler: a request at a time, said again in the same words until it is answered."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from shim.domain.allocations import ANY, Ask, AskKey, ConstraintHandling, Grant, SessionRequest, UpdateRequest
from shim.domain.ids import ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.events import ClusterCapacity

_RESPONSE_IDS = 1 << 31
_BELIEVED_AFTER = 2
"""Answers: the first one may have been under way when it was asked."""

Row = tuple[AskKey, str]
"""A key and a place."""


class SessionState(Enum):
    """State of a session."""

    ABSENT = "absent"
    """Never needed so far, or could not be opened."""
    OPENING = "opening"
    """Being started, or registered again."""
    OPEN = "open"
    CLOSED = "closed"
    """Finished for good."""


@dataclass(slots=True)
class Session:
    """Requests to one scheduler, and its belief.

    Attributes:
        response_id: What the scheduler expects next.
        told: What the scheduler believes to be asked for; rows of zero are not kept.
        unsure: Rows of `told` of which it may believe something else: they are said again, though they read alike.
        releases: Containers that it still has to be told to release, in their order.
        is_fresh: Whether it may believe in asks from before it was opened (again), of which nobody here knows.
        adds: Whether a count of an ask with a placement adds to what the scheduler was asked for.
        missing: Containers that it may not know since it restarted.
        answers_left: Answers until its ResourceManager is asked about them.
        doubted: Containers that it said it does not know, and the answers until that is believed: the news that one
            has ended may be under way, and what it said may be of a life that is over.
    """

    subcluster: SubClusterId
    state: SessionState = SessionState.ABSENT
    response_id: int = 0
    in_flight: SessionRequest | None = None
    told: dict[Row, Ask] = field(default_factory=dict)
    unsure: set[Row] = field(default_factory=set)
    releases: dict[ContainerId, None] = field(default_factory=dict)
    updates: list[UpdateRequest] = field(default_factory=list)
    blacklist: frozenset[str] = frozenset()
    headroom: ResourceVector = field(default_factory=ResourceVector)
    nodes: int = 0
    places: dict[NodeId, None] = field(default_factory=dict)
    is_fresh: bool = False
    was_open: bool = False
    is_lost: bool = False
    adds: bool = False
    missing: dict[ContainerId, None] = field(default_factory=dict)
    answers_left: int = 0
    doubted: dict[ContainerId, int] = field(default_factory=dict)
    _said: dict[AskKey, int] = field(default_factory=dict)
    _said_by: SessionRequest | None = None

    def reopen(self, response_id: int) -> None:
        """The scheduler knows nothing of what it was asked for; releases that it did not answer are said again."""
        if self.in_flight is not None:
            self.releases = dict.fromkeys((*self.in_flight.releases, *self.releases))
        self.state = SessionState.OPEN
        self.is_fresh = self.was_open = True
        self.is_lost = False
        self.response_id = response_id
        self.in_flight = None
        self.told.clear()
        self.unsure.clear()
        self.blacklist = frozenset()

    def give_up(self) -> None:
        """Withdraw all that was said. What was open once is opened again: containers may live there."""
        self.state = SessionState.OPENING if self.was_open else SessionState.ABSENT
        self.is_lost = self.was_open
        self.in_flight = None
        self.told.clear()
        self.unsure.clear()
        self.releases.clear()
        self.updates.clear()
        self.blacklist = frozenset()
        self.headroom = ResourceVector()
        self.nodes = 0
        self.missing.clear()
        self.doubted.clear()

    def adds_up(self, key: AskKey) -> bool:
        """Return whether the scheduler adds up counts of a key: then it can only be asked for more."""
        return self.adds and key.placement is not None

    def bound(self, key: AskKey) -> int:
        """Most containers of a key that the scheduler may still grant."""
        told, said = self.told_of(key), self.said_now().get(key, 0)
        return told + said if self.adds_up(key) else max(told, said)

    def said_now(self) -> Mapping[AskKey, int]:
        """Counts in the request under way, by key; made once for each request, as it is looked up for each key."""
        request = self.in_flight
        if request is None:
            return {}
        if self._said_by is not request:
            self._said, self._said_by = {}, request
            for ask in request.asks:
                if ask.place == ANY:
                    self._said[ask.key] = max(ask.count, self._said.get(ask.key, 0))
        return self._said

    def told_of(self, key: AskKey) -> int:
        """Number of containers of a key that the scheduler believes to be asked for."""
        ask = self.told.get((key, ANY))
        return 0 if ask is None else ask.count

    def asked(self) -> set[AskKey]:
        """Keys that the scheduler believes to be asked for something."""
        return {key for key, _ in self.told}

    def renumber(self, serial: int, response_id: int) -> SessionRequest | None:
        """The scheduler expects another id: say the request under way with that one."""
        self.response_id = response_id
        if self.in_flight is not None:
            self.in_flight = replace(self.in_flight, serial=serial, response_id=response_id)
        return self.in_flight

    def request(
        self,
        serial: int,
        wanted: Mapping[Row, Ask],
        blacklist: frozenset[str],
        rest: bytes,
        *,
        is_quiet: bool = False,
    ) -> SessionRequest:
        """Say what changed since the last answer; the same again if the last request has none.

        Args:
            wanted: Every row that the scheduler shall believe in.
            blacklist: Every place that it shall keep free of the application.
            rest: Bytes that go along.
            is_quiet: Whether releases and changes of containers wait for the next request.
        """
        if self.in_flight is None:
            self.in_flight = SessionRequest(
                serial=serial,
                response_id=self.response_id,
                asks=tuple(self.changes(wanted)),
                releases=() if is_quiet else tuple(self.releases),
                blacklist_additions=tuple(sorted(blacklist - self.blacklist)),
                blacklist_removals=tuple(sorted(self.blacklist - blacklist)),
                updates=() if is_quiet else tuple(self.updates),
                rest=rest,
            )
            if not is_quiet:
                self.releases.clear()
                self.updates.clear()
        return self.in_flight

    def answered(self, response_id: int) -> SessionRequest:
        """The request under way was taken: believe that the scheduler believes it."""
        request = self.in_flight
        assert request is not None  # noqa: S101 - the ledger checks the serial number first
        self.in_flight = None
        self.response_id = response_id % _RESPONSE_IDS
        for said in request.asks:
            ask = replace(said, count=said.count + self.told_of(said.key)) if self.adds_up(said.key) else said
            self.unsure.discard((ask.key, ask.place))
            if ask.count:
                self.told[ask.key, ask.place] = ask
            else:
                self.told.pop((ask.key, ask.place), None)
        self.blacklist = (self.blacklist | set(request.blacklist_additions)) - set(request.blacklist_removals)
        return request

    def refused(self) -> SessionRequest | None:
        """The request under way was refused whole; what was no ask will be said again."""
        request, self.in_flight = self.in_flight, None
        if request is not None:
            self.releases = dict.fromkeys((*request.releases, *self.releases))
        return request

    def granted(self, key: AskKey, places: Iterable[str]) -> None:
        """The scheduler granted a container after the request that it answers, and counts it off itself."""
        for place in (ANY, *places):
            told = self.told.pop((key, place), None)
            if told is not None and told.count > 1:
                self.told[key, place] = replace(told, count=told.count - 1)

    def rejected(self, key: AskKey, count: int) -> None:
        """The scheduler found no place for so many containers, and tries no more."""
        told = self.told.pop((key, ANY), None)
        if told is not None and told.count > count:
            self.told[key, ANY] = replace(told, count=told.count - count)

    def suspect(self, grant: Grant) -> None:
        """A container that nobody wants: the scheduler believes in an ask from before, which is to be taken back.

        Or it believed in one that is not taken back yet, and has counted this container off. Either way it is not known
        what it believes now, so that even the same count has to be said again.

        One with a placement can be taken back only by who knows the placement: it is released as often as it is
        granted. A scheduler that adds counts up has one less to grant, whoever wants it.
        """
        kin = (grant.priority, grant.allocation_request_id)
        asked = {key for key in self.asked() if (key.priority, key.allocation_request_id) == kin}
        for key in asked:
            if self.adds_up(key) and key.placement is not None and key.placement.tags == grant.tags:
                self.granted(key, ())
                return
        if grant.tags:
            return
        if not asked:
            key = AskKey(*kin, is_opportunistic=False, resource=grant.resource)
            self.told[key, ANY] = Ask(key, ANY, count=1)
            asked = {key}
        self.unsure |= {(key, ANY) for key in asked}

    def changes(self, wanted: Mapping[Row, Ask]) -> Sequence[Ask]:
        """Rows that differ from what was told: named places first, as ApplicationMasters send them."""
        changed = [said for row, ask in wanted.items() if (said := self._to_say(row, ask)) is not None]
        changed += [ask.at_most(0) for row, ask in self.told.items() if row not in wanted and not self.adds_up(row[0])]
        return sorted(changed, key=lambda ask: ask.place == ANY)

    def _to_say(self, row: Row, ask: Ask) -> Ask | None:
        told = self.told.get(row)
        if not self.adds_up(ask.key):
            return None if told == ask and row not in self.unsure else ask
        more = ask.count - self.told_of(ask.key)
        return replace(ask, count=more) if more > 0 else None

    def expect(self, containers: Iterable[ContainerId], answers: int) -> None:
        """Give containers of which a scheduler that restarted may know nothing some answers of time to turn up."""
        self.missing, self.answers_left = dict.fromkeys(containers), answers
        self.doubted.clear()

    def doubt(self, containers: Iterable[ContainerId]) -> None:
        """Take in what its ResourceManager does not know, unless it has restarted since it was asked."""
        self.doubted |= {each: _BELIEVED_AFTER for each in containers if each not in self.missing}

    def lost(self) -> list[ContainerId]:
        """Containers of which it is believed by now that nobody knows them; counts one answer."""
        if not self.doubted:
            return []
        self.doubted = {name: left - 1 for name, left in self.doubted.items()}
        gone = [name for name, left in self.doubted.items() if left <= 0]
        for name in gone:
            del self.doubted[name]
        return gone

    def ended(self, container: ContainerId) -> None:
        """Take note that it has told of a container's end."""
        self.missing.pop(container, None)
        self.doubted.pop(container, None)

    def overdue(self) -> list[ContainerId]:
        """Containers whose ResourceManager is to be asked about them by now; counts one answer."""
        if not self.missing:
            return []
        self.answers_left -= 1
        if self.answers_left > 0:
            return []
        gone = list(self.missing)
        self.missing.clear()
        return gone


# Requests to each scheduler: the counts that each session shall believe in, cut so that no two may grant the same.


class Conversations:
    """The sessions of an attempt, and what they are told of its asks.

    Attributes:
        home: The session by the ApplicationMaster's own login.
        blacklist: Places that the ApplicationMaster does not want.
        is_told: Whether the ApplicationMaster has said its asks; until then nobody is told anything new.
        is_resuming: Whether the home may answer with the repetition of a lost answer: nothing is asked then.
    """

    def __init__(self, home: SubClusterId, asks: AskBook) -> None:
        self.home = Session(home)
        self.blacklist: frozenset[str] = frozenset()
        self.is_told = False
        self.is_resuming = False
        self._asks = asks
        self._sessions: dict[SubClusterId, Session] = {home: self.home}
        self._capacities: dict[SubClusterId, ClusterCapacity] = {}
        self._serial = 0

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._sessions.values()))

    @property
    def others(self) -> list[Session]:
        """Every session but the home's."""
        return [session for session in self._sessions.values() if session is not self.home]

    @property
    def capacities(self) -> Sequence[ClusterCapacity]:
        """The sub-clusters as they were known at the ApplicationMaster's last call; none before the first."""
        return tuple(self._capacities.values())

    def find(self, subcluster: SubClusterId) -> Session | None:
        return self._sessions.get(subcluster)

    def of(self, subcluster: SubClusterId) -> Session:
        session = self._sessions.get(subcluster)
        if session is None:
            session = self._sessions[subcluster] = Session(subcluster)
            session.adds = self._handling(subcluster) is ConstraintHandling.ADDS
        return session

    def look(self, capacities: Sequence[ClusterCapacity]) -> None:
        """Take in how the sub-clusters are now."""
        self._capacities = {room.subcluster: room for room in capacities}
        for session in self._sessions.values():
            session.adds = self._handling(session.subcluster) is ConstraintHandling.ADDS

    def next_serial(self) -> int:
        """A number that no request of this ledger has had."""
        self._serial += 1
        return self._serial

    def has_news(self, session: Session) -> bool:
        """True if a session has something to say that cannot wait for its beat."""
        if session.state is not SessionState.OPEN or session.in_flight is not None:
            return False
        return bool(session.releases or session.updates or session.changes(self._rows(session)))

    def is_believed_too_much(self, session: Session) -> bool:
        """True if a scheduler that has just answered believes that more is asked for than is wanted there.

        A count is absolute. One that is said while containers are granted that no answer has given yet asks for these
        once more (`LocalityAppPlacementAllocator`); until it is said again, the scheduler may grant them.
        """
        if not self.is_told or session.state is not SessionState.OPEN or session.in_flight is not None:
            return False
        wanted = self._rows(session)
        return any(
            place == ANY and ask.count > (wanted[key, place].count if (key, place) in wanted else 0)
            for (key, place), ask in session.told.items()
            if not session.adds_up(key)
        )

    def say(self, session: Session, rest: bytes = b"") -> SessionRequest:
        """The next request of a session; the same again if it has not answered yet."""
        is_quiet = session is self.home and self.is_resuming
        knows = self.is_told and not is_quiet
        is_new = session.in_flight is None
        serial = session.in_flight.serial if session.in_flight is not None else self.next_serial()
        request = session.request(
            serial,
            self._rows(session) if knows else session.told,
            self.blacklist if knows else session.blacklist,
            b"" if is_quiet else rest,
            is_quiet=is_quiet,
        )
        session.is_fresh = session.is_fresh and not (is_new and knows)
        return request

    def rack(self, subcluster: SubClusterId, node: NodeId) -> str:
        """The rack of a node, as far as it is known."""
        room = self._capacities.get(subcluster)
        return "" if room is None else room.racks.get(node.host, "")

    def elsewhere(self) -> list[tuple[ResourceVector, int]]:
        """Headroom and nodes of each further sub-cluster: as its scheduler says, or as it is known without one."""
        found: list[tuple[ResourceVector, int]] = []
        for name, room in self._capacities.items():
            session = self._sessions.get(name)
            if name == self.home.subcluster or not room.is_open:
                continue
            is_silent = session is None or not session.nodes  # a first answer tells no headroom either
            found.append((room.free, room.nodes) if session is None or is_silent else (session.headroom, session.nodes))
        return found

    def asked(self) -> set[AskKey]:
        """Keys that some scheduler believes to be asked for something."""
        return {key for session in self._sessions.values() for key in session.asked()}

    def _rows(self, session: Session) -> Mapping[Row, Ask]:
        """Every row that a scheduler shall believe in."""
        rows: dict[Row, Ask] = {}
        is_there = self._places_of(session.subcluster)
        for group in self._asks.groups:
            count = min(group.targets.get(session.subcluster, 0), self._most(group, session))
            if session.is_fresh and ANY in group.rows and self._may_take_back(group, session):
                rows[group.key, ANY] = replace(group.rows[ANY], count=0)  # said, even if there is nothing to take back
            if count > 0:
                rows |= {
                    (group.key, ask.place): ask for ask in self._rows_of(group, session.subcluster, count, is_there)
                }
        return rows

    def _may_take_back(self, group: AskGroup, session: Session) -> bool:
        """Return whether a scheduler may be told a count of 0: one that takes no constraints refuses the whole call."""
        placement = group.key.placement
        if placement is None:
            return True
        was_asked = placement.is_local or session is self.home
        return was_asked and self._handling(session.subcluster) is ConstraintHandling.TOTALS

    def _handling(self, subcluster: SubClusterId) -> ConstraintHandling | None:
        room = self._capacities.get(subcluster)
        return None if room is None else room.constraints

    def _most(self, group: AskGroup, session: Session) -> int:
        """Most containers that a scheduler may be asked for: no more than no other one may still grant.

        Where spares are asked for, two may grant the same: who is second has it released.
        """
        if group.has_spares:
            return group.wanted
        others = sum(each.bound(group.key) for each in self._sessions.values() if each is not session)
        return max(session.told_of(group.key), group.wanted - others)

    def _rows_of(
        self, group: AskGroup, subcluster: SubClusterId, count: int, is_there: Callable[[str], bool]
    ) -> Iterable[Ask]:
        if subcluster in group.pins and not group.is_strict:
            yield from self._pinned(group, subcluster, count)
            return
        is_made = group.key.placement is not None and subcluster != self.home.subcluster
        for place, ask in group.rows.items():
            if place == ANY:
                yield replace(ask, count=count, raw=b"" if is_made else ask.raw)
            elif ask.count and is_there(place):
                yield ask.at_most(count)

    def _pinned(self, group: AskGroup, subcluster: SubClusterId, count: int) -> Iterable[Ask]:
        """Rows for the hosts that a plan has chosen. If those take all, no other will do.

        The rest is for anywhere: a plan has decided to wait for its places no longer, and a scheduler that was told of
        them would wait once more. A host counts only with its rack (`LocalityAppPlacementAllocator`, `FSAppAttempt`).
        """
        room = self._capacities.get(subcluster)
        racks_of = {} if room is None else room.racks
        hosts = {
            host: replace(row, count=min(most, row.count, count), relaxes=True)
            for host, most in group.pins[subcluster].items()
            if most and (row := group.rows.get(host)) is not None and host in racks_of
        }
        racks: Counter[str] = Counter()
        for host, row in hosts.items():
            racks[racks_of[host]] += row.count
        relaxes = racks.total() < count
        anywhere = replace(group.rows[ANY], count=count, relaxes=relaxes)
        yield anywhere
        for rack, most in racks.items():
            yield replace(anywhere, place=rack, count=min(most, count))
        yield from hosts.values()

    def _places_of(self, subcluster: SubClusterId) -> Callable[[str], bool]:
        """Tell hosts and racks that are in a sub-cluster; the home is told of those that nobody knows."""
        room = self._capacities.get(subcluster)
        here = _nowhere if room is None else room.has_place
        if subcluster != self.home.subcluster:
            return here
        elsewhere = [each.has_place for each in self._capacities.values() if each is not room]
        return lambda place: here(place) or not any(has_place(place) for has_place in elsewhere)


def _nowhere(_: str) -> bool:
    return False
