"""Findings of checks: a level, where, what, and what to do."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """Weight of a finding."""

    OK = "ok"
    WARNING = "warning"
    """Works, with a limit that the message names."""
    ERROR = "error"
    """Something does not work, or will go wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        subject: Sub-cluster that it is about; empty for the federation.
        advice: What to do; empty when there is nothing to do.
    """

    check: str
    level: Level
    subject: str
    message: str
    advice: str = ""


class LineState(Enum):
    """Verdicts on a line of the hardening guide."""

    OK = "ok"
    NOT_OK = "not ok"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class LineResult:
    """Verdict on one line of the hardening guide.

    Attributes:
        mend: What to do; empty where it is so.
    """

    id: str
    state: LineState
    what: str
    found: str
    mend: str = ""
