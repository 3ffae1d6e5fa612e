"""The library PyJWT, loaded when an identity provider is first used."""

import importlib
from typing import Any

from shim.errors import ConfigError

__all__ = ["load_library"]


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
