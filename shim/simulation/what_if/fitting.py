"""Lengths of tasks where a history tells amounts alone, fitted so that the replay of the present takes as long.

A list of ended applications has neither the width of an application nor what it waited for containers; the time from
launch to end contains that waiting. Tasks as long as the application would wait a second time in a full replay. So the
present is replayed several times, and each application's tasks become shorter and more, or longer and fewer, by the
ratio of its real to its replayed time; its work stays the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shim.simulation.what_if.comparison import match_of
from shim.simulation.what_if.past_jobs import SHORTEST_S, PastJob
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

__all__ = ["FittedReplay", "fit_lengths", "is_fittable"]

_SHORTEST_PART = 1.0 / 8.0
"""Of its whole run: no application becomes more than eight times as wide as it was in the mean."""


@dataclass(frozen=True, slots=True)
class FittedReplay:
    """The replay of the present that is nearest to what happened.

    Attributes:
        lengths_s: Of the tasks of applications, by name.
        outcome: Of that replay.
        errors_s: Mean error of completion in each round, the first before anything was fitted.
    """

    lengths_s: Mapping[str, float]
    outcome: YarnOutcome
    errors_s: tuple[float, ...]


def is_fittable(job: PastJob) -> bool:
    """True if amounts are all that is known of its work, and its times are told."""
    return not job.stages and job.took_s is not None


def fit_lengths(
    jobs: Sequence[PastJob],
    replay: Callable[[Mapping[str, float]], YarnOutcome],
    *,
    startup_s: float,
    rounds: int,
) -> FittedReplay:
    """Replay the present until `rounds` corrections have been tried; the best replay counts.

    Args:
        jobs: Of the history.
        replay: The present with tasks of these lengths, by the names of applications; others have their whole run.
        startup_s: See `modelled`.
        rounds: Corrections; with 0 the present is replayed once. Fewer are made where none could help.
    """
    wanted = [job for job in jobs if is_fittable(job)]
    lengths_s: dict[str, float] = {}
    best = FittedReplay({}, replay({}), ())
    errors_s = [_error_s(jobs, best.outcome)]
    last = best
    for _ in range(rounds if wanted else 0):
        lengths_s = {job.name: _corrected_s(job, last, startup_s) for job in wanted}
        last = FittedReplay(lengths_s, replay(lengths_s), ())
        errors_s.append(_error_s(jobs, last.outcome))
        if errors_s[-1] < min(errors_s[:-1]):
            best = last
    return FittedReplay(best.lengths_s, best.outcome, tuple(errors_s))


def _error_s(jobs: Sequence[PastJob], outcome: YarnOutcome) -> float:
    match = match_of(jobs, outcome).get("completion")
    return match.error_s if match else 0.0


def _corrected_s(job: PastJob, last: FittedReplay, startup_s: float) -> float:
    """The length of its tasks in the next round; never longer than it ran."""
    longest_s = max(SHORTEST_S, job.run_s - startup_s)
    length_s = last.lengths_s.get(job.name, longest_s)
    times = last.outcome.times.get(job.name)
    if times is None:
        return length_s
    replayed_s = max(SHORTEST_S, _run_s(job, times) - startup_s)
    return min(longest_s, max(_SHORTEST_PART * longest_s, length_s * longest_s / replayed_s))


def _run_s(job: PastJob, times: ManagerTimes) -> float:
    """Take from a replay the counterpart of `PastJob.run_s`."""
    return times.ended_s if job.waited_s is None else times.ended_s - times.launched_s
