"""What is expected of an application's containers before its own have ended: what those that are like it have taught.

What runs again and again has the same user, type and name, but for the numbers in the name. So there are three models,
each beginning from the wider one: of everything, of a queue, of such kin. All that is known of a queue weighs as much
as one application of the kin, so that a few runs are enough to be known by.
"""

import re
from collections import OrderedDict

from shim.domain.applications import ApplicationSummary
from shim.scheduling.durations import DurationModel

__all__ = ["Kinship", "kin_of"]

_NUMBER = re.compile(r"[0-9]+")
_MOST_KIN = 1024
"""Those that taught something last are kept, for each queue: a model takes 4 KiB."""


def kin_of(summary: ApplicationSummary) -> str:
    """By what an application is known again."""
    return f"{summary.user} {summary.application_type} {_NUMBER.sub('#', summary.name)}"


class Kinship:
    """The models of one queue.

    Args:
        everything: The model of all queues.
    """

    def __init__(self, everything: DurationModel) -> None:
        self._everything = everything
        self.queue = DurationModel(everything)
        self._kin: OrderedDict[str, DurationModel] = OrderedDict()

    @property
    def observed_in_all(self) -> int:
        """How many applications of all queues have taught something."""
        return self._everything.observed

    def model(self, kin: str) -> DurationModel:
        """What is known of applications of a kin; the queue's if none of it has taught anything."""
        return self._kin.get(kin, self.queue)

    def observed(self, kin: str) -> int:
        """How many applications of a kin have taught something."""
        known = self._kin.get(kin)
        return 0 if known is None else known.observed

    def observe(self, kin: str, duration_s: float) -> None:
        """Learn that the first container of some application to end ran so long.

        Args:
            kin: See `kin_of`; empty if it is not known.
            duration_s: From the grant to the end.
        """
        self._everything.observe(duration_s)
        self.queue.observe(duration_s)
        if kin:
            model = self._kin.pop(kin, None) or DurationModel(self.queue)
            model.observe(duration_s)
            self._kin[kin] = model
        while len(self._kin) > _MOST_KIN:
            self._kin.popitem(last=False)
