"""User of a Kerberos principal: its first part, if its realm is one of ours.

This is the rule `DEFAULT` of Hadoop's `hadoop.security.auth_to_local`, for one realm or several; there are no other
rules.

Source: `org.apache.hadoop.security.authentication.util.KerberosName`, `AbstractDelegationTokenIdentifier.setRenewer`.
"""

import re
from dataclasses import dataclass

from shim.errors import UserError

_PRINCIPAL = re.compile(r"([^/@\\\s]+)(?:/[^/@\\\s]+)?@([^/@\\\s]+)")
_SHORT = re.compile(r"[^/@]*")


class ForeignPrincipalError(UserError):
    """A principal that is no user here."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authorize.AuthorizationException"


@dataclass(frozen=True, slots=True)
class PrincipalRules:
    """Rules on principals that are users."""

    realms: frozenset[str]

    def user_of(self, principal: str) -> str:
        """The user that `name@REALM` or `name/host@REALM` is.

        Raises:
            ForeignPrincipalError: If the realm is not one of ours, or the name is no such name.
        """
        found = _PRINCIPAL.fullmatch(principal)
        if found is None:
            raise ForeignPrincipalError(f"{principal} is no principal of a user: name@REALM or name/host@REALM is")
        if found[2] not in self.realms:
            raise ForeignPrincipalError(
                f"No rules applied to {principal}: its realm is none of {', '.join(sorted(self.realms))} "
                "(security.kerberos.realms)"
            )
        return found[1]

    def name_of(self, name_or_principal: str) -> str:
        """The same, where a name without a realm may stand for itself.

        Raises:
            ForeignPrincipalError: As `user_of`.
        """
        if _SHORT.fullmatch(name_or_principal):
            return name_or_principal
        return self.user_of(name_or_principal)
