"""An identity provider: who logs browsers in, and signs tokens that tell of users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shim.errors import UnavailableError, UserError

Claims = Mapping[str, Any]
"""What a verified token says; the values are the provider's, whatever their types."""


class BadTokenError(UserError):
    """A token that is not the provider's, not for Heddle, or not good any more."""

    http_status = 401
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class ProviderUnavailableError(UnavailableError):
    """The provider does not answer, or answers what is no answer."""


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login that was begun; all of it is secret but to the browser that began it.

    Attributes:
        state: Comes back with the browser.
        nonce: Comes back in the token.
        verifier: Proves to the provider who began it (PKCE, RFC 7636).
        back_to: Where the browser goes after the login: a path here.
    """

    state: str
    nonce: str
    verifier: str
    back_to: str


class IdentityProvider(Protocol):
    """A provider by OpenID Connect; `adapters.oidc.OpenIDProvider` is one."""

    async def login_address(self, attempt: LoginAttempt) -> str:
        """Address where a browser logs in.

        Raises:
            ProviderUnavailableError: If the provider does not tell.
        """
        ...

    async def redeem(self, code: str, attempt: LoginAttempt) -> Claims:
        """Claims of the user by the provider, for the code that a browser brought back.

        Raises:
            BadTokenError: If the provider refuses the code, or its token is not good.
            ProviderUnavailableError: If it does not answer.
        """
        ...

    def known(self, token: str) -> Claims | None:
        """Claims of a token that a bearer shows; None if the provider has to be asked for its keys first.

        Raises:
            BadTokenError: If the token is not good.
        """
        ...

    async def verify(self, token: str) -> Claims:
        """Claims of a token that a bearer shows.

        Raises:
            BadTokenError: If the token is not good.
            ProviderUnavailableError: If its key cannot be had.
        """
        ...

    async def logout_address(self) -> str:
        """Address where a browser ends its login at the provider; empty for nowhere."""
        ...
