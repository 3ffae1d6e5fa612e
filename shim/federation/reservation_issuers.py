"""Issuers of reservations: a reservation is one ResourceManager's, a start of which its id names."""

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView

__all__ = ["ReservationIssuers"]


class ReservationIssuers:
    """Knows the sub-cluster of a reservation by its id.

    Args:
        view: Tells when each ResourceManager started; one that restarts keeps its plans.
    """

    def __init__(self, view: FederationView) -> None:
        self._view = view

    def issuer_of(self, reservation_id: str) -> SubClusterId | None:
        """Return the issuer of an id, the sub-cluster that started at its time stamp; None if there is none.

        Of an id that none of those that were heard of has issued it is one that was not, if there is one: whatever is
        asked of it waits until it is. A retired one issued nothing.
        """
        if not reservation_id:
            return None
        timestamp = reservation_id.removeprefix("reservation_").partition("_")[0]
        started_ms = int(timestamp) if timestamp.isascii() and timestamp.isdigit() else -1
        serving = [each for each in self._view.subclusters if not self._view.is_retired(each)]
        issuer = next((each for each in serving if self._view.has_lived(each, started_ms)), None)
        return issuer or next((each for each in serving if not self._view.started_on_ms(each)), None)
