"""Delegation tokens over the web services: issued, renewed and cancelled by `op=` at any path.

They are the same tokens as over RPC: what one server issued another takes.

Source: `org.apache.hadoop.security.token.delegation.web.DelegationTokenAuthenticationHandler` of Hadoop 3.4.2.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from shim.errors import BadRequestError
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.service import Caller
from shim.protocol.rest.queries import Query
from shim.protocol.rest.token_strings import decode_token, encode_token
from shim.server.rest.callers import TicketDemandedError

_RENEWER, _TOKEN = "renewer", "token"


@dataclass(frozen=True, slots=True)
class TokenOperation:
    """A row of what may be done with tokens.

    Attributes:
        needs_ticket: Whether a delegation token does not suffice to ask for it.
    """

    method: str
    audit: str
    needs_ticket: bool = True


TOKEN_OPERATIONS: Mapping[str, TokenOperation] = {
    "GETDELEGATIONTOKEN": TokenOperation("GET", "token.issue"),
    "RENEWDELEGATIONTOKEN": TokenOperation("PUT", "token.renew"),
    "CANCELDELEGATIONTOKEN": TokenOperation("PUT", "token.cancel"),
}


class WebTokens:
    """Answers those operations.

    Args:
        tokens: Heddle's.
    """

    def __init__(self, tokens: DelegationTokens) -> None:
        self._tokens = tokens
        self._work: Mapping[str, Callable[[Query, Caller], Awaitable[bytes]]] = {
            "GETDELEGATIONTOKEN": self._issue,
            "RENEWDELEGATIONTOKEN": self._renew,
            "CANCELDELEGATIONTOKEN": self._cancel,
        }

    async def run(self, name: str, method: str, query: Query, caller: Caller) -> bytes:
        """Answer in JSON; empty where there is nothing to say.

        Args:
            name: Of the operation, in upper case.

        Raises:
            BadRequestError: The method is another operation's, or a parameter is missing.
            TicketDemandedError: The caller has shown no ticket, and needs one.
            DelegationTokenError: The token is not good.
            TokenAccessError: It is not the caller's to renew or cancel.
        """
        row = TOKEN_OPERATIONS[name]
        if method != row.method:
            raise BadRequestError(f"Wrong HTTP method [{method}] for operation [{name}], it should be [{row.method}]")
        if row.needs_ticket and not caller.has_ticket:
            raise TicketDemandedError("Authentication required")
        return await self._work[name](query, caller)

    async def _issue(self, query: Query, caller: Caller) -> bytes:
        on_behalf = "" if caller.real_user == caller.user else caller.real_user
        renewer = query.first(_RENEWER) or caller.user
        token = await self._tokens.issue(caller.user, renewer, on_behalf, is_proven=caller.has_ticket)
        return json.dumps({"Token": {"urlString": encode_token(token)}}).encode()

    async def _renew(self, query: Query, caller: Caller) -> bytes:
        token = decode_token(_needed(query, "RENEWDELEGATIONTOKEN"))
        return json.dumps({"long": await self._tokens.renew(token, caller=caller.user)}).encode()

    async def _cancel(self, query: Query, caller: Caller) -> bytes:
        await self._tokens.cancel(decode_token(_needed(query, "CANCELDELEGATIONTOKEN")), caller=caller.user)
        return b""


def _needed(query: Query, operation: str) -> str:
    value = query.first(_TOKEN)
    if not value:
        raise BadRequestError(f"Operation [{operation}] requires the parameter [{_TOKEN}]")
    return value
