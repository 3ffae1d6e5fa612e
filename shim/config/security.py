"""The section `[security]` of the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from shim.config.kerberos import KerberosConfig
from shim.config.ldap import LDAPConfig
from shim.config.masters import WHILE_CHANGED
from shim.config.oidc import OIDCConfig
from shim.config.roles import GROUP_OVERRIDES, RolesConfig
from shim.config.tree import Key, key, section
from shim.domain.users import USER_NAME

# The section `[security.delegation_tokens]` of the configuration.

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class DelegationTokensConfig:
    """Lives of the delegation tokens that Heddle issues; the defaults are a ResourceManager's."""

    renewal_s: float = key(
        _DAY_S,
        about=Key(
            "How long a token is good from its issue, and from each renewal, as "
            "`yarn.resourcemanager.delegation.token.renew-interval` has it.",
            least=1,
        ),
    )
    lifetime_s: float = key(
        7 * _DAY_S,
        about=Key(
            "How long at most from its issue, as `yarn.resourcemanager.delegation.token.max-lifetime` has it.", least=1
        ),
    )


# ruff: noqa: RUF009 - `key` and `section` describe a field, as dataclasses.field does


USER_FORM = "a user name; write the short one, without host and realm"
_USERS = rf"{USER_NAME}|\*"
_USERS_FORM = f"{USER_FORM}, or *"


@dataclass(frozen=True, slots=True)
class ProxyUserConfig:
    """Rule of one service user, as Hadoop's `hadoop.proxyuser.USER.*`. `*` allows all, an empty list allows none."""

    hosts: tuple[str, ...] = key((), about=Key("Addresses or networks (`10.0.0.0/8`) that it calls from."))
    users: tuple[str, ...] = key(
        (),
        about=Key(
            "Users that it may act for; those of `admins` only by name, as `*` and `groups` do not reach them.",
            pattern=_USERS,
            form=_USERS_FORM,
        ),
    )
    groups: tuple[str, ...] = key((), about=Key("Groups of this machine whose members it may act for."))


def _no_proxy_users() -> Mapping[str, ProxyUserConfig]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """Rights of users."""

    allow_anonymous: bool = key(
        default=False,
        about=Key("Whether a changing call may come without a user; it then acts as `static_user`."),
    )
    static_user: str = key(
        "dr.who", about=Key("Whom a call without a user counts as.", pattern=USER_NAME, form=USER_FORM)
    )
    admins: tuple[str, ...] = key(
        (),
        about=Key(
            "Administrators, whatever `roles` says, beside the user that Heddle runs as, on its own machine; `*` for "
            "all.",
            pattern=_USERS,
            form=_USERS_FORM,
        ),
    )
    application_acls: bool = key(
        default=False,
        about=Key(
            "Whether applications are shown and changed by their access lists and their queues' `administer` alone, "
            "as with `yarn.acl.enable`; see [view rights](security/view-rights.md)."
        ),
    )
    roles: RolesConfig = section(RolesConfig, Key("Roles of users and groups."))
    group_overrides: str = key(
        "",
        about=Key(
            "Groups of users that are stated instead of asked for: `alice=analysts,ops;bob=`, as Hadoop's "
            "`hadoop.user.group.static.mapping.overrides`. Other users have those of this machine, or of `ldap`.",
            pattern=GROUP_OVERRIDES,
            form='groups of users; write "alice=analysts,ops;bob="',
        ),
    )
    proxyuser: Mapping[str, ProxyUserConfig] = section(
        _no_proxy_users, Key("`[security.proxyuser.NAME]`: the users whose `doAs` is believed.")
    )
    secret_file: Path | None = key(
        None,
        about=Key(
            "File (mode 0600) with the secret that signs `hadoop.auth` cookies; without it each start makes one. "
            "`env:NAME` takes it from that environment variable."
        ),
    )
    other_secret_file: Path | None = key(None, about=Key(WHILE_CHANGED))
    kerberos: KerberosConfig = section(KerberosConfig, Key("Kerberos."))
    oidc: OIDCConfig = section(OIDCConfig, Key("OpenID Connect."))
    ldap: LDAPConfig = section(LDAPConfig, Key("Groups from a directory."))
    delegation_tokens: DelegationTokensConfig = section(DelegationTokensConfig, Key("Delegation tokens."))
    cookie_validity_s: float = key(36000.0, about=Key("How long a `hadoop.auth` cookie is good.", least=1))
