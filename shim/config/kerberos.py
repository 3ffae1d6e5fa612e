"""The section `[security.kerberos]` of the configuration."""

# ruff: noqa: RUF009 - `key` describes a field, as dataclasses.field does

from dataclasses import dataclass
from pathlib import Path

from shim.config.tree import Key, key

_NAME = r"[^\s/@\\]+"
SERVICE_PRINCIPAL = rf"{_NAME}/{_NAME}@{_NAME}"
"""What `service/host@REALM` looks like."""


@dataclass(frozen=True, slots=True)
class KerberosConfig:
    """Kerberos for clients and operators, over Hadoop RPC and the web services. Needs the extra `kerberos`."""

    principal: str = key(
        "",
        about=Key(
            "As which service Heddle accepts clients: their `yarn.resourcemanager.principal`. `_HOST` stands for this "
            "machine's full name. Empty: names are believed.",
            pattern=rf"({SERVICE_PRINCIPAL})?",
            form='a service\'s principal; write "rm/_HOST@REALM"',
        ),
    )
    keytab: Path | None = key(None, about=Key("File (mode 0600) with the principal's key."))
    web_principal: str = key(
        "",
        about=Key(
            "As which service Heddle accepts callers of its web services and pages (SPNEGO): `HTTP` and the name by "
            "which they call it. Tickets, the cookies that they give, and delegation tokens count then, and "
            "`user.name` does not. Empty: the web services believe names.",
            pattern=rf"(HTTP/{_NAME}@{_NAME})?",
            form='the principal of a web service; write "HTTP/_HOST@REALM"',
        ),
    )
    web_keytab: Path | None = key(None, about=Key("File (mode 0600) with its key; without it, `keytab` has it."))
    realms: tuple[str, ...] = key(
        (),
        about=Key(
            "Further realms whose principals are users here, beside that of `principal`. The user is the first part of "
            "a principal, as by the rule `DEFAULT` of Hadoop's `hadoop.security.auth_to_local`; there are no others.",
            pattern=_NAME,
            form='a realm; write "EXAMPLE.COM"',
        ),
    )
    protection: tuple[str, ...] = key(
        ("authentication",),
        about=Key(
            "What protects calls after the login, most wanted first: nothing, a signature, or encryption, as Hadoop's "
            "`hadoop.rpc.protection` has it; of logins by delegation token, too.",
            choices=("authentication", "integrity", "privacy"),
        ),
    )
    allow_simple: bool = key(
        default=False,
        about=Key("Whether clients without a ticket come in, too, believed by name: while you change over."),
    )
