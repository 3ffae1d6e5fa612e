"""Answers of reads of applications, and the limits that they keep to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shim.domain.application_columns import ApplicationColumns, Mask, Rows
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.federation.application_access import ApplicationAccess
from shim.federation.freshness import Freshness

__all__ = ["ApplicationRead", "ApplicationsRead", "ColumnsRead", "ReadingSettings"]


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """Limits of age and time for reads.

    Attributes:
        staleness_s: A live document that was asked for longer ago is asked for again.
        answer_within_s: Nobody waits longer for a sub-cluster.
        guarded: Sub-clusters with `yarn.acl.enable`: what they tell depends on who asks, so nothing that one user
            read there is shown to another.
    """

    staleness_s: float
    answer_within_s: float
    guarded: frozenset[SubClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class ApplicationRead:
    """One application, and how old that is."""

    document: ApplicationDocument
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ApplicationsRead:
    """Every application, that started last first, and how old the list is.

    Attributes:
        version: The same number means the same documents: answers made of them may be kept under it.
    """

    documents: Sequence[ApplicationDocument]
    version: int
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ColumnsRead:
    """Every application by column, and how old that is; to be used before anything is waited for.

    Attributes:
        visible: The rows that the viewer may see; None for all.
    """

    columns: ApplicationColumns
    freshness: Freshness
    access: ApplicationAccess
    visible: Mask | None = None

    def raws(self, rows: Rows) -> Iterator[bytes]:
        """The JSON objects of rows as the viewer sees them, in their order."""
        raws = self.columns.raws(rows)
        if self.visible is None:
            return raws
        hide, is_seen = self.access.hidden_raw, self.visible[rows].tolist()
        return (raw if seen else hide(raw) for raw, seen in zip(raws, is_seen, strict=True))
