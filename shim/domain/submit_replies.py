"""Replies of a ResourceManager to a submission, by whichever of its servers they came."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Refusal", "SubmitReply", "SubmitVerdict"]

_BAD_REQUEST = 400


class SubmitVerdict(Enum):
    """Meaning of a reply for the submission."""

    TAKEN = "taken"
    REFUSED = "refused"
    """The ResourceManager looked at the application and does not want it."""
    FAILED = "failed"
    """The ResourceManager failed. Whether it has the application all the same decides what that means."""
    UNCLEAR = "unclear"
    """The ResourceManager answered, and not to this."""
    FROM_A_GATEWAY = "from a gateway"
    """Something between may have answered, while the ResourceManager still has the request."""


_OF_SIZE = (
    "Invalid resource request",
    "Invalid label resource request",
    "Requested more memory than configured max",
    "Requested more cores than configured max",
)
"""Beginnings of what a ResourceManager says of a container that it cannot give: `SchedulerUtils`, `RMWebAppUtil`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A ResourceManager's refusal of a submission, in its own words.

    Attributes:
        java_class: Binary name of the exception; empty if none was told.
        message: Its first line.
        status: Of the web services; 0 if the words came by RPC, and then without headers and body.
        headers: As received.
        body: In the representation that the client accepts.
    """

    java_class: str
    message: str
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def text(self) -> str:
        """The words as they are kept and shown: those of the web services whole."""
        return self.body.decode("utf-8", "replace") if self.status else f"{self.java_class}: {self.message}"

    @property
    def is_of_size(self) -> bool:
        """True if it is for what the ApplicationMaster's container asks for: another ResourceManager may have that.

        It says so before it makes an application of the submission: nothing of it is there.
        """
        return self.status in (0, _BAD_REQUEST) and any(words in self.text for words in _OF_SIZE)


@dataclass(frozen=True, slots=True)
class SubmitReply:
    """A ResourceManager's reply to a submission; words where it was not taken."""

    verdict: SubmitVerdict
    refusal: Refusal = Refusal("", "")
