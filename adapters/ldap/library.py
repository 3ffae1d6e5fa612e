"""Loading of the library `ldap` (python-ldap), when a directory is first used."""

import importlib
from typing import Any

from shim.errors import ConfigError

__all__ = ["load_library"]


def load_library() -> Any:
    """Return the module `ldap`, with `ldap.filter`.

    Raises:
        ConfigError: If the extra, or the C library below it, is not installed.
    """
    try:
        importlib.import_module("ldap.filter")
        return importlib.import_module("ldap")
    except (ImportError, OSError) as exc:
        message = f"needs the library python-ldap ({exc}): pip install '.[ldap]', with libldap-dev of the system"
        raise ConfigError("the configuration", "security.ldap.urls", message) from exc
