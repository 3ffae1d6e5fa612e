"""Certificates of a CA that lives as long as a test."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = dt.timedelta(days=1)
LOCAL: tuple[x509.GeneralName, ...] = (
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
)
"""Names of this machine."""


class TestAuthority:
    """A CA whose files are in a folder.

    Attributes:
        file: Its own certificate.
    """

    __test__ = False

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._name, self._key, is_ca=True, days=30)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        days: int = 30,
        names: Sequence[x509.GeneralName] = LOCAL,
        in_days: int = 0,
        purpose: x509.ObjectIdentifier | None = None,
    ) -> tuple[Path, Path]:
        """Files of a new certificate for `name`, and of its key; written over older ones.

        Args:
            name: Its subject, and how the files are called.
            days: Until it ends; it has ended if negative.
            names: Its alternative names: what clients look at.
            in_days: Until it begins; a day ago if 0.
            purpose: What alone it is for; all if None.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate_file, key_file = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        certificate = self._signed(subject, key, is_ca=False, days=days, names=names, in_days=in_days, purpose=purpose)
        certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.touch(mode=0o600)
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate_file, key_file

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        is_ca: bool,
        days: int,
        names: Sequence[x509.GeneralName] = LOCAL,
        in_days: int = 0,
        purpose: x509.ObjectIdentifier | None = None,
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        begun = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + (min(0, days) - 1 if in_days == 0 else in_days) * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if names:
            begun = begun.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if purpose is not None:
            begun = begun.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        return begun.sign(self._key, hashes.SHA256())
