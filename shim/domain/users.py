"""Names of users: whatever form a caller writes, one canonical short name comes out, or nothing.

A ResourceManager that trusts client-supplied names keeps the first component of a Kerberos principal:

    alice              alice
    alice@REALM        alice
    alice/host         alice
    alice/host@REALM   alice
    @REALM, alice@     refused

Heddle decides (limits, mappings, access lists, audit) on the same name, and sends that name on. It takes fewer names
than a ResourceManager does: one that no account system hands out, and that means something else in a list of users,
in a path or in a header, is refused.

Source: `org.apache.hadoop.security.authentication.util.KerberosName` with the rules `RULE:[1:$1] RULE:[2:$1]` that
`HadoopKerberosName` sets without Kerberos; account names of Active Directory and POSIX.
"""

import re

LONGEST_USER_NAME = 256
"""Characters of a short name."""

LONGEST_PRINCIPAL = 1024
"""Characters of a name as it comes in, host and realm included."""

_CHARACTER = r'[^/@&:;,"\\\[\]|=+*?<>#\x00-\x1f\x7f\ufffd]'
USER_NAME = rf"(?![-\s])(?!\.{{1,2}}\Z){_CHARACTER}{{1,{LONGEST_USER_NAME}}}(?<!\s)"
"""Regular expression of a short name, for configuration keys."""

_PARTS = re.compile(r"([^/@]+)(?:/[^/@]+)?(?:@[^/@]+)?")
_SHORT = re.compile(USER_NAME)


class MalformedUserNameError(ValueError):
    """A text that names no user."""


def canonical_user(text_untrusted: str) -> str:
    """The short name of the user that a text names.

    Raises:
        MalformedUserNameError: If a ResourceManager would refuse the text, or the short name is too long or has a
            character that names cannot have.
    """
    if len(text_untrusted) > LONGEST_PRINCIPAL:
        raise MalformedUserNameError(f"a user name has at most {LONGEST_PRINCIPAL} characters with host and realm")
    parts = _PARTS.fullmatch(text_untrusted)
    if parts is None:
        raise MalformedUserNameError("a user name is NAME, NAME/HOST, NAME@REALM or NAME/HOST@REALM")
    name = parts[1]
    if _SHORT.fullmatch(name) is None or not text_untrusted.isprintable():
        raise MalformedUserNameError(
            f"a user name has at most {LONGEST_USER_NAME} printable characters, none of them one of "
            '/ @ & : ; , " \\ [ ] | = + * ? < > #, no blank at an end and no dash at the beginning'
        )
    return name
