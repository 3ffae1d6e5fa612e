"""Identity providers by OpenID Connect, with PyJWT, the optional extra `oidc`."""

from adapters.oidc.keys import load_library
from adapters.oidc.provider import OpenIDProvider, ProviderSettings

__all__ = ["OpenIDProvider", "ProviderSettings", "load_library"]
