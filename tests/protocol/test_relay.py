"""A relay between a client and a server: it reads who logs in, writes messages anew, and has no secret."""

import pytest

from shim.errors import LocalProtocolError
from shim.protocol.hrpc import (
    AnswerReceived,
    AuthMethod,
    CallReceived,
    ClientConnection,
    ContextReceived,
    Established,
    HadoopRequest,
    SASLInitiator,
    SASLOffer,
    SASLReceived,
    SASLState,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret, read_response
from shim.protocol.proto import APPLICATION_MASTER

SECRET = TokenSecret(b"\x08\x01attempt", b"only the two ends know")
CLIENT_ID = bytes(range(16))


class Relay:
    """An ApplicationMaster, a relay's two ends, and a ResourceManager."""

    def __init__(self):
        initiator = SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(SECRET, "c" * 40)})
        self.master = ClientConnection(APPLICATION_MASTER.name, UserIdentity(""), CLIENT_ID, initiator=initiator)
        self.below = ServerConnection(None)
        self.above = ClientConnection(APPLICATION_MASTER.name, UserIdentity(""), CLIENT_ID, is_relay=True)
        offer = SASLOffer(AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(lambda _: SECRET.password, "n" * 40))
        self.manager = ServerConnection([offer])
        self.told = []
        self.seen = []
        self.identifier = b""

    def run(self):
        self.master.connect()
        self.above.connect()
        is_talking = True
        while is_talking:
            moved = (self.master.data_to_send(), self.above.data_to_send())
            self._from_master(self.below.receive(moved[0]))
            self.seen += self.manager.receive(moved[1])
            back = (self.manager.data_to_send(), self.below.data_to_send())
            self._from_manager(self.above.receive(back[0]))
            self.told += self.master.receive(back[1])
            is_talking = any(moved) or any(back)

    def _from_master(self, events):
        for event in events:
            if isinstance(event, SASLReceived):
                if event.message_untrusted.state == SASLState.INITIATE:
                    self.identifier = read_response(event.message_untrusted.token).identifier_untrusted
                self.above.tell(event.message_untrusted)
            elif isinstance(event, ContextReceived):
                self.above.tell_context()
            elif isinstance(event, CallReceived):
                call = event.call
                request = HadoopRequest(call.protocol, call.method, call.payload_untrusted)
                self.above.call(request, call_id=call.call_id)

    def _from_manager(self, events):
        for event in events:
            if isinstance(event, SASLReceived):
                self.below.send_sasl(event.message_untrusted)
                if event.message_untrusted.state == SASLState.SUCCESS:
                    self.below.settle(AuthMethod.TOKEN, "")
                    self.above.settle()


def test_a_login_passes_through_and_calls_follow_in_both_directions():
    relay = Relay()
    relay.master.call(HadoopRequest(APPLICATION_MASTER.name, "allocate", b"asks"), call_id=3)
    relay.run()

    (call,) = (event.call for event in relay.seen if isinstance(event, CallReceived))
    assert relay.identifier == SECRET.identifier
    assert relay.told == [Established(AuthMethod.TOKEN)]
    assert (call.call_id, call.method, call.payload_untrusted) == (3, "allocate", b"asks")

    relay.manager.answer(call, b"containers")
    (answered,) = relay.above.receive(relay.manager.data_to_send())
    assert isinstance(answered, AnswerReceived)
    assert answered.answer.payload_untrusted == b"containers"


def test_only_a_relay_leads_a_negotiation_and_settles_it_and_only_once():
    relay = Relay()
    relay.run()

    with pytest.raises(LocalProtocolError):
        relay.above.settle()
    with pytest.raises(LocalProtocolError):
        relay.master.tell_context()
    with pytest.raises(LocalProtocolError):
        relay.master.settle()
