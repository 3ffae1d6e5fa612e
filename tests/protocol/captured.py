"""Captures of real peers: what they sent, kept as hexadecimal beside the version that sent it."""

import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "captures"


@dataclass(frozen=True)
class CapturedConnection:
    """Both directions of one connection."""

    name: str
    sent: bytes
    received: bytes
    is_closed: bool


@dataclass(frozen=True)
class DigestSession:
    """One login by DIGEST-MD5, and messages that were protected afterwards, in order, by their clear text."""

    quality: str
    cipher: str | None
    challenge: bytes
    response: bytes
    proof: bytes
    from_client: list[tuple[bytes, bytes]]
    from_server: list[tuple[bytes, bytes]]


def exchanges(file: str) -> list[CapturedConnection]:
    """The connections of one capture."""
    rows = json.loads((_FOLDER / file).read_text())["exchanges"]
    return [
        CapturedConnection(
            row.get("name") or row["command"],
            bytes.fromhex(row["sent"]),
            bytes.fromhex(row["received"]),
            row.get("is_closed", False),
        )
        for row in rows
    ]


def digest_sessions() -> tuple[bytes, bytes, list[DigestSession]]:
    """Identifier and password of the token, and the sessions that used it."""
    content = json.loads((_FOLDER / "digest-md5-jdk-17.json").read_text())
    sessions = [
        DigestSession(
            row["quality"],
            row["cipher"],
            row["challenge"].encode(),
            row["response"].encode(),
            row["proof"].encode(),
            [(clear.encode(), bytes.fromhex(sealed)) for clear, sealed in row["from_client"]],
            [(clear.encode(), bytes.fromhex(sealed)) for clear, sealed in row["from_server"]],
        )
        for row in content["sessions"]
    ]
    return bytes.fromhex(content["identifier"]), content["password"].encode(), sessions


def directive(message: bytes, name: str) -> str:
    """The value of a quoted directive; empty if it is not there."""
    _, found, rest = message.partition(f'{name}="'.encode())
    return rest.partition(b'"')[0].decode() if found else ""
