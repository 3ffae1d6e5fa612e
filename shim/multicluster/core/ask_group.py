"""Asks of an ApplicationMaster for containers that can stand for each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import SubClusterId

__all__ = ["AskGroup", "copy_of", "new_rows", "rows_by_key"]


@dataclass(slots=True)
class AskGroup:
    """Asks with one key.

    Attributes:
        rows: As told last, by place; counts fall with the grants.
        wanted: Containers that no scheduler has granted.
        targets: How many of them each session is to be asked for.
        pins: Hosts that are named to a session, with how many at each; those of all rows where it is not in here.
        starved: Beats since a session granted one, while it was asked for some.
        refused: Sub-clusters whose scheduler refused such an ask.
        rejected: Sub-clusters that found no place for it, since the ApplicationMaster asked last.
        spent: Rows of named places whose last container was granted, kept while that may be wanted again.
        has_spares: Whether several sessions are asked for the same containers, which the first to grant binds.
    """

    key: AskKey
    rows: dict[str, Ask] = field(default_factory=dict)
    wanted: int = 0
    targets: dict[SubClusterId, int] = field(default_factory=dict)
    pins: Mapping[SubClusterId, Mapping[str, int]] = field(default_factory=dict)
    starved: dict[SubClusterId, int] = field(default_factory=dict)
    refused: set[SubClusterId] = field(default_factory=set)
    rejected: set[SubClusterId] = field(default_factory=set)
    spent: dict[str, Ask] = field(default_factory=dict)
    has_spares: bool = False

    def put(self, ask: Ask) -> None:
        """Take in a row; one of a named place that wants nothing is not kept, or rows would only ever become more."""
        if ask.count or ask.place == ANY:
            self.rows[ask.place] = ask
        else:
            self.rows.pop(ask.place, None)

    @property
    def places(self) -> dict[str, int]:
        """Counts at named hosts and racks."""
        return {place: row.count for place, row in self.rows.items() if place != ANY and row.count}

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the places that a strict ask allows: hosts, and racks that may stand in for hosts."""
        rows = ((place, row) for place, row in self.rows.items() if place != ANY and row.count)
        return tuple(sorted(place for place, row in rows if row.relaxes or not place.startswith("/")))

    @property
    def is_strict(self) -> bool:
        """Tell whether only the named places will do."""
        row = self.rows.get(ANY)
        return row is not None and not row.relaxes


def copy_of(group: AskGroup | None) -> AskGroup | None:
    """Return a copy of a group that later changes of it leave alone."""
    if group is None:
        return None
    return replace(
        group,
        rows=dict(group.rows),
        targets=dict(group.targets),
        starved=dict(group.starved),
        refused=set(group.refused),
        rejected=set(group.rejected),
        spent=dict(group.spent),
    )


def new_rows(group: AskGroup | None, asks: Iterable[Ask]) -> int:
    """Count the rows that a group would keep beside those that it has; None for a group that is not there yet."""
    places = {ask.place for ask in asks if ask.count}
    return len(places) if group is None else len(places - group.rows.keys())


def rows_by_key(asks: Iterable[Ask]) -> Mapping[AskKey, Sequence[Ask]]:
    """Rows of each key, both in the order of the call.

    A call may have thousands of rows, nearly all of them of a few keys, and a key is dear to look up: neighbours that
    share theirs are told by its identity.
    """
    found: dict[AskKey, list[Ask]] = {}
    key: AskKey | None = None
    rows: list[Ask] = []
    for ask in asks:
        if ask.key is not key:
            key = ask.key
            rows = found.setdefault(key, [])
        rows.append(ask)
    return found
