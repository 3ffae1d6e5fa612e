"""The section `[security.ldap]` of the configuration."""

# ruff: noqa: RUF009 - `key` describes a field, as dataclasses.field does

from dataclasses import dataclass
from pathlib import Path

from shim.config.tree import Key, key
from shim.errors import ConfigError

_SERVER = r"ldaps?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?/?"
_LOOPBACK = ("ldap://127.0.0.1", "ldap://[::1]", "ldap://localhost")
_MOST_LEVELS = 10


def _filter_of(default: str, about: str) -> str:
    return key(  # type: ignore[no-any-return]
        default, about=Key(about, pattern=r"\(.{1,1022}\)", form="a filter in parentheses (RFC 4515)")
    )


@dataclass(frozen=True, slots=True)
class LDAPConfig:
    """Groups of users from a directory, instead of this machine's. Needs the extra `ldap`."""

    urls: tuple[str, ...] = key(
        (),
        about=Key(
            "Its servers, tried in turn. None: groups are those of this machine.",
            pattern=_SERVER,
            form='the address of a server; write "ldaps://ldap.example.com"',
        ),
    )
    start_tls: bool = key(
        default=True,
        about=Key("Whether to ask for TLS at `ldap://`. Without it, only servers on this machine may be asked."),
    )
    ca_file: Path | None = key(None, about=Key("CAs of the servers, in PEM form; the machine's without it."))
    bind_dn: str = key("", about=Key("The entry that Heddle logs in as; empty to ask as nobody."))
    bind_password_file: Path | None = key(None, about=Key("File (mode 0600), or `env:NAME`, with its password."))
    user_base: str = key("", about=Key("Users are looked for below this entry."))
    user_filter: str = _filter_of(
        "(&(objectClass=posixAccount)(uid={user}))",
        "Finds the entry of `{user}`. Active Directory: `(&(objectClass=user)(sAMAccountName={user}))`.",
    )
    group_base: str = key("", about=Key("Groups are looked for below this entry; empty: below `user_base`."))
    group_filter: str = _filter_of(
        "(|(&(objectClass=groupOfNames)(member={dn}))(&(objectClass=posixGroup)(memberUid={user})))",
        "Finds the groups that have the user, whose entry is `{dn}`. Active Directory: "
        "`(&(objectClass=group)(member={dn}))`.",
    )
    group_name: str = key("cn", about=Key("Attribute that names a group.", pattern=r"[A-Za-z][A-Za-z0-9.;-]{0,63}"))
    levels: int = key(
        0,
        about=Key("Groups of a user's groups count, too: so many levels.", least=0, most=_MOST_LEVELS),
    )
    timeout_s: float = key(5.0, about=Key("How long a server may take to answer.", least=0.1, most=60))


def check_ldap(ldap: LDAPConfig, source: str) -> None:
    """Check what keys mean together.

    Raises:
        ConfigError: If one is missing, or a password or rights would go over a network in clear.
    """
    if not ldap.urls:
        if ldap != LDAPConfig():
            raise ConfigError(source, "security.ldap.urls", "is missing, and the others mean nothing without it")
        return
    if not ldap.user_base:
        raise ConfigError(source, "security.ldap.user_base", "is missing: users are looked for below it")
    if "{user}" not in ldap.user_filter:
        raise ConfigError(source, "security.ldap.user_filter", "has no {user}: it would find anybody")
    if not any(place in ldap.group_filter for place in ("{user}", "{dn}")):
        raise ConfigError(source, "security.ldap.group_filter", "has neither {dn} nor {user}: it would find any group")
    if bool(ldap.bind_dn) != (ldap.bind_password_file is not None):
        missing = "bind_password_file" if ldap.bind_dn else "bind_dn"
        raise ConfigError(source, f"security.ldap.{missing}", "is missing: the entry and its password come together")
    for url in ldap.urls:
        if url.startswith("ldap://") and not ldap.start_tls and not _is_here(url):
            message = f"is false, and {url} is not on this machine: passwords and groups would go in clear"
            raise ConfigError(source, "security.ldap.start_tls", message)


def _is_here(url: str) -> bool:
    return any(url.rstrip("/") == each or url.startswith(f"{each}:") for each in _LOOPBACK)
