"""Delegation tokens: good for their owner, for a time, and only as they were issued."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.proto.messages import TokenProto, YARNDelegationTokenIdentifierProto
from shim.services.delegation_tokens import DelegationTokenError, DelegationTokens, TokenLimits
from shim.testing.clock import FakeClock

SECRET = b"s" * 32
LIMITS = TokenLimits(lifetime_s=100.0, renewal_s=30.0)


def issuer(*, clock: FakeClock | None = None, secret: bytes = SECRET) -> DelegationTokens:
    return DelegationTokens(secret, clock or FakeClock(), LIMITS)


def issued(subject: DelegationTokens, owner: str = "alice", renewer: str = "yarn") -> TokenProto:
    return subject.issue(owner, renewer, "")


def test_a_token_speaks_for_its_owner_in_every_process_with_the_secret():
    clock = FakeClock()
    token = issued(issuer(clock=clock))
    another = issuer(clock=clock)
    assert another.owner_of(token.identifier) == "alice"
    assert another.password_of(token.identifier) == token.password


def test_s8_a_token_of_another_secret_is_none():
    token = issued(issuer(secret=b"o" * 32))
    subject = issuer()
    assert subject.password_of(token.identifier) != token.password, "its holder fails the login"
    with pytest.raises(DelegationTokenError, match="not issued here"):
        subject.renew(token, caller="yarn")
    with pytest.raises(DelegationTokenError, match="not issued here"):
        subject.cancel(token, caller="alice")


@given(owner=st.text(max_size=20), until_ms=st.integers(0, 1 << 62))
def test_s8_what_a_holder_writes_into_a_token_makes_its_password_wrong(owner: str, until_ms: int):
    subject = issuer()
    token = issued(subject)
    forged = YARNDelegationTokenIdentifierProto.FromString(token.identifier)
    forged.owner, forged.maxDate = owner, until_ms
    changed = forged.SerializeToString()
    if changed != token.identifier:
        with pytest.raises(DelegationTokenError):
            subject.renew(TokenProto(identifier=changed, password=token.password), caller="yarn")


@given(st.binary(max_size=100))
def test_s8_any_bytes_are_a_token_of_nobody(identifier: bytes):
    with pytest.raises(DelegationTokenError):
        issuer().renew(TokenProto(identifier=identifier, password=b"x" * 20), caller="yarn")


@pytest.mark.parametrize("caller", ["alice", "mallory", ""])
def test_s8_only_the_renewer_renews(caller: str):
    subject = issuer()
    with pytest.raises(DelegationTokenError, match="with renewer yarn"):
        subject.renew(issued(subject), caller=caller)


@pytest.mark.parametrize(("caller", "may"), [("alice", True), ("yarn", True), ("mallory", False), ("", False)])
def test_s8_only_owner_and_renewer_cancel(caller: str, may: bool):  # noqa: FBT001 - a column of the table
    subject = issuer()
    token = issued(subject)
    if not may:
        with pytest.raises(DelegationTokenError, match="not authorized"):
            subject.cancel(token, caller=caller)
        assert subject.owner_of(token.identifier) == "alice", "it is as good as before"
        return
    subject.cancel(token, caller=caller)
    for use in (subject.owner_of, subject.password_of):
        with pytest.raises(DelegationTokenError, match="cancelled"):
            use(token.identifier)


async def test_s8_no_renewal_goes_beyond_the_end_of_a_token():
    clock = FakeClock()
    subject = issuer(clock=clock)
    token = issued(subject)
    ends_ms = YARNDelegationTokenIdentifierProto.FromString(token.identifier).maxDate
    assert subject.renew(token, caller="yarn") == ends_ms - 70_000
    await clock.advance(90.0)
    assert subject.renew(token, caller="yarn") == ends_ms
    await clock.advance(10.0)
    with pytest.raises(DelegationTokenError, match="expired"):
        subject.renew(token, caller="yarn")
    with pytest.raises(DelegationTokenError, match="expired"):
        subject.password_of(token.identifier)
