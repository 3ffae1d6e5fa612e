"""The section `[server.tls]` of the configuration."""

# ruff: noqa: RUF009 - `key` describes a field, as dataclasses.field does

from dataclasses import dataclass
from pathlib import Path

from shim.config.tree import Key, key

__all__ = ["TLSConfig"]


@dataclass(frozen=True, slots=True)
class TLSConfig:
    """TLS 1.2 and newer at the web services and pages. Without a certificate they speak plain HTTP."""

    certificate: Path | None = key(
        None,
        about=Key(
            "File with the certificate and those between it and its CA, in PEM form. It, `key` and `client_ca` are "
            "read again when they change, for connections that come then; a broken change is logged and not used."
        ),
    )
    key_file: Path | None = key(
        None, about=Key("File (mode 0600) with the certificate's key, without a passphrase.", name="key")
    )
    client_ca: Path | None = key(
        None, about=Key("CA of clients: who has no certificate of it is not let in. Without it nobody needs one.")
    )
    hsts_s: int = key(
        31_536_000,
        about=Key(
            "For how long browsers are told to come by https only (`Strict-Transport-Security`); 0: not.", least=0
        ),
    )
