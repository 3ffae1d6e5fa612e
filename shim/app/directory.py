"""The directory of `[security.ldap]` put together: who asks it for groups, and the doctor's look at it."""

import asyncio

from adapters.ldap import DirectorySettings, LDAPGroups, compared
from shim.app.groups import GroupDirectory, group_directory
from shim.app.host_limits import read_password
from shim.config.ldap import LDAPConfig
from shim.errors import ConfigError, UnavailableError

_LOOKS_FOR_S = 10.0


def open_groups(config: LDAPConfig) -> GroupDirectory:
    """Open what tells the groups of users: the directory that is configured, else this machine.

    Raises:
        ConfigError: If the library is missing, or the password cannot be read.
    """
    return GroupDirectory(_lookup(config)) if config.urls else group_directory()


async def directory_trouble(config: LDAPConfig) -> str | None:
    """Say why the directory cannot be asked; empty if it can, None if there is none."""
    if not config.urls:
        return None
    try:
        async with asyncio.timeout(_LOOKS_FOR_S):
            await asyncio.to_thread(_lookup(config).check)
    except (UnavailableError, ConfigError) as exc:  # the file of its password may have changed since the start
        return str(exc)
    except TimeoutError:
        return f"it has not answered within {_LOOKS_FOR_S:g} s"
    return ""


def _lookup(config: LDAPConfig) -> LDAPGroups:
    if not compared(config.user_filter):
        message = "compares no attribute with {user}, as (uid={user}) does: whose entry it finds could not be told"
        raise ConfigError("the configuration", "security.ldap.user_filter", message)
    password = config.bind_password_file
    return LDAPGroups(
        DirectorySettings(
            urls=config.urls,
            start_tls=config.start_tls,
            ca_file=config.ca_file,
            bind_dn=config.bind_dn,
            password="" if password is None else read_password(password, key="security.ldap.bind_password_file"),
            user_base=config.user_base,
            user_filter=config.user_filter,
            group_base=config.group_base or config.user_base,
            group_filter=config.group_filter,
            group_name=config.group_name,
            levels=config.levels,
            timeout_s=config.timeout_s,
        )
    )
