"""OpenID Connect put together: from `[security.oidc]` to what names callers and logs browsers in."""

import ssl
from dataclasses import dataclass

from adapters.oidc import OpenIDProvider, ProviderSettings, load_library
from adapters.oidc.documents import Documents
from adapters.oidc.tokens import TokenRules
from shim.app.host_limits import read_secret
from shim.app.settings import claim_rules
from shim.config.oidc import OIDCConfig
from shim.config.roles import RolesConfig
from shim.errors import ConfigError
from shim.identity.provider_claims import ClaimRules
from shim.identity.sessions import Sessions
from shim.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class ProviderLogin:
    """An identity provider, and what Heddle makes of what it says."""

    provider: OpenIDProvider
    claims: ClaimRules
    sessions: Sessions
    config: OIDCConfig

    @property
    def url(self) -> str:
        """Address by which browsers reach Heddle."""
        return self.config.url.rstrip("/")


def open_provider(config: OIDCConfig, roles: RolesConfig, clock: Clock, sessions: Sessions) -> ProviderLogin | None:
    """The identity provider that is configured; None for none. It is not asked before somebody logs in.

    Raises:
        ConfigError: If the library is missing, or a file cannot be used.
    """
    if not config.issuer:
        return None
    load_library()
    rules = TokenRules(config.issuer, frozenset(config.algorithms), config.leeway_s)
    settings = ProviderSettings(
        rules,
        client_id=config.client_id,
        client_secret=_client_secret(config),
        redirect_url=f"{config.url.rstrip('/')}/oidc/callback",
        home_url=f"{config.url.rstrip('/')}/console/",
        scopes=config.scopes,
        audiences=frozenset(config.audiences),
        hosts=frozenset(each.lower() for each in config.endpoint_hosts),
    )
    provider = OpenIDProvider(settings, Documents(_tls(config)), clock)
    return ProviderLogin(provider, claim_rules(config, roles), sessions, config)


def _client_secret(config: OIDCConfig) -> str:
    if config.client_secret_file is None:
        return ""
    key = "security.oidc.client_secret_file"
    try:
        return read_secret(config.client_secret_file, key=key).decode("ascii").strip()
    except UnicodeDecodeError as exc:
        raise ConfigError(str(config.client_secret_file), key, "is no text") from exc


def _tls(config: OIDCConfig) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
    except (OSError, ssl.SSLError) as exc:
        raise ConfigError(str(config.ca_file), "security.oidc.ca_file", f"cannot be used: {exc}") from exc
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
