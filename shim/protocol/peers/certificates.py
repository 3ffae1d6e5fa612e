"""The name of a master in its certificate: an alternative name `URI:heddle:gm/<id>` or `URI:heddle:lm/<sub-cluster>`.

Over TLS a master is who its certificate says, and proves nothing else. Source: RFC 5280 section 4.2.1.6 for the names;
binding a service to a URI is what SPIFFE does, too.
"""

from collections.abc import Mapping
from typing import Any, Final

from shim.errors import RemoteProtocolError

__all__ = ["URI_PREFIX", "check_listener", "dialer_of", "speaker_of"]

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
