"""Who may come in at a door of Hadoop RPC: names are believed, tokens that Heddle issued are checked."""

import base64
import os
from collections.abc import Sequence

from shim.errors import UserError
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    ContextReceived,
    Failure,
    JavaClass,
    Offer,
    RPCErrorCode,
    SASLError,
)
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES, DigestMD5Server
from shim.services.delegation_tokens import DelegationTokenError, DelegationTokens
from shim.services.identity import Caller, IdentityService

__all__ = ["Logins"]

_UNAUTHORIZED = RPCErrorCode.UNAUTHORIZED


class Logins:
    """Names the callers of a door.

    Args:
        identity: Who may act for whom.
        tokens: Heddle's delegation tokens; None at a door that takes none.
    """

    def __init__(self, identity: IdentityService, tokens: DelegationTokens | None = None) -> None:
        self._identity = identity
        self._tokens = tokens

    def offers(self) -> Sequence[Offer]:
        """What a ResourceManager without Kerberos offers."""
        if self._tokens is None:
            return (SIMPLE_OFFER,)
        return (Offer(AuthMethod.TOKEN, "", "default", self._token_session), SIMPLE_OFFER)

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        """Name the caller; a token speaks for its owner alone, a proxy user needs leave."""
        effective, real = context.effective_user_untrusted, context.real_user_untrusted
        try:
            if context.method is AuthMethod.TOKEN and self._tokens is not None:
                owner = self._tokens.owner_of(base64.b64decode(context.identity))
                if effective not in ("", owner):
                    text = f"Authenticated user ({owner}) doesn't match what the client claims to be ({effective})"
                    return Failure(JavaClass.ACCESS_CONTROL, text, _UNAUTHORIZED)
                effective, real = owner, ""
            return self._identity.identify(
                user_name=real or effective or None, do_as=effective if real else None, cookie=None, address=address
            )
        except UserError as exc:
            return Failure(JavaClass.AUTHORIZATION, str(exc), _UNAUTHORIZED)

    def _token_session(self) -> DigestMD5Server:
        return DigestMD5Server(self._password_of, base64.b64encode(os.urandom(NONCE_BYTES)).decode())

    def _password_of(self, identifier: bytes) -> bytes:
        assert self._tokens is not None  # noqa: S101 - offered only with tokens
        try:
            return self._tokens.password_of(identifier)
        except DelegationTokenError as exc:
            raise SASLError(str(exc), java_class=JavaClass.INVALID_TOKEN) from exc
