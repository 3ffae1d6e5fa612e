"""Logins at a server of Hadoop RPC: tickets and tokens that Heddle issued are checked, names are believed.

Names are not believed where Kerberos is on, unless that is configured.

Source: `org.apache.hadoop.ipc.Server.Connection.processConnectionContext`, `ClientRMService`.
"""

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shim.errors import GroupsUnknownError, StoreError, UnavailableError, UserError
from shim.identity.delegation_tokens import DelegationTokenError, DelegationTokens
from shim.identity.principals import PrincipalRules
from shim.identity.service import Caller, IdentityService
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    ContextReceived,
    Failure,
    JavaClass,
    LoginProven,
    QualityOfProtection,
    RPCErrorCode,
    SASLError,
    SASLOffer,
    SASLSession,
)
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES, DigestMD5Server

_UNAUTHORIZED = RPCErrorCode.UNAUTHORIZED


class TicketRequiredError(UserError):
    """A call that only a caller with a ticket may make."""


@dataclass(frozen=True, slots=True)
class TicketLogin:
    """Login of clients by ticket.

    Attributes:
        host: Its second part.
    """

    service: str
    host: str
    start: Callable[[], SASLSession]
    principals: PrincipalRules
    qualities: Sequence[QualityOfProtection]
    allow_simple: bool = False


@dataclass(frozen=True, slots=True)
class _Claim:
    """Sender of a call, and the user it is for: without an `effective` for itself.

    Attributes:
        asked_by: Who asked for the token; a proxy user may have. Its leave was checked then, as Hadoop has it.
    """

    real: str
    effective: str | None = None
    has_ticket: bool = False
    asked_by: str = ""


class _MismatchError(UserError):
    """A client claims to be somebody else than its token."""


class Logins:
    """Names the callers of a server.

    Args:
        tokens: Heddle's delegation tokens; None at a server that takes none.
        kerberos: How clients log in by ticket; None where names are believed.
    """

    def __init__(
        self,
        identity: IdentityService,
        tokens: DelegationTokens | None = None,
        kerberos: TicketLogin | None = None,
    ) -> None:
        self._identity = identity
        self._tokens = tokens
        self._kerberos = kerberos
        self._qualities = kerberos.qualities if kerberos is not None else (QualityOfProtection.AUTH,)
        self._claims: Mapping[AuthMethod, Callable[[ContextReceived], _Claim]] = {
            AuthMethod.SIMPLE: _by_name,
            AuthMethod.TOKEN: self._by_token,
            AuthMethod.KERBEROS: self._by_ticket,
        }

    def offers(self) -> Sequence[SASLOffer]:
        """Offers of a ResourceManager, in its order."""
        offers: list[SASLOffer] = []
        if self._tokens is not None:
            offers.append(SASLOffer(AuthMethod.TOKEN, "", "default", self._token_session, needs_verdict=True))
        kerberos = self._kerberos
        if kerberos is not None:
            offers.append(SASLOffer(AuthMethod.KERBEROS, kerberos.service, kerberos.host, kerberos.start))
        if kerberos is None or kerberos.allow_simple:
            offers.append(SIMPLE_OFFER)
        return tuple(offers)

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        """Name the caller; a token speaks for its owner alone, a proxy user needs leave.

        Raises:
            GroupsUnknownError: The groups of whom it acts for decide, and can be awaited.
        """
        try:
            claim = self._claims[context.method](context)
            caller = self._identity.identify(
                user_name=claim.real or None, do_as=claim.effective, cookie=None, address=address
            )
        except _MismatchError as exc:
            return Failure(JavaClass.ACCESS_CONTROL, str(exc), _UNAUTHORIZED)
        except UserError as exc:
            return Failure(JavaClass.AUTHORIZATION, str(exc), _UNAUTHORIZED)
        except GroupsUnknownError:
            raise
        except UnavailableError as exc:
            return Failure(JavaClass.RETRIABLE, str(exc), _UNAUTHORIZED)
        if claim.asked_by:
            return replace(caller, real_user=claim.asked_by)
        return replace(caller, has_ticket=True) if claim.has_ticket else caller

    def judge_at_once(self, proven: LoginProven) -> bool | Failure | None:
        """Verdict on a client's token: True if it is good, the reason if not, None where the store has to tell."""
        assert self._tokens is not None  # noqa: S101 - offered only with tokens
        return self._tokens.is_known_good(base64.b64decode(proven.identity)) or None

    async def judge(self, proven: LoginProven) -> Failure | None:
        """Reason why a client's token is not good; None if it is."""
        assert self._tokens is not None  # noqa: S101 - offered only with tokens
        try:
            await self._tokens.check(base64.b64decode(proven.identity))
        except DelegationTokenError as exc:
            return Failure(JavaClass.INVALID_TOKEN, str(exc), _UNAUTHORIZED)
        except StoreError as exc:
            # nobody can tell: clients try again
            return Failure(JavaClass.RETRIABLE, str(exc), _UNAUTHORIZED)
        return None

    # -- claims ------------------------------------------------------------------------------------------------------

    def _by_token(self, context: ContextReceived) -> _Claim:
        assert self._tokens is not None  # noqa: S101 - offered only with tokens
        owner, effective = self._tokens.owner_of(base64.b64decode(context.identity)), context.effective_user_untrusted
        if effective not in ("", owner.user):
            text = f"Authenticated user ({owner.user}) doesn't match what the client claims to be ({effective})"
            raise _MismatchError(text)
        return _Claim(owner.user, asked_by=owner.real_user)

    def _by_ticket(self, context: ContextReceived) -> _Claim:
        """Java's clients claim to be their whole principal; a proxy user claims to be whom it acts for."""
        assert self._kerberos is not None  # noqa: S101 - offered only with Kerberos
        principals, effective = self._kerberos.principals, context.effective_user_untrusted
        user = principals.user_of(context.identity)
        if effective in ("", context.identity, user):
            return _Claim(user, has_ticket=True)
        return _Claim(user, principals.name_of(effective), has_ticket=True)

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _token_session(self) -> DigestMD5Server:
        nonce = base64.b64encode(os.urandom(NONCE_BYTES)).decode()
        return DigestMD5Server(self._password_of, nonce, self._qualities, others=self._other_passwords_of)

    def _password_of(self, identifier: bytes) -> bytes:
        assert self._tokens is not None  # noqa: S101 - offered only with tokens
        try:
            return self._tokens.password_of(identifier)
        except DelegationTokenError as exc:
            raise SASLError(str(exc), java_class=JavaClass.INVALID_TOKEN) from exc

    def _other_passwords_of(self, identifier: bytes) -> Sequence[bytes]:
        assert self._tokens is not None  # noqa: S101 - as above
        return self._tokens.other_passwords_of(identifier)  # `_password_of` has read the identifier


def _by_name(context: ContextReceived) -> _Claim:
    effective, real = context.effective_user_untrusted, context.real_user_untrusted
    return _Claim(real, effective) if real else _Claim(effective)
