"""Intake of schedulers' answers: containers that are wanted or not, and containers that have ended."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from shim.domain.allocations import (
    LOST_EXIT_STATUS,
    AllocateAnswer,
    AskKey,
    Ended,
    Grant,
    RunningContainer,
    SessionRequest,
)
from shim.domain.ids import ContainerId
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.conversations import Conversations
from shim.multicluster.core.gangs import GangHold
from shim.multicluster.core.session import Session
from shim.multicluster.core.splitter import AskSplitter

__all__ = ["Intake"]


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
