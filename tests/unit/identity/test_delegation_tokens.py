"""Delegation tokens: good for their owner, for a time, only as they were issued, and the same at every Heddle."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import BadRequestError, StoreUnavailableError
from shim.identity.delegation_tokens import (
    DelegationTokenError,
    DelegationTokens,
    TokenAccessError,
    TokenLimits,
    TokenOwner,
)
from shim.ports.token_store import TooManyTokensError
from shim.protocol.proto.messages import TokenProto, YARNDelegationTokenIdentifierProto
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock

SECRET = b"s" * 32
LIMITS = TokenLimits(lifetime_s=100.0, renewal_s=30.0, seen_within_s=2.0, of_owner=3, in_all=5, remembered=4)


class Heddles:
    """Any number of Heddles over one store."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = InMemoryTokenStore()

    def start(self, *, secret: bytes = SECRET, needs_ticket: bool = False) -> DelegationTokens:
        return DelegationTokens(secret, self.clock, self.store, LIMITS, needs_ticket=needs_ticket)


@pytest.fixture
def heddles() -> Heddles:
    return Heddles()


async def issued(
    subject: DelegationTokens, owner: str = "alice", renewer: str = "yarn", *, is_proven: bool = False
) -> TokenProto:
    return await subject.issue(owner, renewer, "", is_proven=is_proven)


async def is_good(subject: DelegationTokens, token: TokenProto) -> bool:
    """Whether a login by the token succeeds."""
    try:
        subject.password_of(token.identifier)
        await subject.check(token.identifier)
    except DelegationTokenError:
        return False
    return True


async def test_a_token_speaks_for_its_owner_in_every_process_with_the_secret(heddles):
    token = await issued(heddles.start())
    another = heddles.start()
    assert another.owner_of(token.identifier) == TokenOwner("alice", "alice")
    assert another.password_of(token.identifier) == token.password
    assert await is_good(another, token)


async def test_a_token_tells_who_asked_for_it(heddles):
    subject = heddles.start()
    token = await subject.issue("alice", "yarn", "oozie", is_proven=False)
    assert subject.owner_of(token.identifier) == TokenOwner("alice", "oozie")


async def test_numbers_of_tokens_stay_those_that_yarn_can_read(heddles):
    heddles.clock.wall_s = 2.0**31 - 1
    subject = heddles.start()
    identifiers = [(await issued(subject, owner=f"user{number}")).identifier for number in range(3)]
    numbers = [YARNDelegationTokenIdentifierProto.FromString(each).sequenceNumber for each in identifiers]
    assert numbers == [2**31 - 1, 0, 1]


async def test_s8_a_token_of_another_secret_is_none(heddles):
    token = await issued(heddles.start(secret=b"o" * 32))
    subject = heddles.start()
    assert subject.password_of(token.identifier) != token.password, "its holder fails the login"
    with pytest.raises(DelegationTokenError, match="not issued here"):
        await subject.renew(token, caller="yarn")
    with pytest.raises(DelegationTokenError, match="not issued here"):
        await subject.cancel(token, caller="alice")


@given(owner=st.text(max_size=20), until_ms=st.integers(0, 1 << 62))
async def test_s8_what_a_holder_writes_into_a_token_makes_its_password_wrong(owner: str, until_ms: int):
    subject = Heddles().start()
    token = await issued(subject)
    forged = YARNDelegationTokenIdentifierProto.FromString(token.identifier)
    forged.owner, forged.maxDate = owner, until_ms
    changed = forged.SerializeToString()
    if changed != token.identifier:
        with pytest.raises(DelegationTokenError):
            await subject.renew(TokenProto(identifier=changed, password=token.password), caller="yarn")


@given(st.binary(max_size=100))
async def test_s8_any_bytes_are_a_token_of_nobody(identifier: bytes):
    with pytest.raises(DelegationTokenError):
        await Heddles().start().renew(TokenProto(identifier=identifier, password=b"x" * 20), caller="yarn")


async def test_a_token_that_is_too_long_is_none_whoever_signed_it(heddles):
    subject = heddles.start()
    huge = YARNDelegationTokenIdentifierProto(owner="x" * 5000, maxDate=1 << 60).SerializeToString()
    with pytest.raises(DelegationTokenError, match="too long"):
        subject.password_of(huge)


@pytest.mark.parametrize("renewer", ["x" * 300, "x" * 15_000_000, "@REALM", "a/b/c", "a,b"])
async def test_a_renewer_that_is_no_user_is_refused_and_nothing_is_kept(heddles, renewer):
    with pytest.raises(BadRequestError, match="the renewer"):
        await issued(heddles.start(), renewer=renewer)
    assert not heddles.store.tokens


@pytest.mark.parametrize("renewer", ["rm", "rm/node", "rm@REALM", "rm/node@REALM"])
async def test_every_form_of_a_renewer_is_its_short_name(heddles, renewer):
    subject = heddles.start()
    assert await subject.renew(await issued(subject, renewer=renewer), caller="rm")


@pytest.mark.parametrize("caller", ["alice", "mallory", ""])
async def test_s8_only_the_renewer_renews(heddles, caller: str):
    subject = heddles.start()
    with pytest.raises(TokenAccessError, match="with non-matching renewer yarn"):
        await subject.renew(await issued(subject), caller=caller)


@pytest.mark.parametrize("caller", ["", "alice"])
async def test_a_token_without_a_renewer_is_renewed_by_nobody(heddles, caller: str):
    subject = heddles.start()
    with pytest.raises(TokenAccessError, match="without a renewer"):
        await subject.renew(await issued(subject, renewer=""), caller=caller)


@pytest.mark.parametrize(("caller", "may"), [("alice", True), ("yarn", True), ("mallory", False), ("", False)])
async def test_s8_only_owner_and_renewer_cancel(heddles, caller: str, may: bool):  # noqa: FBT001 - a column of the table
    subject = heddles.start()
    token = await issued(subject)
    if may:
        await subject.cancel(token, caller=caller)
    else:
        with pytest.raises(TokenAccessError, match="not authorized"):
            await subject.cancel(token, caller=caller)
    assert await is_good(subject, token) is not may


@pytest.mark.parametrize("caller", ["", "mallory"])
async def test_a_token_without_a_renewer_is_cancelled_by_its_owner_alone(heddles, caller: str):
    subject = heddles.start()
    token = await issued(subject, renewer="")
    with pytest.raises(TokenAccessError):
        await subject.cancel(token, caller=caller)
    await subject.cancel(token, caller="alice")


async def test_a_token_that_nobody_renews_is_good_for_one_interval(heddles):
    subject = heddles.start()
    token = await issued(subject)
    await heddles.clock.advance(29.0)
    assert await is_good(subject, token)
    await heddles.clock.advance(1.0)
    assert not await is_good(subject, token)
    with pytest.raises(DelegationTokenError, match="not renewed in time"):
        await subject.renew(token, caller="yarn")


async def test_s8_no_renewal_goes_beyond_the_end_of_a_token(heddles):
    subject = heddles.start()
    token = await issued(subject)
    ends_ms = YARNDelegationTokenIdentifierProto.FromString(token.identifier).maxDate
    for left_ms in (50_000, 30_000, 10_000, 0):
        await heddles.clock.advance(20.0)
        assert await subject.renew(token, caller="yarn") == ends_ms - left_ms
    assert await is_good(subject, token)
    await heddles.clock.advance(20.0)
    with pytest.raises(DelegationTokenError, match="expired"):
        await subject.renew(token, caller="yarn")
    assert not await is_good(subject, token)


async def test_a_cancelled_token_is_none_after_a_restart(heddles):
    subject = heddles.start()
    token = await issued(subject)
    await subject.cancel(token, caller="alice")
    restarted = heddles.start()
    assert not await is_good(restarted, token)
    for use in (restarted.renew, restarted.cancel):
        with pytest.raises(DelegationTokenError, match="not known"):
            await use(token, caller="yarn")


async def test_a_cancelled_token_is_none_at_other_heddles_within_the_bound(heddles):
    one, other = heddles.start(), heddles.start()
    token = await issued(one)
    assert await is_good(other, token)
    await one.cancel(token, caller="yarn")
    assert not await is_good(one, token), "at once where it was cancelled"
    await heddles.clock.advance(LIMITS.seen_within_s)
    assert not await is_good(other, token)


async def test_a_renewal_elsewhere_counts_here(heddles):
    one, other = heddles.start(), heddles.start()
    token = await issued(one)
    assert await is_good(other, token)
    await heddles.clock.advance(29.0)
    await one.renew(token, caller="yarn")
    await heddles.clock.advance(20.0)
    assert await is_good(other, token)


async def test_many_logins_ask_the_store_once_in_a_while(heddles):
    token = await issued(heddles.start())
    subject = heddles.start()
    for _ in range(100):
        assert await is_good(subject, token)
    assert heddles.store.reads == 1
    assert subject.is_known_good(token.identifier)


async def test_what_is_remembered_is_bounded(heddles):
    subject = heddles.start()
    tokens = [await issued(subject, owner=f"user{number}") for number in range(5)]
    assert subject.is_known_good(tokens[0].identifier) is None
    assert subject.is_known_good(tokens[-1].identifier)


async def test_who_was_looked_up_last_is_remembered_longest(heddles):
    first, second = [await issued(heddles.start(), owner=f"user{number}") for number in range(2)]
    subject = heddles.start()
    for token in (first, second):
        await subject.check(token.identifier)
    await heddles.clock.advance(LIMITS.seen_within_s)
    await subject.check(first.identifier)
    others = [await issued(subject, owner=f"other{number}") for number in range(2)]
    assert subject.is_known_good(first.identifier), "four are remembered"
    assert all(subject.is_known_good(token.identifier) for token in others)
    await issued(subject, owner="another")
    assert subject.is_known_good(first.identifier), "the second one went"


async def test_a_store_that_is_away_lets_nobody_in_for_longer_than_the_bound(heddles):
    subject = heddles.start()
    token = await issued(subject)
    heddles.store.is_away = True
    assert await is_good(subject, token)
    await heddles.clock.advance(LIMITS.seen_within_s)
    with pytest.raises(StoreUnavailableError):
        await subject.check(token.identifier)


async def test_a_token_that_a_bare_name_got_is_none_once_tickets_are_needed(heddles):
    simple = heddles.start()
    token = await issued(simple)
    kerberos = heddles.start(needs_ticket=True)
    assert not await is_good(kerberos, token)
    with pytest.raises(DelegationTokenError, match="without a Kerberos ticket"):
        await kerberos.renew(token, caller="yarn")
    assert await is_good(kerberos, await issued(kerberos, is_proven=True))


async def test_the_tokens_of_one_owner_and_of_all_are_bounded_and_those_that_are_over_do_not_count(heddles):
    subject = heddles.start()
    for _ in range(LIMITS.of_owner):
        await issued(subject)
    with pytest.raises(TooManyTokensError):
        await issued(subject)
    for _ in range(LIMITS.in_all - LIMITS.of_owner):
        await issued(subject, owner="bob")
    with pytest.raises(TooManyTokensError):
        await issued(subject, owner="carol")
    await heddles.clock.advance(30.0)
    await issued(subject)
    assert len(heddles.store.tokens) == 1, "what is over is forgotten"


async def test_a_token_ends_with_its_lifetime_whatever_the_store_says(heddles):
    subject = heddles.start()
    token = await issued(subject)
    ends_ms = YARNDelegationTokenIdentifierProto.FromString(token.identifier).maxDate
    assert await heddles.store.renew(hashlib.sha256(token.identifier).hexdigest(), good_until_ms=1 << 50)
    await heddles.clock.advance(ends_ms / 1000 - heddles.clock.now_s() - 0.5)
    assert await is_good(heddles.start(), token)
    await heddles.clock.advance(0.5)
    assert not await is_good(heddles.start(), token)


@pytest.mark.parametrize("ask", [DelegationTokens.password_of, DelegationTokens.other_passwords_of])
async def test_a_password_is_told_of_what_is_a_token_alone(heddles, ask):
    subject = heddles.start()
    token = await issued(subject)
    assert ask(subject, token.identifier) is not None
    with pytest.raises(DelegationTokenError):
        ask(subject, b"\xff" * 9)
