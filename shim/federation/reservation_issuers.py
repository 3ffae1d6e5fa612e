"""Issuers of reservations: a reservation is one ResourceManager's, whose start its id names."""

from collections import OrderedDict

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView
from shim.federation.remembering import remember

__all__ = ["ReservationIssuers"]

_MOST_REMEMBERED = 100_000
"""Ids that are remembered beside the view, as a ResourceManager that restarts keeps its plans."""


class ReservationIssuers:
    """Knows the sub-cluster of a reservation by its id.

    Args:
        view: Tells when each ResourceManager started.
    """

    def __init__(self, view: FederationView) -> None:
        self._view = view
        self._issuers: OrderedDict[str, SubClusterId] = OrderedDict()

    def issuer_of(self, reservation_id: str) -> SubClusterId | None:
        """Return the issuer of an id: as remembered, or the sub-cluster whose start its time stamp is; None if none.

        Of an id that none of those that were heard of has issued it is one that was not, if there is one: whatever is
        asked of it waits until it is.
        """
        remembered = self._issuers.get(reservation_id)
        if remembered is not None:
            return remembered
        timestamp = reservation_id.removeprefix("reservation_").partition("_")[0]
        started = {each: self._view.started_on_ms(each) for each in self._view.subclusters}
        issuer = next((each for each, started_ms in started.items() if str(started_ms) == timestamp), None)
        return issuer or next((each for each, started_ms in started.items() if not started_ms), None)

    def remember(self, reservation_id: str, subcluster: SubClusterId) -> None:
        """Remember the sub-cluster that issued an id."""
        remember(self._issuers, reservation_id, subcluster, _MOST_REMEMBERED)
