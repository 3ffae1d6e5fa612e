"""An identity provider that knows what it was told to know, without a network."""

from dataclasses import dataclass, field

from shim.ports.identity_provider import BadTokenError, Claims, LoginAttempt, ProviderUnavailableError


@dataclass
class ScriptedProvider:
    """Implements `shim.ports.identity_provider.IdentityProvider`.

    Attributes:
        codes: Claims by the code that they are for; each is good once.
        tokens: Claims by token.
        known_tokens: Tokens whose keys are known.
        is_away: Whether it does not answer.
        redeemed: Logins for which a code was brought.
    """

    codes: dict[str, Claims] = field(default_factory=dict)
    tokens: dict[str, Claims] = field(default_factory=dict)
    known_tokens: set[str] = field(default_factory=set)
    is_away: bool = False
    redeemed: list[LoginAttempt] = field(default_factory=list)

    async def login_address(self, attempt: LoginAttempt) -> str:
        """A page of its own that has the state."""
        self._answer()
        return f"https://id.example.com/auth?state={attempt.state}"

    async def redeem(self, code: str, attempt: LoginAttempt) -> Claims:
        """The claims of a code, once."""
        self._answer()
        self.redeemed.append(attempt)
        if code not in self.codes:
            raise BadTokenError("the identity provider refuses the login: invalid_grant")
        return self.codes.pop(code)

    def known(self, token: str) -> Claims | None:
        """The claims of a token, if its key is known."""
        return self.tokens.get(token) if token in self.known_tokens else None

    async def verify(self, token: str) -> Claims:
        """The claims of a token."""
        self._answer()
        if token not in self.tokens:
            raise BadTokenError("the token is not good")
        return self.tokens[token]

    async def logout_address(self) -> str:
        """A page of its own."""
        self._answer()
        return "https://id.example.com/end"

    def _answer(self) -> None:
        if self.is_away:
            raise ProviderUnavailableError("the identity provider is not reached")
