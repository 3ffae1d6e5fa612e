"""Errors as a ResourceManager's web services word them: one place for every server that answers over HTTP."""

from dataclasses import replace

from shim.errors import HeddleError, StoreUnavailableError, UnavailableError
from shim.identity.api_tokens import BadAPITokenError
from shim.identity.provider_claims import UnusableClaimsError
from shim.identity.service import ForeignTokenError, ImpersonationError
from shim.ports.identity_provider import BadTokenError
from shim.protocol.rest.errors import RemoteException, remote_exception_of
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.bearer_tokens import BEARER_CHALLENGE
from shim.server.rest.callers import LoginRefusedError, TicketDemandedError
from shim.server.rest.messages import Answer, Headers, Request
from shim.server.rest.provider_callers import LoginDemandedError
from shim.server.rest.request_checks import representation_of

_BEARERS = (BadAPITokenError, BadTokenError, LoginDemandedError)


def refused(
    error: HeddleError, request: Request, writer: AnswerWriter, *, extra: Headers = (), cookie: str | None = None
) -> Answer:
    if isinstance(error, StoreUnavailableError):
        error = UnavailableError(str(error))
    if isinstance(error, TicketDemandedError):
        return writer.challenge(request.raw_path, extra=extra)
    if isinstance(error, LoginDemandedError) and error.location:
        return writer.redirect(error.location, extra=extra)
    if isinstance(error, _BEARERS):
        extra = (*extra, *BEARER_CHALLENGE)
    if isinstance(error, (ImpersonationError, ForeignTokenError, LoginRefusedError, UnusableClaimsError, *_BEARERS)):
        shown = RemoteException(error.http_status, error.java_class, str(error))
        return writer.forbidden(shown, extra=extra, cookie=cookie)
    answer = writer.error(remote_exception_of(error), representation_of(request), extra=extra, cookie=cookie)
    return replace(answer, body=b"") if request.method == "HEAD" else answer
