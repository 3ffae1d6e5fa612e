"""How long tasks run, learnt from those that have ended: nothing is known of a task before it does.

Tasks of one job resemble each other far more than tasks of different jobs. So a job's mean is estimated from its own
finished tasks, and, until there are enough of them, from what earlier jobs' first finished tasks ran, given that this
job's running tasks have already run longer than some of those: ``E[duration | duration > elapsed]`` over a histogram.
Global Masters tell each other what they learn (it rides along with requests and reports): bids are comparable only when
their bidders expect the same.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["DurationModel", "FloatArray"]

FloatArray = NDArray[np.float64]

_BUCKETS = 192
_PER_OCTAVE = 6
_SMALLEST_S = 1.0 / 1024.0
_PRIOR_WEIGHT = 1.0
_BLANK_WEIGHT = 1e-3


class DurationModel:
    """Histogram of job durations in logarithmic buckets of a sixth of an octave, from a millisecond to a century.

    Attributes:
        observed: How many jobs it has learnt from.
    """

    def __init__(self) -> None:
        self.observed = 0
        self._count: FloatArray = np.zeros(_BUCKETS)
        self._sum_s: FloatArray = np.zeros(_BUCKETS)
        edges = _SMALLEST_S * np.exp2((np.arange(_BUCKETS) + 1.0) / _PER_OCTAVE)
        self._blank_s: FloatArray = 2.0 * edges
        self._conditional_s: FloatArray = self._blank_s.copy()
        self._is_stale = False

    def observe(self, duration_s: float) -> None:
        """Learn that some job's first task to end ran so long."""
        bucket = int(_bucket_of(np.array([duration_s]))[0])
        self._count[bucket] += 1.0
        self._sum_s[bucket] += duration_s
        self.observed += 1
        self._is_stale = True

    def expected(self, elapsed_s: FloatArray) -> FloatArray:
        """Expected duration of jobs of which nothing is known but that their tasks have run for some time.

        Parameters
        ----------
        elapsed_s : float64 array of shape (n_jobs,)
            Mean time that the running tasks of each job have run, in seconds; 0 where none runs.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            ``E[duration | duration > elapsed]`` in seconds; twice the elapsed time where nothing that long was seen.
        """
        if self._is_stale:
            count = self._count[::-1].cumsum()[::-1]
            total_s = self._sum_s[::-1].cumsum()[::-1]
            self._conditional_s = (total_s + _BLANK_WEIGHT * self._blank_s) / (count + _BLANK_WEIGHT)
            self._is_stale = False
        return np.maximum(self._conditional_s[_bucket_of(elapsed_s)], elapsed_s)

    def estimate(self, finished: FloatArray, finished_s: FloatArray, elapsed_s: FloatArray) -> FloatArray:
        """Expected duration of the tasks of each job.

        Parameters
        ----------
        finished : float64 array of shape (n_jobs,)
            Number of finished tasks.
        finished_s : float64 array of shape (n_jobs,)
            Seconds that they ran in all.
        elapsed_s : float64 array of shape (n_jobs,)
            As in `expected`.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            In seconds: the mean of the finished ones, with the expectation as one more of them.
        """
        return (_PRIOR_WEIGHT * self.expected(elapsed_s) + finished_s) / (_PRIOR_WEIGHT + finished)


def _bucket_of(duration_s: FloatArray) -> NDArray[np.intp]:
    """Bucket of each duration; shape (n_jobs,)."""
    octaves = np.log2(np.maximum(duration_s, _SMALLEST_S) / _SMALLEST_S)
    return np.minimum((octaves * _PER_OCTAVE).astype(np.intp), _BUCKETS - 1)
