"""Intake of schedulers' answers: containers that are wanted or not, and containers that have ended."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from shim.domain.allocations import (
    ANY,
    LOST_EXIT_STATUS,
    AllocateAnswer,
    AskKey,
    Ended,
    Grant,
    RejectedAsk,
    RunningContainer,
    SessionRequest,
    TagCounts,
)
from shim.domain.ids import ContainerId
from shim.multicluster.core.asks import AskBook, AskGroup
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.events import NotRunning, SessionLost, SessionOpened
from shim.multicluster.core.gangs import GangHold
from shim.multicluster.core.master_side import Outbox
from shim.multicluster.core.session import Conversations, Session, SessionState
from shim.multicluster.core.splitter import AskSplitter, free_elsewhere


class Intake:
    """The ledger's books, as far as answers change them."""

    def __init__(
        self, asks: AskBook, containers: ContainerBook, talk: Conversations, splitter: AskSplitter, gang: GangHold
    ) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._splitter = splitter
        self._gang = gang

    def take(self, session: Session, request: SessionRequest, answer: AllocateAnswer) -> None:
        """Book an answer.

        Args:
            session: Whose scheduler answered.
            request: What it answered.
            answer: What it said.
        """
        self._take_grants(session, request, answer.grants)
        for ended in answer.ended:
            self._take_end(session, ended)

    def lose(self, session: Session, containers: Iterable[ContainerId]) -> None:
        """Book containers that a ResourceManager knows no more; it is told to release them, should they turn up."""
        for name in containers:
            self._take_end(session, Ended(name, LOST_EXIT_STATUS, "its ResourceManager does not know it any more"))
            session.releases[name] = None

    def adopt(
        self, session: Session, running: Iterable[RunningContainer], given: AbstractSet[ContainerId] | None = None
    ) -> None:
        """Book containers that an earlier ledger was granted; the ApplicationMaster has them, or had them.

        Its own container is left out, as its scheduler never grants it to it.

        Args:
            session: Whose scheduler gave them.
            running: What its ResourceManager told when it was asked.
            given: What the ApplicationMaster was given: the rest was held for a gang, and is given back. None where
                nothing is ever held.
        """
        known = tuple(running)
        if given is not None and any(each.grant.container in given for each in known):
            self._gang.begun()
        for each in known:
            name = each.grant.container
            if name.is_first or self._containers.find(name) is not None or self._containers.is_done(name):
                continue
            if given is not None and name not in given:
                self._containers.add(Container(name, session.subcluster, ContainerState.SURPLUS, grant=each.grant))
                session.releases[name] = None
                continue
            adopted = Container(name, session.subcluster, ContainerState.GIVEN, grant=each.grant, is_hearsay=True)
            adopted.since_s = each.since_s
            self._containers.add(adopted)

    def _take_grants(self, session: Session, request: SessionRequest, grants: Sequence[Grant]) -> None:
        said = {ask.key for ask in request.asks}
        lucky: set[AskKey] = set()
        for grant in grants:
            self._containers.drop_hearsay(grant.container)
            known = self._containers.find(grant.container)
            if known is not None or self._containers.is_done(grant.container):
                if known is not None and known.state is ContainerState.SURPLUS:
                    session.suspect(grant)  # given back when its ResourceManager told of it, before this answer came
                continue  # said again
            rack = self._talk.rack(session.subcluster, grant.node)
            key = self._asks.grant(grant, session.subcluster, rack)
            state = ContainerState.QUEUED if key is not None else ContainerState.SURPLUS
            self._containers.add(Container(grant.container, session.subcluster, state, key, grant))
            session.places[grant.node] = None
            if key is None:
                session.releases[grant.container] = None
                session.suspect(grant)
            elif key not in said or session.adds_up(key):  # else the new count does not know of it
                session.granted(key, (grant.node.host, rack))
            if key is not None:
                lucky.add(key)
                self._splitter.granted(key, session.subcluster, grant.node.host)
        self._asks.beat(session.subcluster, lucky)

    def _take_end(self, session: Session, ended: Ended) -> None:
        session.ended(ended.container)
        known = self._containers.find(ended.container)
        if known is not None and self._gang.lost(known):
            return
        if known is not None:
            self._containers.end(known, ended)
        elif not self._containers.is_done(ended.container):
            self._containers.add(
                Container(ended.container, session.subcluster, ContainerState.ENDED, ended=ended)
            )  # given by an earlier ledger


# Fate of containers and asks as sessions are opened again and lost, and as ResourceManagers restart.

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


# Asks with a placement constraint that a scheduler rejects: asked elsewhere, or rejected to the ApplicationMaster.


class Rejections:
    """The ledger's books, as far as rejections change them."""

    def __init__(self, asks: AskBook, containers: ContainerBook, talk: Conversations, outbox: Outbox) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._outbox = outbox

    def take(self, session: Session, rejected: Iterable[RejectedAsk]) -> None:
        """Book what a scheduler rejects; what the ApplicationMaster does not want (any more) it never hears of."""
        for each in rejected:
            group = self._group_of(session, each)
            if group is not None:
                self._reject(session, group, each)

    def _group_of(self, session: Session, rejected: RejectedAsk) -> AskGroup | None:
        """The group that was rejected: a scheduler rounds the size up, and writes the constraint in its own way."""
        kin = (rejected.priority, rejected.allocation_request_id)
        found = [
            group
            for group in self._asks.groups
            if group.key.placement is not None
            and (group.key.priority, group.key.allocation_request_id) == kin
            and group.key.placement.tags == rejected.tags
        ]
        return max(found, key=lambda group: session.told_of(group.key), default=None)

    def _reject(self, session: Session, group: AskGroup, rejected: RejectedAsk) -> None:
        session.rejected(group.key, rejected.count)
        self._asks.reject(group.key, session.subcluster, rejected.count)
        asked = sum(each.bound(group.key) for each in self._talk)
        tags = TagCounts(self._containers.tags(), self._asks.spoken_for(besides=group))
        request = self._asks.request_of(group, group.wanted, tags=tags)
        elsewhere = free_elsewhere(request, self._talk.capacities)
        lost = min(rejected.count, group.wanted - asked - elsewhere)
        if lost > 0:
            group.wanted -= lost
            self._outbox.reject(replace(rejected, count=lost, raw=group.rows[ANY].raw))
