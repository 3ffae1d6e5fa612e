import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import RemoteProtocolError
from shim.protocol.peers.frames import ChallengeFrame, ProofFrame, WelcomeFrame
from shim.protocol.peers.handshake import (
    NONCE_BYTES,
    Credentials,
    answer_challenge,
    check_proof,
    check_welcome,
    make_welcome,
)

SECRET = b"the secret of the federation"
EAST = Credentials("lm/east", SECRET)
GM = Credentials("gm/a", SECRET)
CHALLENGE = ChallengeFrame("lm/east", b"c" * NONCE_BYTES)
NONCE = b"n" * NONCE_BYTES


def answered(credentials=GM, challenge=CHALLENGE, expected="lm/east"):
    return answer_challenge(credentials, challenge, NONCE, expected=expected)


def test_two_that_share_the_secret_know_each_other():
    proof = answered()
    check_proof(EAST, CHALLENGE, proof)
    check_welcome(GM, CHALLENGE, proof, make_welcome(EAST, CHALLENGE, proof))


def test_a_dialler_without_the_secret_is_refused():
    proof = answered(Credentials("gm/a", b"another secret"))
    with pytest.raises(RemoteProtocolError, match="does not have the secret"):
        check_proof(EAST, CHALLENGE, proof)


def test_a_listener_without_the_secret_is_refused():
    proof = answered()
    with pytest.raises(RemoteProtocolError, match="does not have the secret"):
        check_welcome(GM, CHALLENGE, proof, make_welcome(Credentials("lm/east", b"another"), CHALLENGE, proof))


def test_whoever_sends_a_proof_back_has_proven_nothing():
    proof = answered()
    with pytest.raises(RemoteProtocolError):
        check_welcome(GM, CHALLENGE, proof, WelcomeFrame(proof.proof))


def test_somebody_else_than_who_was_dialled_is_refused_before_anything_is_proven():
    with pytest.raises(RemoteProtocolError, match="lm/west"):
        answered(challenge=ChallengeFrame("lm/west", CHALLENGE.nonce))


@pytest.mark.parametrize("nonce", [b"", b"x", b"x" * (NONCE_BYTES + 1)])
def test_a_nonce_has_its_length(nonce):
    with pytest.raises(RemoteProtocolError, match="nonce"):
        answered(challenge=ChallengeFrame("lm/east", nonce))
    with pytest.raises(RemoteProtocolError, match="nonce"):
        check_proof(EAST, CHALLENGE, ProofFrame("gm/a", nonce, b""))


@given(st.text(max_size=20), st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES), st.binary(max_size=40))
def test_a_proof_is_good_for_its_speaker_its_nonce_and_its_challenge_alone(speaker, nonce, proof):
    made = answered()
    other = ProofFrame(speaker, nonce, made.proof)
    if other != made:
        with pytest.raises(RemoteProtocolError):
            check_proof(EAST, CHALLENGE, other)
    with pytest.raises(RemoteProtocolError):
        check_proof(EAST, CHALLENGE, ProofFrame("gm/a", NONCE, proof))
    if nonce != CHALLENGE.nonce:
        with pytest.raises(RemoteProtocolError):
            check_proof(EAST, ChallengeFrame("lm/east", nonce), made)


def test_the_secret_is_in_no_text():
    assert "secret" not in repr(GM)
