"""Logins by delegation token at several RPC servers of one store, over real sockets."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError, NoAnswerError
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    JavaClass,
    QualityOfProtection,
    SASLError,
    SASLInitiator,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import TokenProto
from shim.server.rpc import RPCServer
from shim.server.rpc.logins import Logins
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

SECRET = b"s" * 32


class SlowTokenStore(InMemoryTokenStore):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.was_asked = asyncio.Event()

    async def find(self, key):
        self.was_asked.set()
        await self.may_answer.wait()
        return await super().find(key)


class WhoAmI:
    """A server that tells each caller its name and whoever asked for its token."""

    def __init__(self, logins: Logins | None = None) -> None:
        self._logins = logins

    def offers(self):
        assert self._logins is not None
        return self._logins.offers()

    def admit(self, context, address):
        assert self._logins is not None
        return self._logins.admit(context, address)

    def answer_at_once(self, call, caller: Caller):  # noqa: ARG002 - the server's signature
        return f"{caller.user} {caller.real_user}".encode()

    async def answer(self, call, caller):  # noqa: ARG002 - the server's signature
        raise AssertionError("every answer is ready")

    def tell(self, exchange):
        pass


class Federation:
    """Two servers, each with a token service of its own, over one store."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = SlowTokenStore()
        self.tokens = [DelegationTokens(SECRET, self.clock, self.store, usual(TokenLimits)) for _ in range(2)]
        self.servers: list[RPCServer] = []

    async def start(self, stack: AsyncExitStack) -> None:
        for tokens in self.tokens:
            logins = Logins(IdentityService(usual(IdentityRules), secret=SECRET, clock=self.clock), tokens)
            server = RPCServer(WhoAmI(logins), host="127.0.0.1", port=0, judge=logins)
            await server.start()
            stack.push_async_callback(server.stop, grace_s=0)
            self.servers.append(server)

    async def ask(self, server: int, token: TokenProto, *, password: bytes | None = None) -> RPCAnswer:
        secret = TokenSecret(token.identifier, token.password if password is None else password)

        def initiator():
            session = DigestMD5Client(secret, secrets.token_urlsafe(30), [QualityOfProtection.AUTH])
            return SASLInitiator({AuthMethod.TOKEN: lambda _: session})

        target = RPCTarget(SubClusterId("east"), (("127.0.0.1", self.servers[server].port),))
        rpc = YarnRPC(target, usual(RPCSettings, connect_timeout_s=20.0), initiator=initiator)
        try:
            return await rpc.call(RPCCall(APPLICATION_CLIENT.name, "anything", b"", ""))
        finally:
            await rpc.close()


@pytest.fixture
async def federation() -> AsyncIterator[Federation]:
    async with AsyncExitStack() as stack:
        made = Federation()
        await made.start(stack)
        yield made


async def refused_with(federation: Federation, server: int, token: TokenProto, **how: bytes) -> str:
    told = await federation.ask(server, token, **how)
    assert told.refusal is not None
    return told.refusal.java_class


async def test_a_token_of_one_server_is_good_at_the_other_at_once(federation):
    token = await federation.tokens[0].issue("alice", "yarn", "oozie", is_proven=False)
    for server in (0, 1):
        assert (await federation.ask(server, token)).payload == b"alice oozie"


async def test_a_cancelled_token_is_refused_everywhere_in_hadoops_words(federation):
    token = await federation.tokens[0].issue("alice", "yarn", "", is_proven=False)
    await federation.ask(1, token)
    await federation.tokens[0].cancel(token, caller="alice")
    await federation.clock.advance(2.0)
    for server in (0, 1):
        assert await refused_with(federation, server, token) == JavaClass.INVALID_TOKEN


async def test_whoever_has_not_the_password_makes_nobody_ask_the_store(federation):
    token = await federation.tokens[0].issue("alice", "yarn", "", is_proven=False)
    assert await refused_with(federation, 1, token, password=b"guessed") == JavaClass.SASL
    assert federation.store.reads == 0


async def test_a_store_that_is_away_makes_clients_try_again(federation):
    token = await federation.tokens[0].issue("alice", "yarn", "", is_proven=False)
    federation.store.is_away = True
    assert await refused_with(federation, 1, token) == JavaClass.RETRIABLE


async def test_a_slow_store_holds_up_that_login_alone_and_is_asked_once_for_all(federation):
    slow = await federation.tokens[0].issue("alice", "yarn", "", is_proven=False)
    known = await federation.tokens[1].issue("bob", "yarn", "", is_proven=False)
    federation.store.may_answer.clear()
    waiting = [asyncio.create_task(federation.ask(1, slow)) for _ in range(5)]
    await asyncio.wait_for(federation.store.was_asked.wait(), 10)
    assert (await federation.ask(1, known)).payload == b"bob bob"
    assert not any(task.done() for task in waiting)
    federation.store.may_answer.set()
    assert [answer.payload for answer in await asyncio.gather(*waiting)] == [b"alice alice"] * 5
    assert federation.store.reads <= 5


async def test_a_client_that_goes_while_its_login_is_judged_leaves_nothing_behind(federation):
    token = await federation.tokens[0].issue("alice", "yarn", "", is_proven=False)
    federation.store.may_answer.clear()
    gone = asyncio.create_task(federation.ask(1, token))
    await asyncio.wait_for(federation.store.was_asked.wait(), 10)
    gone.cancel()
    with pytest.raises((asyncio.CancelledError, NoAnswerError)):
        await gone
    federation.store.may_answer.set()
    assert (await federation.ask(1, token)).payload == b"alice alice"


class TakesEverybody(WhoAmI):
    """A server that asks for no proof, as an impostor does."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def offers(self):
        return (SIMPLE_OFFER,)

    def admit(self, context, address):  # noqa: ARG002 - the server's signature
        return Caller(context.effective_user_untrusted, "")

    def answer_at_once(self, call, caller):  # noqa: ARG002 - the server's signature
        self.calls += 1
        return b""


async def _no_ticket(_host: str) -> SASLInitiator:
    raise SASLError("GSSAPI: no ticket")


async def _with_proof(_host: str) -> SASLInitiator:
    return SASLInitiator({})


@pytest.mark.parametrize("log_in", [_no_ticket, _with_proof], ids=["no ticket", "a server that wants no proof"])
async def test_a_login_that_fails_never_becomes_a_claimed_name(log_in):
    impostor = TakesEverybody()
    server = RPCServer(impostor, host="127.0.0.1", port=0)
    await server.start()
    rpc = YarnRPC(
        RPCTarget(SubClusterId("east"), (("127.0.0.1", server.port),)),
        usual(RPCSettings, connect_timeout_s=20.0),
        log_in=log_in,
    )
    try:
        with pytest.raises((NeverReachedError, NoAnswerError)):
            await rpc.call(RPCCall(APPLICATION_CLIENT.name, "submitApplication", b"secret", "alice"))
    finally:
        await rpc.close()
        await server.stop(grace_s=0)
    assert impostor.calls == 0


async def _late(_host: str) -> SASLInitiator:
    await asyncio.sleep(0.3)
    raise SASLError("GSSAPI: no ticket")


async def _never(_host: str) -> SASLInitiator:
    await asyncio.Event().wait()
    raise AssertionError("nothing wakes it")


@pytest.mark.parametrize(
    ("log_in", "told"), [(_late, "GSSAPI: no ticket"), (_never, "no Kerberos ticket within 1 s")], ids=["late", "never"]
)
async def test_a_kdc_that_is_late_is_told_from_a_server_that_cannot_be_reached(log_in, told):
    """The time for a ticket is none of the time for a connection."""
    target = RPCTarget(SubClusterId("east"), (("127.0.0.1", 9),))
    rpc = YarnRPC(target, usual(RPCSettings, connect_timeout_s=0.1, timeout_s=1.0), log_in=log_in)
    try:
        with pytest.raises(NeverReachedError, match=told):
            await rpc.call(RPCCall(APPLICATION_CLIENT.name, "anything", b"", "alice"), timeout_s=60)
    finally:
        await rpc.close()
