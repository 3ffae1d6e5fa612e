import inspect

import pytest

from shim.domain import SubClusterId
from shim.errors import NoAnswerError, StoreUnavailableError
from shim.ports import ResourceManager, RestAnswer, RestRequest, StateStore
from shim.telemetry import ObservedResourceManager, observed_state_store


class Tape:
    """Stands for the metrics and keeps what it is told."""

    def __init__(self):
        self.told = []

    def exchange(self, *values):
        self.told.append(values)

    store = exchange


class TickingClock:
    """Each look at it is a second after the last."""

    def __init__(self):
        self.at_s = 0.0

    def monotonic_s(self):
        self.at_s += 1
        return self.at_s


class AnswersOnce:
    """A ResourceManager that answers one request and is silent from then on."""

    subcluster = SubClusterId("east")
    has_answered = False

    async def forward(self, request, *, timeout_s=None):
        if self.has_answered:
            raise NoAnswerError("east", f"silent for {timeout_s} s")
        self.has_answered = True
        return RestAnswer(200, (), request.path.encode())


class LosesEverySettling:
    """A store that finds nothing and cannot settle."""

    async def find(self, _application_id):
        return None

    async def settle(self, *_arguments, **_more):
        raise StoreUnavailableError("locked")


async def test_an_exchange_is_passed_on_and_timed():
    tape = Tape()
    observed = ObservedResourceManager(AnswersOnce(), tape, TickingClock())
    assert observed.subcluster == "east"
    assert (await observed.forward(RestRequest("GET", "/x"))).body == b"/x"
    with pytest.raises(NoAnswerError, match="silent for 2"):
        await observed.forward(RestRequest("GET", "/x"), timeout_s=2)
    assert tape.told == [("east", "answered", 1.0), ("east", "NoAnswerError", 1.0)]


async def test_a_store_operation_is_passed_on_and_timed():
    tape = Tape()
    observed = observed_state_store(LosesEverySettling(), tape, TickingClock())
    assert await observed.find("application_1_0001") is None
    with pytest.raises(StoreUnavailableError):
        await observed.settle("application_1_0001", "submitted")
    assert tape.told == [("find", "done", 1.0), ("settle", "StoreUnavailableError", 1.0)]


@pytest.mark.parametrize(
    ("port", "wraps"), [(ResourceManager, ObservedResourceManager), (StateStore, observed_state_store)]
)
def test_every_method_of_the_port_is_wrapped_with_the_same_arguments(port, wraps):
    methods = {name: each for name, each in vars(port).items() if inspect.isfunction(each) and not name.startswith("_")}
    assert methods
    wrapper = type(wraps(None, Tape(), TickingClock()))
    for name, method in methods.items():
        assert inspect.signature(getattr(wrapper, name)) == inspect.signature(method), name
