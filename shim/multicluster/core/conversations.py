"""Requests to each scheduler: the counts that each session shall believe in, cut so that no two may grant the same."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from shim.domain.allocations import ANY, Ask, AskKey, ConstraintHandling, SessionRequest
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.session import Row, Session, SessionState

__all__ = ["Conversations"]


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
        """The session of a sub-cluster that was ever needed."""
        return self._sessions.get(subcluster)

    def of(self, subcluster: SubClusterId) -> Session:
        """The session of a sub-cluster."""
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
        """Tell whether a scheduler may be told a count of 0: one that takes no constraints refuses the whole call."""
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
