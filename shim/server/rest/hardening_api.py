"""Heddle's own web service on its hardening, below `/heddle/v1/`.

GET   hardening     lines of the hardening guide and whether they hold, for administrators

Others need not learn where Heddle is weak.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import Response

from heddle import models
from shim.federation.findings import LineResult
from shim.server.rest.own_endpoints import OwnEndpoint, as_json

__all__ = ["HardeningAPI"]


@dataclass(frozen=True, slots=True)
class HardeningAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        lines: Checks them now.
    """

    lines: Callable[[], Awaitable[Sequence[LineResult]]]

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each."""
        return (OwnEndpoint("GET", "hardening", self.checked, models.Hardening),)

    async def checked(self) -> Response:
        """Every line of the guide, in its order."""
        return as_json(models.Hardening([_shown(each) for each in await self.lines()]))


def _shown(result: LineResult) -> models.HardeningLine:
    return models.HardeningLine(result.id, result.state.value, result.what, result.found, result.mend)
