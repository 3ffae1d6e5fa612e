"""The section `[security.oidc]` of the configuration."""

# ruff: noqa: RUF009 - `key` describes a field, as dataclasses.field does

from dataclasses import dataclass
from pathlib import Path

from shim.config.tree import Key, key

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the holder of a private key makes."""

_LOOPBACK = r"http://(127\.0\.0\.1|\[::1\]|localhost)"
_ADDRESS = rf"(https://[^\s/?#@\\]+|{_LOOPBACK}(:[0-9]{{1,5}})?)"
_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"


@dataclass(frozen=True, slots=True)
class OIDCConfig:
    """OpenID Connect for the console and the web services. Needs the extra `oidc`; names are not believed then."""

    issuer: str = key(
        "",
        about=Key(
            "Address of the identity provider, as its tokens name it (`iss`). Empty: none.",
            pattern=rf"({_ADDRESS}(/[^\s?#]*)?)?",
            form='the address of an issuer by https; write "https://id.example.com/realms/main"',
        ),
    )
    client_id: str = key("", about=Key("Heddle's name at the provider.", pattern=r"[\x20-\x7e]{0,256}", form="a name"))
    client_secret_file: Path | None = key(
        None, about=Key("File (mode 0600), or `env:NAME`, with its secret; without it Heddle is a public client.")
    )
    url: str = key(
        "",
        about=Key(
            "Address by which browsers reach Heddle: `URL/oidc/callback` is what the provider sends them back to.",
            pattern=rf"({_ADDRESS}/?)?",
            form='a web address by https; write "https://heddle.example.com:8088"',
        ),
    )
    scopes: tuple[str, ...] = key(
        ("openid",),
        about=Key(
            "What is asked for at a login, `openid` among it; `groups` or `profile` where claims need that.",
            pattern=r"[\x21\x23-\x5b\x5d-\x7e]+",
            form="a scope",
        ),
    )
    audiences: tuple[str, ...] = key(
        (),
        about=Key(
            "Programs may show tokens of the issuer (`Authorization: Bearer`) that are for one of these (`aud`). None: "
            "only browsers log in."
        ),
    )
    algorithms: tuple[str, ...] = key(
        ("RS256", "ES256"), about=Key("How tokens may be signed; by public keys alone.", choices=ALGORITHMS)
    )
    user_claim: str = key("preferred_username", about=Key("The claim that names the user."))
    user_domains: tuple[str, ...] = key(
        (),
        about=Key(
            "Domains that are cut off a name: of `alice@example.com` stays `alice`. Names of others are refused.",
            pattern=_DOMAIN,
            form='a domain; write "example.com"',
        ),
    )
    groups_claim: str = key("groups", about=Key("The claim that lists groups, for `security.roles`; empty for none."))
    groups_prefix: str = key(
        "oidc:",
        about=Key(
            "Stands before each of them, so that nobody has a group of this machine by a claim: `group:oidc:ops`.",
            pattern=r"[^\s,;=*]{0,64}",
            form="a short text without blanks",
        ),
    )
    endpoint_hosts: tuple[str, ...] = key(
        (),
        about=Key(
            "Hosts besides the issuer's own that its endpoints may be at, such as `oauth2.googleapis.com`.",
            pattern=_DOMAIN,
            form='a host; write "oauth2.example.com"',
        ),
    )
    ca_file: Path | None = key(None, about=Key("CAs of the provider, in PEM form; the machine's without it."))
    leeway_s: float = key(30.0, about=Key("How far its clock may be off.", least=0, most=300))
    bind_address: bool = key(
        True,  # noqa: FBT003 - a default
        about=Key(
            "Whether a login must end at the network address at which it began, so that one that somebody else has "
            "begun is worth nothing in another's browser. Turn it off where a balancer lets one browser come from "
            "several addresses, and tells nothing of it (`X-Forwarded-For`)."
        ),
    )
    session_s: float = key(28800.0, about=Key("How long a browser stays logged in.", least=60, most=86400))
