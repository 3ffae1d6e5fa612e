"""Mutual proof of two masters: each shows that it has the secret of the federation, and never sends it.

    listener                                        dialer
    challenge(speaker, nonce)        ─────────▶
                                     ◀─────────     proof(speaker, nonce, HMAC over both)
    welcome(HMAC over both, reversed) ────────▶

The proofs hold both names, both nonces and the direction: what one link said proves nothing on another one. Such a link
is not encrypted, and what follows is not signed: whoever can change packets between masters is kept out by the network.
Where masters have certificates there is no handshake (`certificates.py`).

Source: the exchange is that of ISO/IEC 9798-4, three pass mutual authentication with a keyed hash.

The name of a master in its certificate: an alternative name `URI:heddle:gm/<id>` or `URI:heddle:lm/<sub-cluster>`.

Over TLS a master is who its certificate says, and proves nothing else. Source: RFC 5280 section 4.2.1.6 for the names;
binding a service to a URI is what SPIFFE does, too.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from shim.errors import InvariantViolationError, RemoteProtocolError
from shim.protocol.peers.frames import ChallengeFrame, ProofFrame, WelcomeFrame

NONCE_BYTES = 32
_LABEL = b"heddle masters 1"


class _Direction(Enum):
    DIALER = b"dialer"
    LISTENER = b"listener"


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Name of a master, and its means to prove it.

    Attributes:
        speaker: `gm/<id>` or `lm/<sub-cluster>`.
        secret: Shared by all masters of a federation, empty where they speak TLS; in no text of this object.
        other_secrets: Who proves to have one of them is believed, too: while a secret is changed there are two.
    """

    speaker: str
    secret: bytes
    other_secrets: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        return f"Credentials({self.speaker!r})"


def answer_challenge(credentials: Credentials, challenge: ChallengeFrame, nonce: bytes, *, expected: str) -> ProofFrame:
    """The dialer's answer.

    Args:
        credentials: The dialer's.
        nonce: Random bytes, used once.
        expected: Whom the dialer wanted to reach.

    Raises:
        RemoteProtocolError: If somebody else answered, or the challenge is none.
    """
    if challenge.speaker != expected:
        raise RemoteProtocolError(f"{expected} was dialled, and {challenge.speaker[:80]!r} answers")
    _check_nonce(challenge.nonce)
    proof = _proof(
        _Direction.DIALER, credentials.secret, (challenge.speaker, challenge.nonce), (credentials.speaker, nonce)
    )
    return ProofFrame(credentials.speaker, nonce, proof)


def check_proof(credentials: Credentials, challenge: ChallengeFrame, proof: ProofFrame) -> None:
    """Check that the dialer has the secret.

    Raises:
        RemoteProtocolError: If it has not.
    """
    _check_nonce(proof.nonce)
    if _proven(credentials, challenge, proof) is None:
        raise RemoteProtocolError(f"{proof.speaker[:80]!r} does not have the secret of this federation")


def make_welcome(credentials: Credentials, challenge: ChallengeFrame, proof: ProofFrame) -> WelcomeFrame:
    """The listener's answer to a good proof, by the secret that the dialer has."""
    secret = _proven(credentials, challenge, proof) or credentials.secret
    return WelcomeFrame(_proof(_Direction.LISTENER, secret, *_told(challenge, proof)))


def check_welcome(
    credentials: Credentials, challenge: ChallengeFrame, proof: ProofFrame, welcome: WelcomeFrame
) -> None:
    """Check that the listener has the secret.

    Raises:
        RemoteProtocolError: If it has not.
    """
    right = _proof(_Direction.LISTENER, credentials.secret, *_told(challenge, proof))
    if not hmac.compare_digest(right, welcome.proof):
        raise RemoteProtocolError(f"{challenge.speaker[:80]!r} does not have the secret of this federation")


def _proven(credentials: Credentials, challenge: ChallengeFrame, proof: ProofFrame) -> bytes | None:
    """The secret by which a dialer made its proof; None if it is none of ours."""
    for secret in (credentials.secret, *credentials.other_secrets):
        if hmac.compare_digest(_proof(_Direction.DIALER, secret, *_told(challenge, proof)), proof.proof):
            return secret
    return None


def _told(challenge: ChallengeFrame, proof: ProofFrame) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    return (challenge.speaker, challenge.nonce), (proof.speaker, proof.nonce)


def _check_nonce(nonce: bytes) -> None:
    if len(nonce) != NONCE_BYTES:
        raise RemoteProtocolError(f"a nonce of {len(nonce)} bytes instead of {NONCE_BYTES}")


def _proof(direction: _Direction, secret: bytes, listener: tuple[str, bytes], dialer: tuple[str, bytes]) -> bytes:
    if not secret:
        raise InvariantViolationError("a master without a secret proves nothing, and takes no proof")
    parts = (_LABEL, direction.value, listener[0].encode(), listener[1], dialer[0].encode(), dialer[1])
    # each part with its length: no two different exchanges make the same bytes
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hmac.new(secret, message, hashlib.sha256).digest()


URI_PREFIX: Final = "heddle:"
_DIALS: Final = "gm/"
"""Only Global Masters dial: a Local Master's key opens no door."""


def speaker_of(certificate: Mapping[str, Any] | None) -> str:
    """Read who a verified certificate is for.

    Args:
        certificate: As `ssl.SSLSocket.getpeercert` tells it.

    Raises:
        RemoteProtocolError: If it names no master, or several.
    """
    told = () if certificate is None else certificate.get("subjectAltName", ())
    uris = [value for kind, value in told if kind == "URI" and value.startswith(URI_PREFIX)]
    if len(uris) != 1:
        raise RemoteProtocolError(f"its certificate names {len(uris)} masters ({URI_PREFIX}gm/ID), not one")
    return str(uris[0]).removeprefix(URI_PREFIX)


def dialer_of(certificate: Mapping[str, Any] | None) -> str:
    """Read which Global Master dials.

    Raises:
        RemoteProtocolError: If the certificate is for nobody who may.
    """
    speaker = speaker_of(certificate)
    if not speaker.startswith(_DIALS) or speaker == _DIALS:
        raise RemoteProtocolError(f"{speaker[:80]!r} is no Global Master, and others do not dial")
    return speaker


def check_listener(certificate: Mapping[str, Any] | None, *, expected: str) -> None:
    """See whether the one who answers is the one who was dialled.

    Raises:
        RemoteProtocolError: If it is another.
    """
    speaker = speaker_of(certificate)
    if speaker != expected:
        raise RemoteProtocolError(f"{expected} was dialled, and {speaker[:80]!r} answers")
