"""An issuer of tokens that a test has in its hands: what it publishes, and how, is the test's to say."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web

from adapters.oidc import OpenIDProvider, ProviderSettings
from adapters.oidc.documents import Documents
from adapters.oidc.tokens import TokenRules
from tests.doubles.clock import FakeClock
from tests.support.oidc_provider import a_key

AUDIENCE, CLIENT = "https://heddle.example.com", "heddle"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedIssuer:
    """Publishes its keys, and answers codes with what a test has put there.

    Attributes:
        key: Signs tokens, and is the one that is published.
        discovery: Members of the discovery document that differ from what is right.
        keys: The document of keys.
        answers: By path: what is answered instead.
        asked: Paths, in their order.
        id_token: Answers a code.
        clock: Of the provider.
        provider: Heddle's side.
    """

    def __init__(self, url: str, within_s: float) -> None:
        self.url = url
        self.key = a_key()
        self.discovery: dict[str, Any] = {}
        self.keys: dict[str, Any] = {"keys": [public(self.key)]}
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.id_token = ""
        self.clock = FakeClock()
        rules = TokenRules(url, frozenset({"RS256", "ES256"}), 30.0)
        settings = ProviderSettings(
            rules,
            CLIENT,
            "",
            "http://127.0.0.1:1/oidc/callback",
            "http://127.0.0.1:1/console/",
            scopes=("openid",),
            audiences=frozenset({AUDIENCE}),
        )
        self.provider = OpenIDProvider(settings, Documents(within_s=within_s, most_bytes=16 * 1024), self.clock)

    def claims(self, **more: Any) -> dict[str, Any]:
        """Those of a good bearer; None takes one away."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "1", "iat": now, "exp": now + 60, "preferred_username": "ada"}
        return {name: value for name, value in {**good, **more}.items() if value is not None}

    def token(self, key: Mapping[str, Any] | None = None, head: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """A token, signed by the published key or another one."""
        signer = self.key if key is None else key
        told = {"kid": signer["kid"], **(head or {})}
        return jwt.encode(self.claims(**claims), jwt.PyJWK(dict(signer)).key, algorithm="RS256", headers=told)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What is at a path."""
        self.asked.append(request.path)
        special = self.answers.get(request.path)
        if special is not None:
            return await special(request)
        documents = {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/auth",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                **self.discovery,
            },
            "/keys": self.keys,
            "/token": {"id_token": self.id_token},
        }
        return web.json_response(documents[request.path])


def public(key: Mapping[str, Any]) -> dict[str, Any]:
    """The public part of a key."""
    return {name: value for name, value in key.items() if name not in ("d", "p", "q", "dp", "dq", "qi")}


def hand_made(head: Mapping[str, Any], claims: Mapping[str, Any], secret: bytes | None = None) -> str:
    """A token that no library would make: signed by HMAC with any secret, or not at all."""
    parts = ".".join(_base64(json.dumps(each).encode()) for each in (head, claims))
    signature = b"x" if secret is None else hmac.digest(secret, parts.encode(), hashlib.sha256)
    return f"{parts}.{_base64(signature)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@asynccontextmanager
async def issuing(within_s: float = 20.0) -> AsyncIterator[ScriptedIssuer]:
    """Serve one on a loopback port, whose documents have to come in time."""
    issuers: list[ScriptedIssuer] = []
    application = web.Application()

    async def answer(request: web.Request) -> web.StreamResponse:
        return await issuers[0].answer(request)

    application.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    issuers.append(ScriptedIssuer(f"http://127.0.0.1:{runner.addresses[0][1]}", within_s))
    try:
        yield issuers[0]
    finally:
        await issuers[0].provider.close()
        await runner.cleanup()
