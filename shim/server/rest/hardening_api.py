"""Heddle's own web service on its hardening, below `/heddle/v1/`.

GET   hardening     lines of the hardening guide and whether they hold, for operators
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import Response

from shim.federation.findings import LineResult
from shim.identity.service import IdentityService
from shim.server.rest.own_endpoints import Asker, Endpoint, as_json

__all__ = ["HardeningAPI"]


@dataclass(frozen=True, slots=True)
class HardeningAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        lines: Checks them now.
        identity: Knows the operators: others need not learn where Heddle is weak.
    """

    lines: Callable[[], Awaitable[Sequence[LineResult]]]
    identity: IdentityService

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Method, path and operation of each."""
        return (Endpoint("GET", "hardening", self.checked),)

    async def checked(self, asker: Asker) -> Response:
        """Every line of the guide, in its order."""
        self.identity.require_admin(asker)
        return as_json({"lines": [_shown(each) for each in await self.lines()]})


def _shown(result: LineResult) -> dict[str, str]:
    return {
        "id": result.id,
        "state": result.state.value,
        "what": result.what,
        "found": result.found,
        "mend": result.mend,
    }
