"""Use cases behind the client RPC server."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.calls.client import ClientCalls
from shim.domain.resources import ResourceVector
from shim.federation.application_access import ApplicationAccess
from shim.federation.view_rights import ViewRights
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.rates import CallRates
from shim.identity.service import IdentityService
from shim.server.rpc.kept_answers import KeptRPCAnswers
from shim.server.rpc.logins import TicketLogin
from shim.submission.application_ids import ApplicationIds
from shim.submission.entrance import TakesSubmissions

__all__ = ["ClientUseCases"]


@dataclass(frozen=True, slots=True)
class ClientUseCases:
    """The services, and what limits them.

    Attributes:
        kept: Lists, counts and reports that are given again.
        rights: Who may see and change which application.
        access: The rule behind them.
        maximum_allocation: The largest container that a user may count on.
        kerberos: How clients log in by ticket; None where names are believed.
        rates: How fast users may call; None for as they like.
        max_submission_bytes: A larger submission is refused: each is kept in the store.
    """

    calls: ClientCalls
    ids: ApplicationIds
    submissions: TakesSubmissions
    identity: IdentityService
    tokens: DelegationTokens
    kept: KeptRPCAnswers
    rights: ViewRights
    access: ApplicationAccess
    maximum_allocation: Callable[[str], ResourceVector]
    max_submission_bytes: int
    kerberos: TicketLogin | None = None
    rates: CallRates | None = None
