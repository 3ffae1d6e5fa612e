"""Identity providers by OpenID Connect, with PyJWT, the optional extra `oidc`."""

from adapters.oidc.library import load_library
from adapters.oidc.provider import OpenIDProvider, ProviderSettings

__all__ = ["OpenIDProvider", "ProviderSettings", "load_library"]
