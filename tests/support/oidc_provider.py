"""A certified OpenID provider (npm's `oidc-provider`) as a process, on a loopback port."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.doubles.postgresql import free_addresses

_REPOSITORY = Path(__file__).resolve().parents[2]
_MODULES = _REPOSITORY / ".heddle" / "tools" / "oidc"
_SECRET = "0123456789abcdef0123456789abcdef"


def missing_provider() -> str:
    """Why the provider cannot run here; empty if it can."""
    if shutil.which("node") is None:
        return "no Node"
    return "" if (_MODULES / "node_modules" / "oidc-provider").is_dir() else "no oidc-provider: make setup"


def a_key() -> Mapping[str, Any]:
    """A new private key for signatures, as a JWK with a name."""
    made = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True)
    return {**made, "kid": uuid.uuid4().hex, "use": "sig", "alg": "RS256"}


class OIDCProvider:
    """A context manager; any account logs in by its name.

    Args:
        heddle: Address of Heddle, as browsers reach it.
        groups: By account.
        resource: Audience of the access tokens that the clients `robot` and `other-robot` get for themselves.

    Attributes:
        issuer: Its address and name.
        client_secret: Of the clients `heddle`, `robot` and `other-robot`.
    """

    def __init__(self, heddle: str, *, groups: Mapping[str, Sequence[str]], resource: str) -> None:
        (address,) = free_addresses(1)
        self.issuer = f"http://{address}"
        self.client_secret = _SECRET
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = {
            "issuer": self.issuer,
            "port": int(address.rpartition(":")[2]),
            "groups": groups,
            "resource": resource,
            "clients": [
                {
                    "client_id": "heddle",
                    "client_secret": _SECRET,
                    "grant_types": ["authorization_code"],
                    "redirect_uris": [f"{heddle}/oidc/callback"],
                    "post_logout_redirect_uris": [f"{heddle}/console/"],
                },
                *(
                    {
                        "client_id": name,
                        "client_secret": _SECRET,
                        "grant_types": ["client_credentials"],
                        "redirect_uris": [],
                        "response_types": [],
                    }
                    for name in ("robot", "other-robot")
                ),
            ],
        }

    def __enter__(self) -> Self:
        self.start(a_key())
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *keys: Mapping[str, Any]) -> None:
        """Run with these keys; the first one signs."""
        told = json.dumps({**self._settings, "keys": keys})
        variables = {**os.environ, "HEDDLE_PROVIDER": told, "HEDDLE_PROVIDER_MODULES": str(_MODULES)}
        script = _REPOSITORY / "tests" / "support" / "oidc" / "provider.mjs"
        self._process = subprocess.Popen(
            ["node", str(script)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def access_token(self, client: str, resource: str | None = None) -> str:
        """What a client gets for itself: a token for the default audience, or another one."""
        form = {"grant_type": "client_credentials"} | ({} if resource is None else {"resource": resource})
        answer = httpx.post(f"{self.issuer}/token", data=form, auth=(client, _SECRET), trust_env=False, timeout=30)
        token: str = answer.raise_for_status().json()["access_token"]
        return token
