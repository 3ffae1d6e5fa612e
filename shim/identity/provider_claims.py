"""Users that an identity provider tells of: from the claims of a token to a user name and groups."""

from dataclasses import dataclass, field

from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import UserError
from shim.ports.identity_provider import Claims

_MOST_GROUPS = 10_000


class UnusableClaimsError(UserError):
    """A token that is good, and names nobody who can be a user here."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


@dataclass(frozen=True, slots=True)
class ClaimedUser:
    """A user and those of his groups that count."""

    user: str
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """Meaning of claims.

    Attributes:
        groups_claim: Lists groups; empty for none.
        user_domains: Cut off a name; any other domain, host or realm makes it none.
        known_groups: The groups that roles are given to: all others are left out.
    """

    user_claim: str
    groups_claim: str
    groups_prefix: str
    user_domains: frozenset[str] = frozenset()
    known_groups: frozenset[str] = field(default_factory=frozenset)

    def user_of(self, claims: Claims) -> ClaimedUser:
        """The user that claims tell of.

        Raises:
            UnusableClaimsError: If they name nobody who can be a user here.
        """
        return ClaimedUser(self._name(claims), self._groups(claims))

    def _name(self, claims: Claims) -> str:
        name_untrusted = claims.get(self.user_claim)
        if not isinstance(name_untrusted, str):
            raise UnusableClaimsError(f"the identity provider tells no {self.user_claim}")
        if self.user_claim == "email" and claims.get("email_verified") is not True:
            raise UnusableClaimsError("the identity provider has not verified the address that names the user")
        name, at, domain = name_untrusted.rpartition("@")
        if at and domain.lower() not in self.user_domains:
            raise UnusableClaimsError("the user's name has a domain that is none of security.oidc.user_domains")
        short = name if at else domain
        try:
            if canonical_user(short) == short:
                return short
        except MalformedUserNameError as exc:
            raise UnusableClaimsError(f"the identity provider's name for the user is none here: {exc}") from exc
        raise UnusableClaimsError("the identity provider's name for the user has a host or a realm")

    def _groups(self, claims: Claims) -> frozenset[str]:
        if not self.groups_claim:
            return frozenset()
        told = claims.get(self.groups_claim, ())
        listed = [told] if isinstance(told, str) else told
        if not isinstance(listed, (list, tuple)) or len(listed) > _MOST_GROUPS:
            raise UnusableClaimsError(f"{self.groups_claim} of the identity provider is no list of groups")
        named = {f"{self.groups_prefix}{each}" for each in listed if isinstance(each, str)}
        return self.known_groups & named
