"""SASL negotiation of Hadoop RPC: which mechanism, then the mechanism's own tokens, inside `RpcSaslProto` messages.

    client                               server
    NEGOTIATE                      ->
                                   <-    NEGOTIATE auths, the challenge of TOKEN already inside
    INITIATE auths[0], token       ->
                                   <-    CHALLENGE token        (as often as the mechanism wants)
    RESPONSE token                 ->
                                   <-    SUCCESS token

A server that knows only SIMPLE answers NEGOTIATE with SUCCESS; INITIATE of SIMPLE gets no answer at all.

Source: `org.apache.hadoop.ipc.Server.Connection.processSaslMessage`, `org.apache.hadoop.security.SaslRpcClient`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shim.protocol.hrpc.errors import FatalRPCError, JavaClass
from shim.protocol.hrpc.headers import AuthMethod, SASLState
from shim.protocol.hrpc.sasl import SASLError, SASLSession
from shim.protocol.proto.messages import RpcSaslProto
from shim.protocol.wire_values import text_of

Initiator = Callable[[RpcSaslProto.SaslAuth], SASLSession]
"""Starts a client's session for what a server offered."""


class NegotiationState(Enum):
    """State of a negotiation after a message."""

    CONTINUES = "continues"
    SIMPLE = "simple"
    """Both go on without SASL; the connection context names the user."""
    PROVEN = "proven"
    """As AUTHENTICATED, once the owner has said so: the reply waits for its verdict."""
    AUTHENTICATED = "authenticated"


@dataclass(frozen=True, slots=True)
class Reply:
    """Message to send (None: nothing), and the state of the negotiation."""

    message: RpcSaslProto | None
    outcome: NegotiationState = NegotiationState.CONTINUES


@dataclass(frozen=True, slots=True)
class SASLOffer:
    """A way to authenticate that a server offers.

    Attributes:
        protocol: First part of the server's Kerberos principal; empty for tokens.
        server_id: Host part of the principal; `default` for tokens.
        start: Begins a session; None for SIMPLE.
        needs_verdict: Whether the owner says, of each client that has proven itself, if it may come in: what it
            proved with may have been revoked.
    """

    method: AuthMethod
    protocol: str | None = None
    server_id: str | None = None
    start: Callable[[], SASLSession] | None = None
    needs_verdict: bool = False

    def message(self) -> RpcSaslProto.SaslAuth:
        """As it stands in NEGOTIATE, without a challenge; INITIATE must repeat it exactly."""
        return RpcSaslProto.SaslAuth(
            method=self.method.name,
            mechanism=self.method.mechanism,
            protocol=self.protocol,
            serverId=self.server_id,
        )


SIMPLE_OFFER = SASLOffer(AuthMethod.SIMPLE)


class SASLAcceptor:
    """A server's side of one negotiation.

    Args:
        offers: Most wanted first; TOKEN, when offered, is the first, as its challenge travels in NEGOTIATE.
    """

    def __init__(self, offers: Sequence[SASLOffer]) -> None:
        self._offers = tuple(offers)
        self._has_negotiated = False
        self._needs_verdict = False
        self.method: AuthMethod | None = None
        self.session: SASLSession | None = None

    @property
    def names(self) -> str:
        """The offered methods as Java prints the list."""
        return f"[{', '.join(offer.method.name for offer in self._offers)}]"

    def handle(self, message_untrusted: RpcSaslProto) -> Reply:
        """Take a client's message.

        Raises:
            SASLError: If the client fails to authenticate or breaks the order.
            FatalRPCError: If it answers a question that was not asked; Hadoop hangs up without a word.
        """
        step = _ACCEPTOR_STEPS.get(SASLState(message_untrusted.state))
        if step is None:
            state = RpcSaslProto.SaslState.Name(message_untrusted.state)
            raise SASLError(f"Client sent unsupported state {state}")
        return step(self, message_untrusted)

    def _negotiate(self, _message: RpcSaslProto) -> Reply:
        if self._has_negotiated:
            raise SASLError("Client already attempted negotiation", java_class=JavaClass.ACCESS_CONTROL)
        return self._offer()

    def _offer(self) -> Reply:
        if all(offer.method is AuthMethod.SIMPLE for offer in self._offers):
            return Reply(RpcSaslProto(state=SASLState.SUCCESS), NegotiationState.SIMPLE)
        self._has_negotiated = True
        reply = RpcSaslProto(state=SASLState.NEGOTIATE, auths=[offer.message() for offer in self._offers])
        first = self._offers[0]
        if first.method is AuthMethod.TOKEN and first.start is not None:
            self.session = first.start()
            reply.auths[0].challenge = self.session.step(b"")
        return Reply(reply)

    def _initiate(self, message: RpcSaslProto) -> Reply:
        if len(message.auths) != 1:
            raise SASLError("Client mechanism is malformed")
        if self.method is not None:  # what one mechanism has proved would be called another's
            raise SASLError("Client already chose a mechanism", java_class=JavaClass.ACCESS_CONTROL)
        wanted = message.auths[0]
        offer = next((offer for offer in self._offers if offer.message() == wanted), None)
        if offer is None:
            if not self._has_negotiated:
                return self._offer()
            text = f"{text_of(wanted.method)} authentication is not enabled.  Available:{self.names}"
            raise SASLError(text, java_class=JavaClass.ACCESS_CONTROL)
        self.method, self._needs_verdict = offer.method, offer.needs_verdict
        if offer.start is None:
            return Reply(None, NegotiationState.SIMPLE)
        if self.session is None or offer.method is not AuthMethod.TOKEN:
            self.session = offer.start()
        return self._respond(message)

    def _respond(self, message: RpcSaslProto) -> Reply:
        if not message.HasField("token"):
            raise SASLError("Client did not send a token")
        if self.session is None or self.method is None:
            raise FatalRPCError(None, story="the client answered a challenge that it was not given")
        token = self.session.step(message.token)
        if self.session.is_complete:
            outcome = NegotiationState.PROVEN if self._needs_verdict else NegotiationState.AUTHENTICATED
            return Reply(RpcSaslProto(state=SASLState.SUCCESS, token=token or None), outcome)
        return Reply(RpcSaslProto(state=SASLState.CHALLENGE, token=token))


_ACCEPTOR_STEPS: Mapping[SASLState, Callable[[SASLAcceptor, RpcSaslProto], Reply]] = {
    SASLState.NEGOTIATE: SASLAcceptor._negotiate,  # noqa: SLF001 - the class's own table
    SASLState.INITIATE: SASLAcceptor._initiate,  # noqa: SLF001 - the class's own table
    SASLState.RESPONSE: SASLAcceptor._respond,  # noqa: SLF001 - the class's own table
}


class SASLInitiator:
    """A client's side of one negotiation. A server that believes names without a proof is refused.

    Args:
        initiators: How to begin a session, for each method that there is a credential for.
    """

    def __init__(self, initiators: Mapping[AuthMethod, Initiator]) -> None:
        self._initiators = dict(initiators)
        self.method: AuthMethod | None = None
        self.session: SASLSession | None = None

    def first(self) -> RpcSaslProto:
        return RpcSaslProto(state=SASLState.NEGOTIATE)

    def handle(self, message_untrusted: RpcSaslProto) -> Reply:
        """Take a server's message.

        Raises:
            SASLError: If there is no common method, or the server fails to prove itself.
        """
        step = _INITIATOR_STEPS.get(SASLState(message_untrusted.state))
        if step is None:
            state = RpcSaslProto.SaslState.Name(message_untrusted.state)
            raise SASLError(f"RPC client doesn't support SASL state {state}")
        return step(self, message_untrusted)

    def _negotiate(self, message: RpcSaslProto) -> Reply:
        """A server may negotiate again at any time: each one begins a fresh session."""
        for auth in message.auths:
            known = next((method for method in AuthMethod if method.name == auth.method), None)
            if known is None or auth.mechanism != known.mechanism:
                continue
            answer = RpcSaslProto(state=SASLState.INITIATE, auths=[auth])
            answer.auths[0].ClearField("challenge")
            if known in self._initiators:
                self.method, self.session = known, self._initiators[known](auth)
                answer.token = self.session.step(auth.challenge)
                return Reply(answer)
        offered = ", ".join(text_of(auth.method) for auth in message.auths)
        raise SASLError(f"Client cannot authenticate via:[{offered}]", java_class=JavaClass.ACCESS_CONTROL)

    def _challenged(self, message: RpcSaslProto) -> Reply:
        if self.session is None:
            raise SASLError("the server challenged before it negotiated")
        return Reply(RpcSaslProto(state=SASLState.RESPONSE, token=self.session.step(message.token)))

    def _succeeded(self, message: RpcSaslProto) -> Reply:
        if self.session is None:
            raise SASLError("Server asks us to fall back to SIMPLE auth, but this client does not allow it")
        if message.HasField("token"):
            self.session.step(message.token)
        if not self.session.is_complete:
            raise SASLError("the server claims success before it proved itself")
        return Reply(None, NegotiationState.AUTHENTICATED)


_INITIATOR_STEPS: Mapping[SASLState, Callable[[SASLInitiator, RpcSaslProto], Reply]] = {
    SASLState.NEGOTIATE: SASLInitiator._negotiate,  # noqa: SLF001 - the class's own table
    SASLState.CHALLENGE: SASLInitiator._challenged,  # noqa: SLF001 - the class's own table
    SASLState.SUCCESS: SASLInitiator._succeeded,  # noqa: SLF001 - the class's own table
}
