"""Resemblance of tasks of one job, learnt from jobs that have ended, so that estimates know their worth.

The variance of (logarithms of) durations is that within jobs and that between jobs. Where all of it is between jobs,
one ended task tells how long the others run. Where none of it is, durations have nothing to do with the job, and an
ended task tells nothing. The part between jobs is the weight of one ended task (Buehlmann's credibility; the intraclass
correlation of statistics); that of several follows by Spearman and Brown's formula.
"""

import math

import numpy as np

from fairness import FloatArray

_PRIOR_JOBS = 4.0
"""What the belief that tasks of a job are alike counts for at the beginning: so many jobs, one octave apart."""
_FLOOR = 0.01
"""Part of the mean duration that is added to each: differences far below the mean matter to nobody."""


class Resemblance:
    """The parts of the variance, each job counting once."""

    def __init__(self) -> None:
        self._seen = 0.0
        self._seen_s = 0.0
        self._jobs = 0.0
        self._within = 0.0
        self._means = 0.0
        self._means_squared = 0.0
        self._inverse_sizes = 0.0
        self._alike = 1.0

    def note(self, duration_s: float) -> None:
        """Know a duration, for the scale of all."""
        self._seen += 1.0
        self._seen_s += duration_s

    def log2_of(self, duration_s: float) -> float:
        """Binary logarithm of a duration in seconds, as jobs are compared by it."""
        floor_s = _FLOOR * self._seen_s / self._seen if self._seen else 0.0
        return math.log2(max(duration_s + floor_s, 2.0**-10))

    def compare(self, n_tasks: float, log2_sum: float, log2_squares: float) -> None:
        """Learn from a job that has ended.

        Args:
            n_tasks: How many tasks it had; of one that had a single one nothing is learnt.
            log2_sum: Sum over its tasks of `log2_of`.
            log2_squares: Sum of the squares of the same.
        """
        if n_tasks < 2.0:  # noqa: PLR2004 - a single one differs from none
            return
        mean = log2_sum / n_tasks
        self._jobs += 1.0
        self._within += max(0.0, log2_squares - log2_sum * mean) / (n_tasks - 1.0)
        self._means += mean
        self._means_squared += mean * mean
        self._inverse_sizes += 1.0 / n_tasks
        self._alike = self._estimate()

    def _estimate(self) -> float:
        jobs, within = self._jobs, self._within / self._jobs
        of_means = max(0.0, self._means_squared - self._means**2 / jobs) / max(1.0, jobs - 1.0)
        between = max(0.0, of_means - within * self._inverse_sizes / jobs)
        return (between * jobs + _PRIOR_JOBS) / ((between + within) * jobs + _PRIOR_JOBS)

    def spread_octaves(self, believed: float) -> float:
        """Standard deviation of binary logarithms of durations within a job, each job counting once, in octaves.

        Args:
            believed: The same before any job has ended. It counts for a few of them.
        """
        return math.sqrt((self._within + _PRIOR_JOBS * believed**2) / (self._jobs + _PRIOR_JOBS))

    @property
    def alike(self) -> float:
        """Part of the variance that is between jobs, in [0, 1]: 1 if an ended task tells everything."""
        return self._alike

    def weight_of(self, witnesses: FloatArray) -> FloatArray:
        """Weight of what so many tasks of a job tell against what all jobs do.

        Parameters
        ----------
        witnesses : float64 array of shape (n_jobs,)
            At least 1.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            In [0, 1].
        """
        alike = self._alike
        if not alike:
            return np.zeros_like(witnesses)
        weights: FloatArray = witnesses * alike / (1.0 + (witnesses - 1.0) * alike)
        return weights
