"""A secret is changed for another, one process after the other, and nobody who logged in notices.

Each process goes through the phases in this order, and all are in the same phase or in two that follow each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import RemoteProtocolError, StoreUnavailableError
from shim.identity.cookies import Cookies
from shim.identity.delegation_tokens import DelegationTokenError, DelegationTokens, TokenLimits
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret
from shim.protocol.hrpc.sasl import SASLError
from shim.protocol.peers import ChallengeFrame, Credentials, answer_challenge, check_proof, check_welcome, make_welcome
from shim.simulation.stores import InMemoryTokenStore
from shim.store.sealing import Sealer
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

OLD, NEW = b"the secret of before, 32 bytes ..", b"the secret from now on, 32 bytes ."


@dataclass(frozen=True)
class Phase:
    """What a process has configured."""

    secret: bytes
    others: tuple[bytes, ...] = ()


PHASES = (Phase(OLD), Phase(OLD, (NEW,)), Phase(NEW, (OLD,)), Phase(NEW))
neighbours = st.integers(0, len(PHASES) - 1).flatmap(
    lambda at: st.tuples(st.just(PHASES[at]), st.sampled_from(PHASES[max(0, at - 1) : at + 2]))
)
far_apart = st.sampled_from([(PHASES[0], PHASES[3]), (PHASES[3], PHASES[0])])


def cookies(phase: Phase) -> Cookies:
    return Cookies(phase.secret, FakeClock(), validity_s=60.0, other_secrets=phase.others)


def value_of(cookie: str | None) -> str:
    assert cookie is not None
    return cookie.partition("=")[2].partition(";")[0]


@given(neighbours)
def test_cookies_are_good_at_every_process(phases: tuple[Phase, Phase]) -> None:
    issuing, reading = phases
    assert cookies(reading).verify(value_of(cookies(issuing).issue("ada"))) == "ada"


@given(far_apart)
def test_cookies_of_a_secret_that_is_gone_are_none(phases: tuple[Phase, Phase]) -> None:
    issuing, reading = phases
    assert cookies(reading).verify(value_of(cookies(issuing).issue("ada"))) is None


class Site:
    """Processes over one store of tokens."""

    def __init__(self) -> None:
        self.clock, self.store = FakeClock(), InMemoryTokenStore()

    def tokens(self, phase: Phase) -> DelegationTokens:
        return DelegationTokens(phase.secret, self.clock, self.store, usual(TokenLimits), other_secrets=phase.others)


def logs_in(tokens: DelegationTokens, identifier: bytes, password: bytes) -> bool:
    """Whether a client that holds the token is let in over RPC."""
    server = DigestMD5Server(tokens.password_of, "n" * 40, others=tokens.other_passwords_of)
    client = DigestMD5Client(TokenSecret(identifier, password), "c" * 40)
    try:
        client.step(server.step(client.step(server.step(b""))))
    except SASLError:
        return False
    return server.is_complete


@given(neighbours)
async def test_tokens_are_good_at_every_process(phases: tuple[Phase, Phase]) -> None:
    site = Site()
    token = await site.tokens(phases[0]).issue("ada", "yarn", "", is_proven=False)
    reading = site.tokens(phases[1])
    reading.verify(token)
    assert logs_in(reading, token.identifier, token.password)
    assert await reading.renew(token, caller="yarn")
    await reading.cancel(token, caller="ada")


@given(far_apart)
async def test_tokens_of_a_secret_that_is_gone_are_none(phases: tuple[Phase, Phase]) -> None:
    site = Site()
    token = await site.tokens(phases[0]).issue("ada", "yarn", "", is_proven=False)
    reading = site.tokens(phases[1])
    with pytest.raises(DelegationTokenError, match="not issued here"):
        reading.verify(token)
    assert not logs_in(reading, token.identifier, token.password)


@given(st.sampled_from(PHASES), st.binary(min_size=20, max_size=20))
async def test_a_guessed_password_is_none_in_any_phase(phase: Phase, password: bytes) -> None:
    site = Site()
    token = await site.tokens(phase).issue("ada", "yarn", "", is_proven=False)
    assert not logs_in(site.tokens(phase), token.identifier, password)


def link(dialling: Phase, listening: Phase) -> None:
    """Two masters shake hands, both ways."""
    dialer = Credentials("gm/a", dialling.secret, dialling.others)
    listener = Credentials("lm/east", listening.secret, listening.others)
    challenge = ChallengeFrame("lm/east", b"l" * 32)
    proof = answer_challenge(dialer, challenge, b"d" * 32, expected="lm/east")
    check_proof(listener, challenge, proof)
    check_welcome(dialer, challenge, proof, make_welcome(listener, challenge, proof))


@given(neighbours)
def test_links_are_made_between_any_two_masters(phases: tuple[Phase, Phase]) -> None:
    link(*phases)


@given(far_apart)
def test_a_master_with_a_secret_that_is_gone_is_refused(phases: tuple[Phase, Phase]) -> None:
    with pytest.raises(RemoteProtocolError, match="does not have the secret"):
        link(*phases)


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=4, unique=True), st.data())
def test_what_is_sealed_opens_with_any_of_the_secrets_and_no_other(
    secrets: Sequence[bytes], data: st.DataObject
) -> None:
    sealing = data.draw(st.sampled_from(secrets))
    held = data.draw(st.lists(st.sampled_from(secrets), min_size=1, unique=True))
    plain = data.draw(st.binary(min_size=1, max_size=50))
    sealed, opener = Sealer(sealing).seal(plain, "here"), Sealer(held[0], others=held[1:])
    assert opener.is_newest(sealed, "here") == (sealing == held[0])
    if sealing in held:
        assert opener.open(sealed, "here") == plain
        return
    with pytest.raises(StoreUnavailableError, match="does not open"):
        opener.open(sealed, "here")
