"""True submit times of applications that waited in Heddle.

Their home counts from the moment at which their turn came; lists, filters and reports go by what the client did.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from shim.domain.ids import ApplicationId
from shim.domain.subclusters import ApplicationDocument

__all__ = ["SubmitTimes"]

_MOST = 20_000
# a quote inside of a JSON text is escaped: only a member's own name has one right before its colon
_STARTED = re.compile(rb'("startedTime"\s*:\s*)(\d+)')
_ELAPSED = re.compile(rb'("elapsedTime"\s*:\s*)(\d+)')


class SubmitTimes:
    """Times of submission by application, the newest 20,000 that were noted."""

    def __init__(self) -> None:
        self._at_ms: OrderedDict[ApplicationId, int] = OrderedDict()

    @property
    def known(self) -> Mapping[ApplicationId, int]:
        """All of them, in milliseconds since the epoch."""
        return self._at_ms

    def note(self, application_id: ApplicationId, at_ms: int) -> None:
        """An application that waited was submitted at `at_ms`."""
        self._at_ms[application_id] = at_ms
        if len(self._at_ms) > _MOST:
            self._at_ms.popitem(last=False)

    def corrected(self, document: ApplicationDocument) -> ApplicationDocument:
        """The document with the true time of submission, and the time elapsed since."""
        at_ms = self._at_ms.get(document.summary.application_id)
        told_ms = document.summary.started_at_ms
        if at_ms is None or at_ms == told_ms:
            return document
        raw = _STARTED.sub(rb"\g<1>%d" % at_ms, document.raw, count=1)
        raw = _ELAPSED.sub(lambda found: found[1] + b"%d" % max(0, int(found[2]) + told_ms - at_ms), raw, count=1)
        return replace(document, summary=replace(document.summary, started_at_ms=at_ms), raw=raw)
