"""Delegation tokens by `op=`: which method does what, for whom a ticket is needed, and in whose name."""

import json

import pytest

from shim.errors import BadRequestError
from shim.identity.delegation_tokens import DelegationTokens, TokenAccessError, TokenLimits, TokenOwner
from shim.identity.service import Caller
from shim.protocol.rest.queries import parse_query
from shim.protocol.rest.token_strings import decode_token
from shim.server.rest.callers import TicketDemandedError
from shim.server.rest.web_tokens import TOKEN_OPERATIONS, WebTokens
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock

ISSUE, RENEW, CANCEL = TOKEN_OPERATIONS
LIMITS = TokenLimits(lifetime_s=100.0, renewal_s=30.0, seen_within_s=2.0, of_owner=3, in_all=5, remembered=4)
ALICE = Caller("alice", "alice", has_ticket=True)


class Office:
    """Tokens, and the web service in front of them."""

    def __init__(self) -> None:
        self.clock, self.store = FakeClock(), InMemoryTokenStore()
        self.tokens = DelegationTokens(b"s" * 32, self.clock, self.store, LIMITS)
        self.web = WebTokens(self.tokens)

    async def run(self, name: str, query: str = "", caller: Caller = ALICE) -> bytes:
        return await self.web.run(name, TOKEN_OPERATIONS[name].method, parse_query(query), caller)

    async def issued(self, query: str = "", caller: Caller = ALICE) -> str:
        text: str = json.loads(await self.run(ISSUE, query, caller))["Token"]["urlString"]
        return text


@pytest.mark.parametrize("name", TOKEN_OPERATIONS)
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
async def test_each_operation_has_a_method_and_needs_a_ticket(name: str, method: str) -> None:
    office = Office()
    text = await office.issued("renewer=alice")
    query, right = parse_query(f"token={text}"), TOKEN_OPERATIONS[name].method
    for caller, refusal in ((ALICE, None), (Caller("alice", "alice"), TicketDemandedError)):
        if method != right:
            told = rf"Wrong HTTP method \[{method}\] for operation \[{name}\], it should be \[{right}\]"
            with pytest.raises(BadRequestError, match=told):
                await office.web.run(name, method, query, caller)
        elif refusal is not None:
            with pytest.raises(refusal):
                await office.web.run(name, method, query, caller)
        else:
            await office.web.run(name, method, query, caller)


@pytest.mark.parametrize(
    ("caller", "query", "owner"),
    [
        (ALICE, "renewer=yarn", ("alice", "alice")),
        (Caller("alice", "oozie", has_ticket=True), "renewer=yarn", ("alice", "oozie")),
        (ALICE, "", ("alice", "alice")),
    ],
)
async def test_a_token_is_the_callers_and_tells_who_acts_for_him(
    caller: Caller, query: str, owner: tuple[str, str]
) -> None:
    office = Office()
    token = decode_token(await office.issued(query, caller))
    await office.tokens.check(token.identifier)
    assert office.tokens.owner_of(token.identifier) == TokenOwner(*owner)


async def test_who_is_no_renewer_is_refused_and_without_one_it_is_the_owner() -> None:
    office = Office()
    own, yarns = await office.issued(), await office.issued("renewer=yarn")
    assert json.loads(await office.run(RENEW, f"token={own}")) == {"long": int((office.clock.now_s() + 30.0) * 1000)}
    yarn = Caller("yarn", "yarn", has_ticket=True)
    assert json.loads(await office.run(RENEW, f"token={yarns}", yarn))["long"]
    for caller, text in ((ALICE, yarns), (yarn, own)):
        with pytest.raises(TokenAccessError):
            await office.run(RENEW, f"token={text}", caller)
    with pytest.raises(TokenAccessError):
        await office.run(CANCEL, f"token={own}", yarn)
    assert await office.run(CANCEL, f"token={own}") == b""
    assert len(office.store.tokens) == 1


@pytest.mark.parametrize("name", [RENEW, CANCEL])
async def test_a_token_that_is_not_there_is_asked_for(name: str) -> None:
    with pytest.raises(BadRequestError, match=rf"Operation \[{name}\] requires the parameter \[token\]"):
        await Office().run(name, "renewer=x")
