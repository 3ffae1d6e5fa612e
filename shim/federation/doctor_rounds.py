"""The doctor's rounds: what it finds without being asked, for monitoring."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from shim.federation.findings import Level
from shim.federation.inspection import Inspection
from shim.federation.tls_findings import CertificateFacts
from shim.ports.clock import Clock

__all__ = ["DoctorRounds"]

_EVERY_S = 300.0
"""A round asks every ResourceManager, as `heddle doctor` does."""


class DoctorRounds:
    """Examines the federation every five minutes.

    Args:
        inspection: Gathers the facts.
        clock: For the time between rounds.

    Attributes:
        counts: How many findings there were in the newest round, by check and level: warnings and errors.
    """

    def __init__(self, inspection: Inspection, clock: Clock) -> None:
        self._inspection = inspection
        self._clock = clock
        self.counts: Mapping[tuple[str, str], int] = {}
        self._ends_at_s: Mapping[tuple[str, str], float] = {}

    async def run(self) -> None:
        """Go round for ever."""
        while True:
            await self.round()
            await self._clock.sleep(_EVERY_S)

    async def round(self) -> None:
        """Examine once."""
        now_s = self._clock.now_s()
        self._ends_at_s = {(each.what, Path(each.file).name): now_s + each.ends_in_s for each in self._certificates()}
        found = await self._inspection.doctor()
        self.counts = Counter((each.check, each.level.value) for each in found if each.level is not Level.OK)

    def certificates(self) -> Mapping[tuple[str, str], float]:
        """Seconds until each certificate ends, by whose it is and the name of its file; negative if it has ended."""
        now_s = self._clock.now_s()
        return {key: ends_at_s - now_s for key, ends_at_s in self._ends_at_s.items()}

    def _certificates(self) -> Iterator[CertificateFacts]:
        settings = self._inspection.settings
        own = settings.tls()
        if own.file:
            yield CertificateFacts("the web services", own.file, own.ends_in_s)
        for facts in settings.cluster_tls():
            yield from facts.certificates
        masters = settings.master_tls()
        if masters is not None:
            yield from masters.certificates
