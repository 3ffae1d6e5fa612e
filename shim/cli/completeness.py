"""Clusters whose part in an answer is absent or old: the words for standard error, and for rows of such a cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_KEYS = ("state", "cluster")


@dataclass(frozen=True, slots=True)
class ClusterAge:
    """How much of a cluster is known, as `/heddle/v1/clusters` tells it.

    Attributes:
        state: One word: LOST, NEW, RUNNING, ...
        age_s: Since it last reported, or since Heddle began if it never did; None if nobody tells.
        is_heard: Whether it has ever reported.
        reason: Why the newest poll failed; empty if it did not.
    """

    state: str = ""
    age_s: float | None = None
    is_heard: bool = True
    reason: str = ""

    @property
    def told(self) -> str:
        """State, age and reason in words; empty if none is known."""
        if self.age_s is None:
            age = "" if self.is_heard else "never reported"
        elif self.is_heard:
            age = f"last reported {self.age_s:.0f} s ago"
        else:
            age = f"no report in the {self.age_s:.0f} s since Heddle began"
        return ": ".join(filter(None, (", ".join(filter(None, (self.state, age))), self.reason)))


def ages_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, ClusterAge]:
    """Ages by cluster, of the rows of `/heddle/v1/clusters`."""
    return {
        str(row["id"]): ClusterAge(
            state=str(row.get("state") or ""),
            age_s=row.get("age_s"),
            is_heard=bool(row.get("is_heard", row.get("age_s") is not None)),
            reason=str(row.get("failure") or ""),
        )
        for row in rows
    }


def told_of_missing(missing: Sequence[str], ages: Mapping[str, ClusterAge], as_of: str) -> list[str]:
    """Lines that say which clusters are missing in what was printed, why, and how old the rest is.

    Args:
        missing: Their ids.
        ages: Of all clusters; empty if nobody told.
        as_of: When the oldest part of the rest was true, as the answer said it; empty if it did not.
    """
    told = ((cluster, ages.get(cluster, ClusterAge()).told) for cluster in missing)
    lines = [f"{cluster} is missing, or old{f': {words}' if words else ''}" for cluster, words in told]
    rest = [age.age_s for cluster, age in ages.items() if cluster not in missing and age.age_s is not None]
    if rest:
        lines.append(f"the rest is at most {max(rest):.1f} s old{f' (of {as_of})' if as_of else ''}")
    elif as_of and not ages:
        lines.append(f"the rest is of {as_of}")
    return lines


def marked_rows(
    rows: Sequence[Mapping[str, Any]], missing: Sequence[str], ages: Mapping[str, ClusterAge]
) -> list[dict[str, Any]]:
    """Rows for people, in which the state of what is on a missing cluster says how old it is."""
    state, cluster = _KEYS
    marked = []
    for row in rows:
        of = row.get(cluster)
        if of not in missing or state not in row:
            marked.append(dict(row))
            continue
        age = ages.get(str(of), ClusterAge())
        when = "old" if age.age_s is None else f"{age.age_s:.0f} s ago"
        marked.append({**row, state: f"{row[state]} ({when}{f', {of} is {age.state}' if age.state else ''})"})
    return marked
