"""Applications: their states and the fields by which lists are filtered.

Source: `org.apache.hadoop.yarn.api.records.{YarnApplicationState,FinalApplicationStatus}`.
"""

from dataclasses import dataclass
from enum import Enum

from shim.domain.ids import ApplicationId, SubClusterId

SPAN_TAG = "heddle-span"
"""Tag of what Heddle runs beyond homes under the id of an application: it stands for that one, and is no other."""


class YarnApplicationState(Enum):
    """State of an application as clients see it, in the order of Hadoop's enumeration."""

    NEW = "NEW"
    NEW_SAVING = "NEW_SAVING"
    SUBMITTED = "SUBMITTED"
    ACCEPTED = "ACCEPTED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"

    def __init__(self, word: str) -> None:
        # an attribute: every application is asked for it in every poll
        self.is_final = word in {"FINISHED", "FAILED", "KILLED"}
        """True if the state is never left again; documents in a final state are immutable."""


class FinalStatus(Enum):
    """End of an application, as its ApplicationMaster or the ResourceManager reports it."""

    UNDEFINED = "UNDEFINED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    ENDED = "ENDED"


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """Fields of an application that Heddle decides and filters on; the whole document travels beside it, untouched.

    Attributes:
        tags: Lower-cased, as the ResourceManager keeps them.
        started_at_ms: Milliseconds since the epoch by the clock of the home ResourceManager; 0 if hidden.
        finished_at_ms: The same; 0 while the application lives.
    """

    application_id: ApplicationId
    home_subcluster: SubClusterId
    user: str
    name: str
    queue: str
    state: YarnApplicationState
    final_status: FinalStatus
    application_type: str
    tags: tuple[str, ...] = ()
    started_at_ms: int = 0
    finished_at_ms: int = 0
