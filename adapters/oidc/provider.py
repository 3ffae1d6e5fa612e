"""An OpenID provider: authorization code flow with PKCE, and tokens that bearers show.

Source: OpenID Connect Core 1.0, sections 3.1 and 3.1.3.7; Discovery 1.0; RFC 7636 (PKCE); RFC 9700 (best practice).
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from adapters.oidc.documents import Documents
from adapters.oidc.keys import KeySet
from adapters.oidc.tokens import TokenRules, head_of, verified
from shim.ports.clock import Clock
from shim.ports.identity_provider import BadTokenError, Claims, LoginAttempt, ProviderUnavailableError

_DISCOVERY = "/.well-known/openid-configuration"
_FRESH_S = 3600.0
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_END = "end_session_endpoint"


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Settings of a provider, and of Heddle as its client.

    Attributes:
        client_secret: Empty for a public client.
        audiences: Of tokens that bearers may show; none for no bearers.
        hosts: Besides the issuer's own that endpoints may be at.
    """

    rules: TokenRules
    client_id: str
    client_secret: str
    redirect_url: str
    home_url: str
    scopes: tuple[str, ...]
    audiences: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()


class OpenIDProvider:
    """See the module; implements `shim.ports.identity_provider.IdentityProvider`."""

    def __init__(self, settings: ProviderSettings, documents: Documents, clock: Clock) -> None:
        self._settings = settings
        self._documents = documents
        self._clock = clock
        self._endpoints: Mapping[str, str] = {}
        self._read_at_s = float("-inf")
        self._keys = KeySet(self._read_keys, clock)

    async def close(self) -> None:
        await self._documents.close()

    async def login_address(self, attempt: LoginAttempt) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._settings.redirect_url,
            "scope": " ".join(self._settings.scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with_query((await self._known_endpoints())["authorization_endpoint"], asked)

    async def redeem(self, code: str, attempt: LoginAttempt) -> Claims:
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.redirect_url,
            "code_verifier": attempt.verifier,
        }
        login = None
        if settings.client_secret:
            login = (quote(settings.client_id, safe=""), quote(settings.client_secret, safe=""))
        else:
            form["client_id"] = settings.client_id
        answer = await self._documents.post((await self._known_endpoints())["token_endpoint"], form, login)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise ProviderUnavailableError("the identity provider answers a login without an ID token")
        claims = await self._verified(token, frozenset({settings.client_id}))
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise BadTokenError("the token is of another login: its nonce differs")
        if claims.get("azp", settings.client_id) != settings.client_id:
            raise BadTokenError("the token was made for another client")
        return claims

    def known(self, token: str) -> Claims | None:
        head = head_of(token, self._settings.rules)
        key = self._keys.at_hand(head.key_name)
        return None if key is None else verified(token, head, key, self._settings.rules, self._bearers())

    async def verify(self, token: str) -> Claims:
        return await self._verified(token, self._bearers())

    async def logout_address(self) -> str:
        address = (await self._known_endpoints()).get(_END, "")
        told = {"client_id": self._settings.client_id, "post_logout_redirect_uri": self._settings.home_url}
        return _with_query(address, told) if address else ""

    # -- parts -------------------------------------------------------------------------------------------------------

    def _bearers(self) -> frozenset[str]:
        if not self._settings.audiences:
            raise BadTokenError("tokens of the identity provider are not taken here: see security.oidc.audiences")
        return self._settings.audiences

    async def _verified(self, token: str, audiences: frozenset[str]) -> Claims:
        head = head_of(token, self._settings.rules)
        return verified(token, head, await self._keys.find(head.key_name), self._settings.rules, audiences)

    async def _read_keys(self) -> Mapping[str, Any]:
        return await self._documents.get((await self._known_endpoints())["jwks_uri"])

    async def _known_endpoints(self) -> Mapping[str, str]:
        """Addresses of the provider, as it publishes them: those that may be asked at all."""
        if self._clock.monotonic_s() - self._read_at_s < _FRESH_S:
            return self._endpoints
        issuer = self._settings.rules.issuer
        try:
            document = await self._documents.get(issuer.rstrip("/") + _DISCOVERY)
            self._endpoints = self._checked(document)
        except ProviderUnavailableError:
            if not self._endpoints:
                raise
            return self._endpoints  # keys have an age of their own
        self._read_at_s = self._clock.monotonic_s()
        return self._endpoints

    def _checked(self, document: Mapping[str, Any]) -> Mapping[str, str]:
        if document.get("issuer") != self._settings.rules.issuer:
            raise ProviderUnavailableError("the identity provider calls itself otherwise than security.oidc.issuer")
        found: dict[str, str] = {}
        for name in (*_NEEDED, _END):
            address = document.get(name)
            if isinstance(address, str) and self._is_allowed(address):
                found[name] = address
            elif name in _NEEDED:
                raise ProviderUnavailableError(
                    f"{name} of the identity provider is at a host that is neither the issuer's nor one of "
                    "security.oidc.endpoint_hosts, or is none"
                )
        return found

    def _is_allowed(self, address_untrusted: str) -> bool:
        issuer = urlsplit(self._settings.rules.issuer)
        try:
            asked = urlsplit(address_untrusted)
            is_here = (asked.hostname, asked.port) == (issuer.hostname, issuer.port)
            is_named = asked.hostname in self._settings.hosts and asked.port in (None, 443)
        except ValueError:
            return False
        is_plain = address_untrusted.isascii() and address_untrusted.isprintable() and "@" not in asked.netloc
        return is_plain and asked.scheme == issuer.scheme and (is_here or is_named)


def _with_query(address: str, asked: Mapping[str, str]) -> str:
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked, quote_via=quote)}"
