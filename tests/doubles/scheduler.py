"""A ResourceManager's scheduler, scripted: it trusts tokens, keeps YARN's order of calls, misbehaves on demand.

Limits: `allocate` grants nothing, and knows no time; answers are as short as the protocol allows unless a test asks for
more.
"""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationAttemptId
from shim.identity.service import Caller
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.hrpc import (
    AuthMethod,
    ContextReceived,
    Failure,
    HadoopCall,
    JavaClass,
    QualityOfProtection,
    SASLError,
    SASLOffer,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Server, TokenSecret
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    AMRMTokenIdentifierProto,
    ApplicationAttemptIdProto,
    FinishApplicationMasterResponseProto,
    RegisterApplicationMasterResponseProto,
    ResourceProto,
)
from shim.protocol.yarn import application_message, attempt_of_token
from shim.server.rpc.asked import AnsweredCall


def token_for(attempt: ApplicationAttemptId, password: bytes = b"twenty bytes of HMAC") -> TokenSecret:
    """An AMRMToken."""
    id_ = ApplicationAttemptIdProto(application_id=application_message(attempt.application), attemptId=attempt.attempt)
    return TokenSecret(AMRMTokenIdentifierProto(appAttemptId=id_, keyId=7).SerializeToString(), password)


@dataclass(frozen=True, slots=True)
class MasterCall:
    """A call that arrived."""

    attempt: ApplicationAttemptId
    method: str
    payload: bytes
    caller_context: str


@dataclass
class ScriptedScheduler:
    """Implements `RPCService`; serve it with `RPCServer`.

    Attributes:
        tokens: Those that it issued.
        qualities: What it offers.
        calls: Every call, in the order of arrival.
        may_answer: Cleared: calls are taken and not answered until it is set again.
        padding: Bytes that each answer to `allocate` carries beside its own.
    """

    tokens: Sequence[TokenSecret] = ()
    qualities: Sequence[QualityOfProtection] = (QualityOfProtection.AUTH,)
    padding: bytes = b""
    calls: list[MasterCall] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    _response_ids: dict[ApplicationAttemptId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def offers(self) -> Sequence[SASLOffer]:
        """Tokens alone, as a scheduler's server."""
        return (SASLOffer(AuthMethod.TOKEN, "", "default", self._session),)

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:  # noqa: ARG002 - the server's signature
        """Admit everybody who has a token."""
        return Caller(str(attempt_of_token(base64.b64decode(context.identity))), "")

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:
        """Answer, unless answers are held back."""
        context = call.caller_context
        attempt = ApplicationAttemptId.parse(caller.user)
        told = context.context if context is not None else ""
        self.calls.append(MasterCall(attempt, call.method, call.payload_untrusted or b"", told))
        return self._answer(attempt, call) if self.may_answer.is_set() else None

    async def answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        """Answer when it is let go."""
        await self.may_answer.wait()
        return self._answer(ApplicationAttemptId.parse(caller.user), call)

    def tell(self, exchange: AnsweredCall) -> None:
        """Ignore the exchange."""

    def called(self, attempt: ApplicationAttemptId) -> list[str]:
        """The methods that an attempt called."""
        return [call.method for call in self.calls if call.attempt == attempt]

    def forget_registrations(self) -> None:
        """As after a restart: who calls now must register again."""
        self._response_ids.clear()

    def _session(self) -> DigestMD5Server:
        return DigestMD5Server(self._password_of, "scripted" * 5, self.qualities)

    def _password_of(self, identifier: bytes) -> bytes:
        for token in self.tokens:
            if token.identifier == identifier:
                return token.password
        text = f"{attempt_of_token(identifier)} not found in AMRMTokenSecretManager."
        raise SASLError(text, java_class=JavaClass.INVALID_TOKEN)

    def _answer(self, attempt: ApplicationAttemptId, call: HadoopCall) -> bytes | Failure:
        if call.method == REGISTER:
            self._response_ids[attempt] = 0
            largest = ResourceProto(memory=8192, virtual_cores=8)
            return RegisterApplicationMasterResponseProto(maximumCapability=largest).SerializeToString()
        if attempt not in self._response_ids:
            text = f"Application attempt {attempt} is not registered"
            return Failure(JavaClass.APPLICATION_MASTER_NOT_REGISTERED, text)
        if call.method == FINISH:
            return FinishApplicationMasterResponseProto(isUnregistered=True).SerializeToString()
        if call.method != ALLOCATE:
            return Failure(JavaClass.NO_SUCH_METHOD, f"Unknown method {call.method}")
        return self._allocate(attempt, call.payload_untrusted or b"")

    def _allocate(self, attempt: ApplicationAttemptId, payload: bytes) -> bytes | Failure:
        asked = AllocateRequestProto.FromString(payload).response_id
        expected = self._response_ids[attempt]
        if asked == expected:
            self._response_ids[attempt] = expected + 1
        elif asked != expected - 1:
            text = f"Invalid responseId in AllocateRequest, expect responseId to be {expected} but get {asked}"
            return Failure(JavaClass.INVALID_APPLICATION_MASTER_REQUEST, text)
        told = AllocateResponseProto(response_id=asked + 1, num_cluster_nodes=2).SerializeToString()
        return told + self.padding
