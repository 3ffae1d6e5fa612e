import pytest

from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError
from shim.federation.rm_questions import PROBE_USER, ask_right_to_act
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT

EAST = SubClusterId("east")
REFUSAL = "User: heddle is not allowed to impersonate heddle-doctor"
REFUSED = RPCAnswer(b"", RPCRefusal(JavaClass.AUTHORIZATION, REFUSAL))
NO_LOGIN = NeverReachedError(EAST, "refuses Heddle's login by ticket")


class Saying:
    """A ResourceManager that says one thing to every call."""

    subcluster = EAST

    def __init__(self, word):
        self.word = word
        self.calls = []

    async def call(self, call, *, timeout_s=None):
        self.calls.append((call.protocol, call.method, call.user, timeout_s))
        if isinstance(self.word, Exception):
            raise self.word
        return self.word

    async def close(self):
        """Nothing is open."""


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (RPCAnswer(b""), ""),
        (REFUSED, REFUSAL),
        (NO_LOGIN, str(NO_LOGIN)),
    ],
    ids=["taken", "refused", "no login"],
)
async def test_the_right_to_act_is_asked_in_the_name_of_a_user_whom_there_is_not(word, told):
    manager = Saying(word)
    assert await ask_right_to_act(manager, timeout_s=2.0) == told
    assert manager.calls == [(APPLICATION_CLIENT.name, "getClusterMetrics", PROBE_USER, 2.0)]


async def test_nobody_is_asked_where_heddle_has_no_ticket():
    assert await ask_right_to_act(None, timeout_s=2.0) is None
