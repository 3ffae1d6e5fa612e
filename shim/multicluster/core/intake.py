"""Intake of schedulers' answers: containers that are wanted or not, and containers that have ended.

The ApplicationMaster's side of a ledger: which of its calls is new, which is said again, and which is out of order.

Source: `ApplicationMasterService.allocate` of the ResourceManager.

Intake of an ApplicationMaster's calls: what it asks for, gives back and wants changed; and its undoing.

Refusal of an ApplicationMaster's call that is about another application, or is more than a ledger may keep.

A ResourceManager bounds nothing of this. A ledger is gone through in one turn of the event loop, beside others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum

from shim.domain.allocations import (
    ANY,
    LOST_EXIT_STATUS,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    Ended,
    Grant,
    NodeNews,
    NodeToken,
    RejectedAsk,
    RunningContainer,
    SessionRequest,
    TagCounts,
)
from shim.domain.ids import ApplicationAttemptId, ContainerId, NodeId, SubClusterId
from shim.domain.limits import TextKind, count_rejection, rejection
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.asks import AskBook, rows_by_key
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.events import Fate, LedgerEffect, NotRunning, RefuseAM, Remember, SessionLost, SessionOpened
from shim.multicluster.core.session import Conversations, Session, SessionState
from shim.multicluster.core.splitter import AskSplitter, free_elsewhere
from shim.multicluster.core.withheld import GangHold

RESPONSE_IDS = 1 << 31
"""Response ids begin again at 0 after the largest."""


class Heard(Enum):
    """Kind of a call."""

    NEW = "new"
    """It acknowledges the last answer."""
    AGAIN = "again"
    """The one that has no answer yet: the home's was lost on its way."""
    ANSWERED = "answered"
    """The one that was answered last: the answer was lost."""
    OUT_OF_ORDER = "out of order"


class MasterSide:
    """Response ids, the call that has no answer yet, and the last answer."""

    def __init__(self, attempt: ApplicationAttemptId) -> None:
        self.call: AllocateCall | None = None
        self.last: AllocateAnswer | None = None
        self._attempt = attempt
        self._expected_id = 0
        self._just_given: frozenset[ContainerId] = frozenset()

    @property
    def rest(self) -> bytes:
        """The part of the call being answered that is for its home alone."""
        return b"" if self.call is None else self.call.rest

    @property
    def next_id(self) -> int:
        return (self._expected_id + 1) % RESPONSE_IDS

    def was_just_given(self, container: ContainerId) -> bool:
        """True if a container is in the last answer: whoever gives it back at once has not used it."""
        return container in self._just_given

    def registered(self) -> None:
        """Begin again, as the ApplicationMaster has registered."""
        self.call, self.last, self._expected_id = None, None, 0
        self._just_given = frozenset()

    def hear(self, call: AllocateCall) -> Heard:
        if self.call is not None:
            return Heard.AGAIN if call.response_id == self.call.response_id else Heard.OUT_OF_ORDER
        if call.response_id == self._expected_id:
            return Heard.NEW
        is_last = self.last is not None and (call.response_id + 1) % RESPONSE_IDS == self._expected_id
        return Heard.ANSWERED if is_last else Heard.OUT_OF_ORDER

    def answered(self, answer: AllocateAnswer) -> None:
        self.call, self.last, self._expected_id = None, answer, answer.response_id
        self._just_given = frozenset(grant.container for grant in answer.grants)

    def complaint(self, call: AllocateCall) -> str:
        """A ResourceManager's words on a call out of order."""
        said = f"expect responseId to be {self._expected_id} but get {call.response_id}"
        return f"Invalid responseId in AllocateRequest from application attempt: {self._attempt}, {said}"


class CallIntake:
    """The ledger's books, as far as calls change them."""

    def __init__(self, asks: AskBook, containers: ContainerBook, talk: Conversations, master: MasterSide) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._master = master
        self._before: tuple[Mapping[AskKey, AskGroup | None], frozenset[str]] | None = None

    def take(self, call: AllocateCall) -> None:
        talk, home = self._talk, self._talk.home
        self._master.call = call
        self._before = self._asks.snapshot(rows_by_key(call.asks)), talk.blacklist
        self._asks.tell(call.asks, self._containers.on_way(), adds=home.adds)
        self._asks.count_call()
        self._take_back(call.asks)
        talk.is_told = True
        talk.blacklist = (talk.blacklist | set(call.blacklist_additions)) - set(call.blacklist_removals)
        for container in call.releases:
            self._owner(container).releases[container] = None
            self._containers.give_back(container, is_used=not self._master.was_just_given(container))
        for update in call.updates:
            self._owner(update.container).updates.append(update)

    def settle(self) -> None:
        """The call has its answer: it is not undone any more."""
        self._before = None

    def undo(self) -> None:
        """The home refused the call whole: nothing of it is said again, or every later one would be refused."""
        call, self._master.call = self._master.call, None
        if self._before is not None:
            before, self._talk.blacklist = self._before
            self._asks.restore(before)
            self._before = None
        for container in call.releases if call is not None else ():
            if self._containers.find(container) is None:
                self._talk.home.releases.pop(container, None)

    def _take_back(self, asks: Iterable[Ask]) -> None:
        """Release what the ApplicationMaster wanted and has not been given, if it wants less than that by now."""
        waiting, home = self._containers.on_way(), self._talk.home
        said = [ask for ask in asks if ask.place == ANY and not home.adds_up(ask.key)]
        surplus = Counter({ask.key: waiting[ask.key] - ask.count for ask in said})
        for container in reversed(self._containers.in_state(ContainerState.QUEUED)):
            if container.key is not None and surplus[container.key] > 0:
                surplus[container.key] -= 1
                container.become_surplus()
                self._talk.of(container.subcluster).releases[container.id] = None

    def _owner(self, container: ContainerId) -> Session:
        """Return the session whose scheduler gave a container: the home's, if nobody knows."""
        known = self._containers.find(container)
        return self._talk.home if known is None else self._talk.of(known.subcluster)


_MOST_CONSTRAINT_BYTES = 16 * 1024
"""Most bytes of one `SchedulingRequest` beside what was registered for its tags, and of both constraints together."""

_YARN = "org.apache.hadoop.yarn.exceptions"
_INVALID_RELEASE = f"{_YARN}.InvalidContainerReleaseException"
_INVALID_BLACKLIST = f"{_YARN}.InvalidResourceBlacklistRequestException"
_INVALID_RESOURCE = f"{_YARN}.InvalidResourceRequestException"
_INVALID_CALL = f"{_YARN}.InvalidApplicationMasterRequestException"


def refusal_of(call: AllocateCall, asks: AskBook, attempt: ApplicationAttemptId) -> RefuseAM | None:
    """Reason why a call cannot be taken, in the words of `RMServerUtils` where it has some; None if it can.

    Nothing of a call that is refused is kept.
    """
    for container in call.releases:
        if container.attempt.application != attempt.application:
            said = f"Cannot release container : {container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_RELEASE, said)
    for update in call.updates:
        if update.container.attempt.application != attempt.application:
            said = f"Cannot update container : {update.container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_CALL, said)
    if said := count_rejection(TextKind.NODE, (*call.blacklist_additions, *call.blacklist_removals)):
        return RefuseAM(_INVALID_BLACKLIST, said)
    texts = (
        (TextKind.NODE, {ask.place for ask in call.asks}),
        (TextKind.LABEL_EXPRESSION, {ask.key.label for ask in call.asks}),
    )
    for kind, named in texts:
        if said := _first(rejection(kind, text) for text in named):
            return RefuseAM(_INVALID_RESOURCE, said)
    said = asks.rejection(call.asks) or _first(map(_too_long, call.asks))
    return RefuseAM(_INVALID_RESOURCE, said) if said else None


def _too_long(ask: Ask) -> str:
    placement = ask.key.placement
    size = 0 if placement is None else max(len(ask.raw), len(placement.constraint))
    if size <= _MOST_CONSTRAINT_BYTES:
        return ""
    return f"a scheduling request with {size} bytes of tags and constraints: at most {_MOST_CONSTRAINT_BYTES} are taken"


def _first(said: Iterable[str]) -> str:
    return next(filter(None, said), "")


# News that wait for the ApplicationMaster's next answer, and the making of that answer.


class Outbox:
    """Tokens and messages of the further sub-clusters, beside the containers of the book."""

    def __init__(self, containers: ContainerBook) -> None:
        self._containers = containers
        self._tokens: dict[NodeId, NodeToken] = {}
        self._joined: list[bytes] = []
        self._news: dict[NodeId, NodeNews] = {}
        self._rejected: list[RejectedAsk] = []

    def tell_of(self, nodes: Iterable[NodeId], *, is_lost: bool) -> None:
        """Nodes are lost or back with their sub-cluster; only the last word counts."""
        for node in nodes:
            self._news[node] = NodeNews(node, is_lost)

    def add(self, tokens: Iterable[NodeToken], joined: bytes = b"") -> None:
        """Tokens and messages that a scheduler answered."""
        self._tokens |= {token.node: token for token in tokens}
        if joined:
            self._joined.append(joined)

    def reject(self, rejected: RejectedAsk) -> None:
        """Containers have no place at any sub-cluster that may be asked."""
        self._rejected.append(rejected)

    def forget_rejected(self) -> None:
        """The ApplicationMaster will say all its asks once more."""
        self._rejected.clear()

    def compose(
        self,
        home: AllocateAnswer,
        response_id: int,
        elsewhere: Sequence[tuple[ResourceVector, int]],
        *,
        holds_back: bool = False,
    ) -> tuple[AllocateAnswer, list[Container]]:
        """Put everything that waits into one answer.

        Args:
            elsewhere: Headroom and nodes of the further sub-clusters.
            holds_back: Whether containers are held until the rest of their gang is there; those with a placement are
                part of no gang.

        Returns:
            The answer, and the containers that the ApplicationMaster has by it.
        """
        granted = self._containers.in_state(ContainerState.QUEUED, ContainerState.STILLBORN)
        if holds_back:
            granted = [each for each in granted if each.key is not None and each.key.placement is not None]
        ended = self._containers.in_state(ContainerState.ENDED, ContainerState.STILLBORN)
        for container in granted:
            if container.state is ContainerState.QUEUED:
                container.move(ContainerState.GIVEN)
        for container in ended:
            container.move(ContainerState.TOLD)
        answer = AllocateAnswer(
            response_id=response_id,
            grants=tuple(each.grant for each in granted if each.grant is not None),
            ended=tuple(each.ended for each in ended if each.ended is not None),
            node_tokens=tuple(self._tokens.values()),
            headroom=sum((headroom for headroom, _ in elsewhere), home.headroom),
            nodes=home.nodes + sum(nodes for _, nodes in elsewhere),
            joined=home.joined + b"".join(self._joined),
            rest=home.rest,
            news=tuple(self._news.values()),
            rejected=tuple(self._rejected),
        )
        self._rejected.clear()
        self._news.clear()
        self._tokens.clear()
        self._joined.clear()
        return answer, granted


def remembered(
    containers: Iterable[Container], home: SubClusterId | None, fate: Fate, answer: int = 0
) -> list[LedgerEffect]:
    """Make the notes on containers beyond the home; `answer` is the id of the answer that gives them.

    Those at home are remembered, too, if `home` is None.
    """
    by_subcluster: dict[SubClusterId, list[ContainerId]] = {}
    for container in containers:
        if container.subcluster != home:
            by_subcluster.setdefault(container.subcluster, []).append(container.id)
    return [Remember(name, fate, tuple(ids), answer) for name, ids in by_subcluster.items()]


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
        """Book an answer."""
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
        outbox: What its ApplicationMaster is told next.
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
        tags = TagCounts(self._containers.tags(), self._asks.claimed(besides=group))
        request = self._asks.request_of(group, group.wanted, tags=tags)
        elsewhere = free_elsewhere(request, self._talk.capacities)
        lost = min(rejected.count, group.wanted - asked - elsewhere)
        if lost > 0:
            group.wanted -= lost
            self._outbox.reject(replace(rejected, count=lost, raw=group.rows[ANY].raw))
