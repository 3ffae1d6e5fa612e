"""Replies of a ResourceManager to a submission, by whichever of its servers they came."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Refusal", "SubmitReply", "SubmitVerdict"]


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


@dataclass(frozen=True, slots=True)
class SubmitReply:
    """A ResourceManager's reply to a submission; words where it was not taken."""

    verdict: SubmitVerdict
    refusal: Refusal = Refusal("", "")
