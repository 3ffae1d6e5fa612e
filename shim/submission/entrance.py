"""Answers of whoever takes submissions: servers and peers know no more of them."""

from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Refusal, Submission


@dataclass(frozen=True, slots=True)
class Accepted:
    """The federation has the application and will run it: 202.

    Attributes:
        is_delivered: Whether its home has acknowledged it too.
    """

    home_subcluster: SubClusterId
    is_delivered: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """The home refused it; its own words are passed on."""

    home_subcluster: SubClusterId
    refusal: Refusal


class TakesSubmissions(Protocol):
    """Entrance of submissions that came by any server."""

    async def submit(self, submission: Submission, *, accept: str = "application/json") -> Accepted | Rejected:
        """Take a submission, or hand on its home's refusal; see `SubmissionService.submit`."""
        ...

    async def finish(self) -> None:
        """Return when what homes have taken is written down as taken."""
        ...
