"""Protocol between masters, sans-IO: frames, the handshake, deltas, two ends of a report stream.

A Local Master publishes each of its reports once: whole to whom is new, as a delta to whom has the one before. A Global
Master that misses one notices the gap in the sequence and asks for a whole one. Bytes go in and come out; the WebSocket
that carries them is the business of `adapters.peers`.
"""

from shim.protocol.peers.certificates import URI_PREFIX, check_listener, dialer_of, speaker_of
from shim.protocol.peers.deltas import DeltaMismatchError, ReportDelta, apply_delta, delta_between
from shim.protocol.peers.frames import (
    MAX_FRAME_BYTES,
    MAX_HANDSHAKE_BYTES,
    MAX_LAUNCHES,
    Answer,
    ChallengeFrame,
    DeltaFrame,
    Frame,
    HelloFrame,
    LaunchedFrame,
    LaunchFrame,
    OutcomeFrame,
    OutcomeKind,
    PieceFrame,
    ProofFrame,
    ProposalFrame,
    Question,
    ReportFrame,
    ResyncFrame,
    SubmitFrame,
    TroubleFrame,
    VerdictFrame,
    WelcomeFrame,
    decode_frame_untrusted,
    encode_frame,
)
from shim.protocol.peers.handshake import (
    NONCE_BYTES,
    Credentials,
    answer_challenge,
    check_proof,
    check_welcome,
    make_welcome,
)
from shim.protocol.peers.pieces import MAX_GATHERED_BYTES, Gathering, in_pieces
from shim.protocol.peers.streams import ReportFollower, ReportPublisher

__all__ = [
    "MAX_FRAME_BYTES",
    "MAX_GATHERED_BYTES",
    "MAX_HANDSHAKE_BYTES",
    "MAX_LAUNCHES",
    "NONCE_BYTES",
    "URI_PREFIX",
    "Answer",
    "ChallengeFrame",
    "Credentials",
    "DeltaFrame",
    "DeltaMismatchError",
    "Frame",
    "Gathering",
    "HelloFrame",
    "LaunchFrame",
    "LaunchedFrame",
    "OutcomeFrame",
    "OutcomeKind",
    "PieceFrame",
    "ProofFrame",
    "ProposalFrame",
    "Question",
    "ReportDelta",
    "ReportFollower",
    "ReportFrame",
    "ReportPublisher",
    "ResyncFrame",
    "SubmitFrame",
    "TroubleFrame",
    "VerdictFrame",
    "WelcomeFrame",
    "answer_challenge",
    "apply_delta",
    "check_listener",
    "check_proof",
    "check_welcome",
    "decode_frame_untrusted",
    "delta_between",
    "dialer_of",
    "encode_frame",
    "in_pieces",
    "make_welcome",
    "speaker_of",
]
