"""Public keys of an identity provider (JWKS, RFC 7517): kept for a while, asked for again when one is not known.

A key that the provider has taken away counts no more once its keys are read again; a new one is found by the first
token that names it. Made-up names of keys do not make Heddle ask more often than once in ten seconds.
"""

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shim.concurrency.single_flight import SingleFlight
from shim.errors import ConfigError
from shim.ports.clock import Clock
from shim.ports.identity_provider import ProviderUnavailableError

KINDS: Mapping[str, str] = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""The kind of key that an algorithm takes, by its first letters. Secrets that both ends know (`oct`) are none."""

_CURVES: Mapping[str, str] = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}
_MOST_KEYS = 64
_SHORTEST_RSA = 2048
_FRESH_S, _STALE_S, _PAUSE_S = 600.0, 3600.0, 10.0


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key.

    Attributes:
        kind: RSA, EC or OKP.
        algorithm: The only one that it is for, if it says so.
    """

    kind: str
    curve: str
    algorithm: str
    key: Any

    def takes(self, algorithm: str) -> bool:
        """True if a signature by an algorithm can be this key's: neither another kind's nor another curve's."""
        is_kind = KINDS.get(algorithm[:2]) == self.kind and _CURVES.get(algorithm, self.curve) == self.curve
        return is_kind and self.algorithm in ("", algorithm)


class KeySet:
    """The keys by their names."""

    def __init__(self, read: Callable[[], Awaitable[Mapping[str, Any]]], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._keys: Mapping[str, PublicKey] = {}
        self._read_at_s = float("-inf")
        self._tried_at_s = float("-inf")
        self._reading: SingleFlight[str, None] = SingleFlight()

    def at_hand(self, name: str) -> PublicKey | None:
        """A key that is known, and was read lately; None if the provider has to be asked."""
        return self._keys.get(name) if self._age_s < _FRESH_S else None

    async def find(self, name: str) -> PublicKey | None:
        """A key; None if the provider has none of that name.

        Raises:
            ProviderUnavailableError: If nobody can tell.
        """
        found = self.at_hand(name)
        if found is not None:
            return found
        if len(self._reading) or self._clock.monotonic_s() - self._tried_at_s >= _PAUSE_S:
            try:
                await self._reading.do("", self._renew)
            except ProviderUnavailableError:
                if self._age_s >= _STALE_S:
                    raise
        if self._age_s >= _STALE_S:
            raise ProviderUnavailableError("the identity provider has not told its keys lately")
        return self._keys.get(name)

    @property
    def _age_s(self) -> float:
        return self._clock.monotonic_s() - self._read_at_s

    async def _renew(self) -> None:
        self._tried_at_s = self._clock.monotonic_s()
        document = await self._read()
        listed = document.get("keys")
        if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
            raise ProviderUnavailableError(f"the identity provider tells no list of at most {_MOST_KEYS} keys")
        read = (_key(each) for each in listed if isinstance(each, dict))
        self._keys = {name: key for name, key in read if key is not None}
        self._read_at_s = self._clock.monotonic_s()


def _key(told: Mapping[str, Any]) -> tuple[str, PublicKey | None]:
    """A key's name and the key; None for one that signs nothing, or is too weak to count."""
    jwt = load_library()
    name, kind = told.get("kid", ""), str(told.get("kty"))
    if not isinstance(name, str) or kind not in KINDS.values() or told.get("use", "sig") != "sig" or "d" in told:
        return "", None
    try:
        key = jwt.PyJWK(dict(told)).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return name, None
    if kind == "RSA" and key.key_size < _SHORTEST_RSA:
        return name, None
    return name, PublicKey(kind, str(told.get("crv", "")), str(told.get("alg", "")), key)


# The library PyJWT, loaded when an identity provider is first used.


def load_library() -> Any:
    """The module `jwt`.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        return importlib.import_module("jwt")
    except ImportError as exc:
        message = "needs the library PyJWT: install the extra `oidc`, in a checkout by `pip install '.[oidc]'`"
        raise ConfigError("the configuration", "security.oidc.issuer", message) from exc
