"""Callers who may call only so fast: of each address before it is known who calls, then of each user."""

from shim.identity.rates import CallRates
from shim.identity.service import Caller
from shim.protocol.rest.queries import Query
from shim.server.rest.callers import OPEN_PATHS, Callers, WebLogin
from shim.server.rest.messages import Request

__all__ = ["RatedCallers"]


class RatedCallers:
    """Counts calls, and names callers as others do; implements `Callers`.

    A login that waits for something, and is begun anew in a task, may count twice at its address.

    Args:
        rates: Count them.
        others: Name them.
    """

    def __init__(self, rates: CallRates, others: Callers) -> None:
        self._rates = rates
        self._others = others

    @property
    def may_wait(self) -> bool:
        """As the others."""
        return self._others.may_wait

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller as the others tell.

        Raises:
            TooManyCallsError: He, or his address, calls too fast.
        """
        caller = self._others.at_once(request, query)
        self._rates.at_once(request.peer, caller)
        return caller

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller as the others tell; probes are not counted.

        Raises:
            TooManyCallsError: He, or his address, calls too fast.
        """
        if request.raw_path in OPEN_PATHS:
            return await self._others.log_in(request, query)
        self._rates.from_address(request.peer)
        login = await self._others.log_in(request, query)
        self._rates.by_user(login.caller)
        return login

    async def again(self, request: Request, query: Query) -> Caller | None:
        """As the others; it is no call, and not counted."""
        return await self._others.again(request, query)
