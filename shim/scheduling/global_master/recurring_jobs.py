"""What is expected of an application's containers before its own have ended: what those that are like it have taught.

What runs again and again has the same user, type and name, but for the numbers in the name. So there are three models,
each beginning from the wider one: of everything, of a queue, of one recurring job. All that is known of a
queue weighs as much as one application of the recurring job, so that a few runs are enough to be known by.
"""

import re
from collections import OrderedDict

from shim.domain.applications import ApplicationSummary
from shim.scheduling.durations import DurationModel

__all__ = ["RecurringJobModels", "recurring_key"]

_NUMBER = re.compile(r"[0-9]+")
_MOST_JOB_KEY = 1024
"""Those that taught something last are kept, for each queue: a model takes 4 KiB."""


def recurring_key(summary: ApplicationSummary) -> str:
    """By what an application is known again."""
    return f"{summary.user} {summary.application_type} {_NUMBER.sub('#', summary.name)}"


class RecurringJobModels:
    """The models of one queue.

    Args:
        everything: The model of all queues.
    """

    def __init__(self, everything: DurationModel) -> None:
        self._everything = everything
        self.queue = DurationModel(everything)
        self._job_key: OrderedDict[str, DurationModel] = OrderedDict()

    @property
    def observed_in_all(self) -> int:
        """How many applications of all queues have taught something."""
        return self._everything.observed

    def model(self, job_key: str) -> DurationModel:
        """What is known of applications of a recurring job; the queue's if none of it has taught anything."""
        return self._job_key.get(job_key, self.queue)

    def observed(self, job_key: str) -> int:
        """How many applications of a recurring job have taught something."""
        known = self._job_key.get(job_key)
        return 0 if known is None else known.observed

    def observe(self, job_key: str, duration_s: float) -> None:
        """Learn that the first container of some application to end ran so long.

        Args:
            job_key: See `recurring_key`; empty if it is not known.
            duration_s: From the grant to the end.
        """
        self._everything.observe(duration_s)
        self.queue.observe(duration_s)
        if job_key:
            model = self._job_key.pop(job_key, None) or DurationModel(self.queue)
            model.observe(duration_s)
            self._job_key[job_key] = model
        while len(self._job_key) > _MOST_JOB_KEY:
            self._job_key.popitem(last=False)
