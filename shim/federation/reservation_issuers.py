"""Issuers of reservations: a reservation is one ResourceManager's, whose start its id names."""

from collections import OrderedDict

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock

__all__ = ["ReservationIssuers"]

_MOST_REMEMBERED = 100_000


class ReservationIssuers:
    """Knows the sub-cluster of a reservation by its id.

    Args:
        view: Tells when each ResourceManager started.
        clock: For the view's age.
        most_remembered: Ids that are remembered beside the view, as a ResourceManager that restarts keeps its plans.
    """

    def __init__(self, view: FederationView, clock: Clock, *, most_remembered: int = _MOST_REMEMBERED) -> None:
        self._view = view
        self._clock = clock
        self._most = most_remembered
        self._issuers: OrderedDict[str, SubClusterId] = OrderedDict()

    def issuer_of(self, reservation_id: str) -> SubClusterId | None:
        """Return the issuer of an id: as remembered, or the sub-cluster whose start its time stamp is; None if none."""
        remembered = self._issuers.get(reservation_id)
        if remembered is not None:
            return remembered
        timestamp = reservation_id.removeprefix("reservation_").partition("_")[0]
        now_s = self._clock.now_s()
        for subcluster in self._view.subclusters:
            if str(self._view.look(subcluster, now_s).started_on_ms) == timestamp:
                return subcluster
        return None

    def remember(self, reservation_id: str, subcluster: SubClusterId) -> None:
        """Remember the sub-cluster that issued an id."""
        self._issuers[reservation_id] = subcluster
        self._issuers.move_to_end(reservation_id)
        while len(self._issuers) > self._most:
            self._issuers.popitem(last=False)
