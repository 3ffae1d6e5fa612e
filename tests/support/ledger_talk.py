"""A ledger of an application attempt whose asks go to another cluster, and what it says."""

from shim.domain.allocations import ANY, AllocateAnswer, AllocateCall, Ask, AskKey, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    AskRunning,
    Beat,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    OpenSession,
    SessionAnswered,
    SessionOpened,
)

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
EAST, WEST = SubClusterId("east"), SubClusterId("west")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
MUCH = ResourceVector(8192, 8)
CAPACITIES = (
    ClusterCapacity(EAST, is_home=True, free=ResourceVector(), size=MUCH, largest=MUCH, nodes=1),
    ClusterCapacity(WEST, free=MUCH, size=MUCH, largest=MUCH, nodes=1),
)


def a_grant(number=1, key=KEY):
    """Grant of a container of the west."""
    node = NodeId("w1", 1)
    return Grant(ContainerId(ATTEMPT, (200 << 40) | number), node, key.priority, -1, key.resource)


class WatchingSplitter(CapacitySplitter):
    """Notes what the attempt has, and how it ended: True if it ran for as long as it was wanted."""

    def __init__(self):
        super().__init__(move_after_beats=3)
        self.has = set()
        self.ran = {}

    def begun(self, container, since_s, resource=None, spot=None):  # noqa: ARG002
        """Note a container that the attempt has."""
        assert since_s is None
        self.has.add(container)

    def ended(self, container, *, is_whole):
        """Note the end of a container."""
        if container in self.has:
            self.has.remove(container)
            self.ran[container] = is_whole


class LedgerTalk:
    """A ledger whose asks go west, and what it says.

    Attributes:
        asked_about: Questions for what runs.
    """

    def __init__(self, splitter=None):
        self.watch = WatchingSplitter() if splitter is None else splitter
        self.ledger = AskLedger(ATTEMPT, EAST, self.watch)
        self.said = {}
        self.answered = None
        self.opened = []
        self.asked_about = []
        self.effects = []
        self.response_ids = {EAST: 0, WEST: 0}
        self.tell(AMRegistered())

    def tell(self, event):
        """Give an event, and note what it brings."""
        self.effects = self.ledger.handle(event)
        for effect in self.effects:
            if isinstance(effect, CallSession):
                self.said[effect.subcluster] = effect.request
            elif isinstance(effect, OpenSession):
                self.opened.append(effect.subcluster)
            elif isinstance(effect, AskRunning):
                self.asked_about.append(effect)
            elif isinstance(effect, AnswerAM):
                self.answered = effect.answer

    def wants(self, count=None, key=KEY, **more):
        """Let the ApplicationMaster call, and its home answer; return its answer."""
        asks = () if count is None else (Ask(key, ANY, count),)
        response_id = 0 if self.answered is None else self.answered.response_id
        self.tell(AMCalled(AllocateCall(response_id, asks, **more), CAPACITIES))
        self.hears(EAST)
        return self.answered

    def hears(self, name, *grants, ended=()):
        """The request under way is answered."""
        self.response_ids[name] += 1
        answer = AllocateAnswer(self.response_ids[name], grants, tuple(ended))
        self.tell(SessionAnswered(name, self.said[name].serial, answer))

    def opens(self, *live, known=frozenset()):
        """The session of the west is opened, and its first request answered."""
        self.response_ids[WEST] = 0
        self.tell(SessionOpened(WEST, live, known=known))
        self.hears(WEST)

    def beats(self):
        """It is time to speak to the west; return the request."""
        self.tell(Beat(WEST))
        return self.said[WEST]

    def asked(self):
        """Counts in what was said to the west last."""
        return [ask.count for ask in self.said[WEST].asks if ask.place == ANY]
