"""JSON Web Tokens of an identity provider (RFC 7519, RFC 8725): verified by its public keys, or refused.

The algorithm has to be allowed by the configuration and fit the key, whatever the token says; keys that a token brings
along, or addresses of such (`jwk`, `jku`, `x5u`), are never looked at.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.oidc.keys import PublicKey, load_library
from shim.ports.identity_provider import BadTokenError, Claims

_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_LONGEST = 16 * 1024
_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""Of ID tokens and access tokens; what says that it is something else, such as a logout, is no login."""
_REQUIRED = ("iss", "aud", "exp", "iat", "sub")


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Rules that a token must keep.

    Attributes:
        leeway_s: How far the provider's clock may be off.
    """

    issuer: str
    algorithms: frozenset[str]
    leeway_s: float


@dataclass(frozen=True, slots=True)
class TokenHead:
    """Head of a token: its signature as it says, before anything of it is believed."""

    algorithm: str
    key_name: str


def head_of(token_untrusted: str, rules: TokenRules) -> TokenHead:
    """The head of a token.

    Raises:
        BadTokenError: If it is none, or is signed in a way that is not allowed.
    """
    jwt = load_library()
    if len(token_untrusted) > _LONGEST or _FORM.fullmatch(token_untrusted) is None:
        raise BadTokenError("the token is no JSON Web Token")
    try:
        head: Mapping[str, Any] = jwt.get_unverified_header(token_untrusted)
    except (jwt.PyJWTError, ValueError, RecursionError) as exc:
        raise BadTokenError("the head of the token cannot be read") from exc
    algorithm, name = head.get("alg"), head.get("kid", "")
    if algorithm not in rules.algorithms or not isinstance(name, str):
        raise BadTokenError("the token is not signed by one of security.oidc.algorithms")
    if "crit" in head or str(head.get("typ", "")).lower() not in _TYPES:
        raise BadTokenError("the token is of another type")
    return TokenHead(str(algorithm), name)


def verified(
    token_untrusted: str, head: TokenHead, key: PublicKey | None, rules: TokenRules, audiences: Collection[str]
) -> Claims:
    """Claims of a token, once its signature, issuer, audience and times are good.

    Args:
        key: The provider's of the name that the head tells; None if it has none.

    Raises:
        BadTokenError: If anything is not as it must be.
    """
    jwt = load_library()
    if key is None or not key.takes(head.algorithm):
        raise BadTokenError("the token is not signed by a key of the identity provider")
    try:
        claims: Claims = jwt.decode(
            token_untrusted,
            key.key,
            algorithms=[head.algorithm],
            audience=list(audiences),
            issuer=rules.issuer,
            leeway=rules.leeway_s,
            options={"require": list(_REQUIRED)},
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as exc:
        raise BadTokenError(f"the token is not good: {type(exc).__name__}") from exc
    return claims
