"""The section `[masters]` of the configuration."""

# ruff: noqa: RUF009 - `key` and `section` describe a field, as dataclasses.field does

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shim.config.addresses import ADDRESS, ADDRESS_FORM, address_key
from shim.config.tree import Key, key, section

WHILE_CHANGED = (
    "A second secret, accepted beside that of `secret_file` while one is changed for another "
    "([security/secrets.md](security/secrets.md))."
)
"""What the key of a second secret means."""


@dataclass(frozen=True, slots=True)
class MastersTLSConfig:
    """TLS 1.3 between masters, each with a certificate of its own name. Plain links are then neither made nor taken.

    The three are needed together, and read again when they change.
    """

    certificate: Path | None = key(
        None,
        about=Key(
            "File with the certificate, in PEM form; it names this master as `URI:heddle:gm/ID` or `heddle:lm/ID`."
        ),
    )
    key_file: Path | None = key(
        None, about=Key("File (mode 0600) with the certificate's key, without a passphrase.", name="key")
    )
    ca: Path | None = key(None, about=Key("CA of all masters, and of nobody else."))


@dataclass(frozen=True, slots=True)
class MastersConfig:
    """Masters in processes of their own: `heddle gm` and `heddle lm`. `heddle serve` needs none of it."""

    REMOVED: ClassVar[Mapping[str, str]] = {"offer_s": "capacity that was kept for the best bid shortened no waiting"}

    listen: str = key("127.0.0.1:0", about=address_key("Where other masters reach this one; port 0 takes a free one."))
    advertise: str = key(
        "",
        about=Key(
            "What the others get instead of `listen`: behind a container's port, say.",
            pattern=rf"({ADDRESS})?",
            form=ADDRESS_FORM,
        ),
    )
    secret_file: Path | None = key(
        None,
        about=Key(
            "File (mode 0600) with the secret that all masters of a federation share if they have no `[masters.tls]`. "
            "`env:NAME` takes it from that environment variable."
        ),
    )
    other_secret_file: Path | None = key(None, about=Key(WHILE_CHANGED))
    tls: MastersTLSConfig = section(MastersTLSConfig, Key("TLS between masters."))
    lease_s: float = key(
        2.5,
        about=Key("A master that died is replaced when its lease has ended; prolonged four times as often.", least=0.5),
    )
    verify_within_s: float = key(
        0.3, about=Key("How long a submission waits for a Local Master's word on its home.", least=0.01, most=5)
    )
    silent_after_s: float = key(5.0, about=Key("A link on which nothing came for this long is made anew.", least=0.5))
