"""Heddle's side of OpenID Connect, before an issuer that lies, dawdles and floods."""

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from shim.ports.identity_provider import BadTokenError, LoginAttempt, ProviderUnavailableError
from tests.support.oidc_provider import a_key
from tests.support.scripted_issuer import AUDIENCE, CLIENT, ScriptedIssuer, hand_made, issuing, public

ATTEMPT = LoginAttempt("state", "nonce", "verifier", "/")


@pytest.fixture
async def issuer() -> AsyncIterator[ScriptedIssuer]:
    async with issuing() as opened:
        yield opened


async def test_a_good_token_is_believed_and_its_key_asked_for_once(issuer: ScriptedIssuer) -> None:
    token = issuer.token()
    assert issuer.provider.known(token) is None
    found = await asyncio.gather(*(issuer.provider.verify(token) for _ in range(20)))
    assert {each["preferred_username"] for each in found} == {"ada"}
    known = issuer.provider.known(token)
    assert known is not None
    assert known["sub"] == "1"
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example.com"},
        {"iss": None},
        {"aud": "other-client"},
        {"aud": None},
        {"aud": []},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"iat": None},
        {"iat": 99_999_999_999},
        {"nbf": 99_999_999_999},
        {"sub": None},
    ],
    ids=str,
)
async def test_wrong_issuer_audience_or_time_is_refused(issuer: ScriptedIssuer, claims: Mapping[str, Any]) -> None:
    with pytest.raises(BadTokenError, match="the token is not good"):
        await issuer.provider.verify(issuer.token(**claims))


async def test_no_signature_is_none(issuer: ScriptedIssuer) -> None:
    for name in ("none", "None", "NONE", "", None):
        forged = hand_made({"alg": name, "kid": issuer.key["kid"], "typ": "JWT"}, issuer.claims())
        for text in (forged, forged.rpartition(".")[0] + "."):
            with pytest.raises(BadTokenError):
                await issuer.provider.verify(text)


async def test_a_public_key_is_no_shared_secret(issuer: ScriptedIssuer) -> None:
    key = jwt.PyJWK(public(issuer.key)).key
    shapes = [
        key.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
    ]
    for secret in (*shapes, json.dumps(public(issuer.key)).encode(), b""):
        forged = hand_made({"alg": "HS256", "kid": issuer.key["kid"], "typ": "JWT"}, issuer.claims(), secret)
        with pytest.raises(BadTokenError, match=r"security\.oidc\.algorithms"):
            await issuer.provider.verify(forged)


async def test_an_algorithm_that_is_not_allowed_is_refused_though_the_key_is_right(issuer: ScriptedIssuer) -> None:
    signer = jwt.PyJWK(dict(issuer.key)).key
    token = jwt.encode(issuer.claims(), signer, algorithm="RS512", headers={"kid": issuer.key["kid"]})
    with pytest.raises(BadTokenError, match=r"security\.oidc\.algorithms"):
        await issuer.provider.verify(token)


async def test_keys_that_a_token_brings_along_are_not_looked_at(issuer: ScriptedIssuer) -> None:
    mine = a_key()
    address = f"{issuer.url}/mine"
    for head in ({"jwk": public(mine)}, {"jku": address}, {"x5u": address}, {"kid": issuer.key["kid"]}):
        with pytest.raises(BadTokenError):
            await issuer.provider.verify(issuer.token(mine, head))
    assert "/mine" not in issuer.asked


@pytest.mark.parametrize("head", [{"crit": ["exp"]}, {"typ": "logout+jwt"}, {"typ": "secevent+jwt"}], ids=str)
async def test_a_token_of_another_type_is_no_login(issuer: ScriptedIssuer, head: Mapping[str, Any]) -> None:
    with pytest.raises(BadTokenError):
        await issuer.provider.verify(issuer.token(head=head))


@pytest.mark.parametrize("text", ["", "a.b.c", "." * 3, "a." * 9, "x" * 20_000 + ".a.b", "é.a.b"])
async def test_what_is_no_token_is_refused(issuer: ScriptedIssuer, text: str) -> None:
    with pytest.raises(BadTokenError):
        await issuer.provider.verify(text)


async def test_a_head_that_is_deep_is_refused(issuer: ScriptedIssuer) -> None:

    deep = base64.urlsafe_b64encode(b"[" * 9000).rstrip(b"=").decode()
    with pytest.raises(BadTokenError):
        await issuer.provider.verify(f"{deep}.e30.eA")


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_keys_that_are_weak_or_of_another_kind_sign_nothing(issuer: ScriptedIssuer) -> None:
    weak = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024), as_dict=True) | {"kid": "weak"}  # noqa: S505
    curve = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True) | {"kid": "curve"}
    encrypts = public(issuer.key) | {"use": "enc", "kid": "encrypts"}
    pinned = public(issuer.key) | {"alg": "PS256", "kid": "pinned"}
    secret = {"kty": "oct", "k": "c2VjcmV0", "kid": "secret"}
    broken = {"kty": "RSA", "n": "!", "e": 3, "kid": "broken"}
    issuer.keys = {"keys": [public(weak), public(curve), encrypts, pinned, secret, broken, "no key"]}
    for name in ("weak", "curve", "encrypts", "pinned", "secret", "broken"):
        signer = weak if name == "weak" else issuer.key
        with pytest.raises(BadTokenError, match="not signed by a key"):
            await issuer.provider.verify(issuer.token(signer, {"kid": name}))


async def test_made_up_names_of_keys_do_not_have_the_provider_asked_again(issuer: ScriptedIssuer) -> None:
    await issuer.provider.verify(issuer.token())
    for number in range(50):
        with pytest.raises(BadTokenError):
            await issuer.provider.verify(issuer.token(a_token_key, {"kid": f"made-up-{number}"}))
    assert issuer.asked.count("/keys") == 1


a_token_key = a_key()


async def test_new_keys_are_found_and_old_ones_end(issuer: ScriptedIssuer) -> None:
    old = issuer.token()
    await issuer.provider.verify(old)
    fresh = a_key()
    issuer.keys = {"keys": [public(fresh)]}
    await issuer.clock.advance(11.0)
    await issuer.provider.verify(issuer.token(fresh))
    with pytest.raises(BadTokenError, match="not signed by a key"):
        await issuer.provider.verify(old)


async def test_while_the_provider_is_away_its_keys_count_for_an_hour(issuer: ScriptedIssuer) -> None:
    token = issuer.token()
    await issuer.provider.verify(token)
    issuer.answers["/keys"] = refusing(500)
    await issuer.clock.advance(3000.0)
    assert (await issuer.provider.verify(token))["sub"] == "1"
    await issuer.clock.advance(3000.0)
    with pytest.raises(ProviderUnavailableError):
        await issuer.provider.verify(token)


def refusing(status: int, **headers: str):
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers=headers)

    return answer


async def huge(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for _ in range(10_000):
        await answer.write(b'{"keys": []' + b" " * 10_000)
    return answer


async def slow(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    while True:
        await answer.write(b" ")
        await asyncio.sleep(0.05)


async def packed(_: web.Request) -> web.StreamResponse:
    return web.Response(body=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(huge, id="huge"),
        pytest.param(slow, id="slow"),
        pytest.param(packed, id="packed"),
        pytest.param(refusing(404), id="absent"),
        pytest.param(refusing(302, Location="/elsewhere"), id="redirected"),
        pytest.param(refusing(307, Location="http://169.254.169.254/latest"), id="redirected to the cloud"),
        pytest.param(refusing(200), id="empty"),
    ],
)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
async def test_a_document_that_is_none_is_cut_and_nothing_else_is_asked(path: str, answer: Any) -> None:
    async with issuing(within_s=1.0 if answer is slow else 20.0) as issuer:
        issuer.answers[path] = answer
        with pytest.raises(ProviderUnavailableError):
            await issuer.provider.verify(issuer.token())
        assert "/elsewhere" not in issuer.asked


@pytest.mark.parametrize(
    "differs",
    [
        {"issuer": "https://other.example.com"},
        {"issuer": None},
        {"jwks_uri": "http://169.254.169.254/keys"},
        {"jwks_uri": "http://127.0.0.1:1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": ["http://127.0.0.1"]},
        {"token_endpoint": "https://elsewhere.example.com/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://user@127.0.0.1/auth"},
        {"token_endpoint": None},
    ],
    ids=str,
)
async def test_endpoints_elsewhere_are_not_asked(issuer: ScriptedIssuer, differs: dict[str, Any]) -> None:
    issuer.discovery = differs
    for ask in (issuer.provider.verify(issuer.token()), issuer.provider.login_address(ATTEMPT)):
        with pytest.raises(ProviderUnavailableError):
            await ask
    assert set(issuer.asked) == {"/.well-known/openid-configuration"}


async def test_a_code_is_redeemed_for_what_the_provider_says(issuer: ScriptedIssuer) -> None:
    issuer.id_token = issuer.token(aud=CLIENT, nonce="nonce")
    assert (await issuer.provider.redeem("code", ATTEMPT))["preferred_username"] == "ada"


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"nonce": ["nonce"]}, "nonce"),
        ({"azp": "other-client"}, "another client"),
        ({"aud": AUDIENCE}, "not good"),
        ({"aud": "other-client"}, "not good"),
    ],
    ids=str,
)
async def test_an_id_token_of_another_login_or_client_is_refused(
    issuer: ScriptedIssuer, claims: dict[str, Any], told: str
) -> None:
    issuer.id_token = issuer.token(**{"aud": CLIENT, "nonce": "nonce", **claims})
    with pytest.raises(BadTokenError, match=told):
        await issuer.provider.redeem("code", ATTEMPT)


async def test_a_code_that_is_refused_says_why_and_nothing_else(issuer: ScriptedIssuer) -> None:
    for body, told in (('{"error": "invalid_grant"}', "invalid_grant"), ('{"error": "<b>x"}', "without a reason")):

        async def answer(_: web.Request, body: str = body) -> web.StreamResponse:
            return web.Response(status=400, text=body)

        issuer.answers["/token"] = answer
        with pytest.raises(BadTokenError, match=f"refuses the login: {told}"):
            await issuer.provider.redeem("code", ATTEMPT)
    issuer.answers["/token"] = refusing(307, Location=f"{issuer.url}/elsewhere")
    with pytest.raises(ProviderUnavailableError):
        await issuer.provider.redeem("code", ATTEMPT)
    assert "/elsewhere" not in issuer.asked


async def test_a_token_for_this_client_is_no_bearers_unless_that_is_an_audience(issuer: ScriptedIssuer) -> None:
    with pytest.raises(BadTokenError):
        await issuer.provider.verify(issuer.token(aud=CLIENT, nonce="nonce"))
