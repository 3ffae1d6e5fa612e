"""Fate of containers and asks as sessions are opened again and lost, and as ResourceManagers restart."""

from collections.abc import Iterable

from shim.domain.allocations import LOST_EXIT_STATUS, Ended
from shim.domain.ids import ContainerId
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.conversations import Conversations
from shim.multicluster.core.events import NotRunning, SessionLost, SessionOpened
from shim.multicluster.core.gangs import GangHold
from shim.multicluster.core.intake import Intake
from shim.multicluster.core.outbox import Outbox
from shim.multicluster.core.session import Session, SessionState

__all__ = ["SessionLives"]

_WANTED = frozenset({ContainerState.QUEUED, ContainerState.GIVEN})


class SessionLives:
    """The ledger's books, as far as the lives of sessions change them.

    Args:
        asks: Asks of the attempt.
        containers: Its containers.
        talk: Its sessions.
        outbox: What its ApplicationMaster is told next.
        gang: What is held for a gang.
        intake: Books containers that are no more.
        grace: Answers of a scheduler that has restarted, before its ResourceManager is asked about containers.
    """

    def __init__(
        self,
        asks: AskBook,
        containers: ContainerBook,
        talk: Conversations,
        outbox: Outbox,
        gang: GangHold,
        intake: Intake,
        grace: int,
    ) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._outbox = outbox
        self._gang = gang
        self._intake = intake
        self._grace = grace

    def opened(self, event: SessionOpened) -> Session:
        """Book what a scheduler lists as it takes the session, for the first time or again."""
        session = self._talk.of(event.subcluster)
        self._outbox.tell_of(session.places if session.is_lost else (), is_lost=False)
        session.reopen(0)
        session.releases |= dict.fromkeys(sorted(event.orphans))
        self._containers.disown(sorted(event.orphans))
        if event.known:
            self._gang.begun()
        live = {grant.container: grant for grant in event.live}
        for name in event.known:
            if self._containers.find(name) is None and not self._containers.is_done(name):
                known = Container(name, event.subcluster, ContainerState.GIVEN, grant=live.get(name))
                self._containers.add(known)
        for name in sorted(live):
            if self._containers.find(name) is None:
                self._containers.add(Container(name, event.subcluster, ContainerState.SURPLUS))
        mine = self._containers.of(event.subcluster)
        unwanted = (each.id for each in mine if each.id in live and each.state not in _WANTED)
        session.releases |= dict.fromkeys(unwanted)  # those that were given up with their sub-cluster, too
        self._expect(session, besides=live)
        self._outbox.add(event.node_tokens)
        return session

    def home_reopened(self, response_id: int, *, is_resumed: bool) -> None:
        """The home has taken the ApplicationMaster's registration, or `is_resumed`: it knew of it."""
        home = self._talk.home
        if home.was_open and not is_resumed:
            self._expect(home)
        home.reopen(response_id)

    def _expect(self, session: Session, besides: Iterable[ContainerId] = ()) -> None:
        """A scheduler has restarted: it may know nothing of what it gave, but for what it has listed."""
        mine = {each.id for each in self._containers.of(session.subcluster) if each.ended is None}
        session.expect(sorted(mine.difference(besides)), self._grace)

    def not_running(self, event: NotRunning) -> None:
        """Take in what a ResourceManager that has restarted knows no more; it is believed some answers later."""
        session = self._talk.find(event.subcluster)
        if session is not None and session.state is SessionState.OPEN:
            session.doubt(event.containers)

    def lost(self, event: SessionLost) -> None:
        """Give up a sub-cluster, with its containers; what it was asked for is to be asked elsewhere."""
        session = self._talk.find(event.subcluster)
        if session is None or session is self._talk.home:
            return
        session.give_up()
        self._outbox.tell_of(session.places, is_lost=True)
        self._asks.leave(event.subcluster)
        for container in self._containers.of(event.subcluster):
            if container.state is ContainerState.GIVEN:
                diagnostics = f"sub-cluster {event.subcluster} is lost: {event.reason}"
                self._containers.end(container, Ended(container.id, LOST_EXIT_STATUS, diagnostics))
            elif self._gang.lost(container):
                continue
            elif container.state in (ContainerState.QUEUED, ContainerState.SURPLUS):
                if container.key is not None:
                    self._asks.give_back(container.key)
                self._containers.forget([container])
