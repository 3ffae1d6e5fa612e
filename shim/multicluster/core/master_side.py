"""The ApplicationMaster's side of a ledger: which of its calls is new, which is said again, and which is out of order.

Source: `ApplicationMasterService.allocate` of the ResourceManager.

Intake of an ApplicationMaster's calls: what it asks for, gives back and wants changed; and its undoing.

Refusal of an ApplicationMaster's call that is about another application, or is more than a ledger may keep.

A ResourceManager bounds nothing of this. A ledger is gone through in one turn of the event loop, beside others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from shim.domain.allocations import ANY, AllocateAnswer, AllocateCall, Ask, AskKey, NodeNews, NodeToken, RejectedAsk
from shim.domain.ids import ApplicationAttemptId, ContainerId, NodeId, SubClusterId
from shim.domain.limits import TextKind, count_objection, objection
from shim.domain.resources import ResourceVector
from shim.multicluster.core.asks import AskBook, AskGroup, rows_by_key
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.events import Fate, LedgerEffect, RefuseAM, Remember
from shim.multicluster.core.session import Conversations, Session

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
    """Response ids, the call that has no answer yet, and the last answer.

    Attributes:
        call: The call that is being answered.
        last: What was answered last.
    """

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
        """Response id of the next answer."""
        return (self._expected_id + 1) % RESPONSE_IDS

    def was_just_given(self, container: ContainerId) -> bool:
        """True if a container is in the last answer: whoever gives it back at once has not used it."""
        return container in self._just_given

    def registered(self) -> None:
        """Begin again, as the ApplicationMaster has registered."""
        self.call, self.last, self._expected_id = None, None, 0
        self._just_given = frozenset()

    def hear(self, call: AllocateCall) -> Heard:
        """Return what a call is."""
        if self.call is not None:
            return Heard.AGAIN if call.response_id == self.call.response_id else Heard.OUT_OF_ORDER
        if call.response_id == self._expected_id:
            return Heard.NEW
        is_last = self.last is not None and (call.response_id + 1) % RESPONSE_IDS == self._expected_id
        return Heard.ANSWERED if is_last else Heard.OUT_OF_ORDER

    def answered(self, answer: AllocateAnswer) -> None:
        """The call has its answer."""
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
        """Book a new call."""
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

    Args:
        call: Not taken in yet.
        asks: What is kept from earlier calls.
        attempt: Who calls.
    """
    for container in call.releases:
        if container.attempt.application != attempt.application:
            said = f"Cannot release container : {container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_RELEASE, said)
    for update in call.updates:
        if update.container.attempt.application != attempt.application:
            said = f"Cannot update container : {update.container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_CALL, said)
    if said := count_objection(TextKind.NODE, (*call.blacklist_additions, *call.blacklist_removals)):
        return RefuseAM(_INVALID_BLACKLIST, said)
    texts = (
        (TextKind.NODE, {ask.place for ask in call.asks}),
        (TextKind.LABEL_EXPRESSION, {ask.key.label for ask in call.asks}),
    )
    for kind, named in texts:
        if said := _first(objection(kind, text) for text in named):
            return RefuseAM(_INVALID_RESOURCE, said)
    said = asks.objection(call.asks) or _first(map(_too_long, call.asks))
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
            home: The home's own answer.
            response_id: Of the answer.
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
