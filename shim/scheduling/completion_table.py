"""C(p, a): how long a job still takes at progress p with a containers, from simulated runs of its former one.

Ready tasks start while containers are free. A run that ends at E adds at each of its events, at time t, the sample
E - t to the cell of the progress reached. A cell predicts by its largest sample.

Source: Ferguson et al., EuroSys 2012, section 4.1.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.former_runs import INDICATORS, FormerStage, amdahl_s

Draw = Callable[[int], int]
"""From a number to a drawn integer below it, such as `random.Random.randrange`: a run can be repeated."""
_NEARLY = 1e-9
_EVENTS = 400
"""Of a run with more ends of tasks, about so many are looked at."""
_MOST_ALLOCATION = 100_000


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One run: its end, each event's time with the parts that have ended, and the stages with their queueing."""

    ends_s: float
    events: list[tuple[float, tuple[float, ...]]]
    stages: tuple[FormerStage, ...]


def simulate_run(stages: Sequence[FormerStage], allocation: int, draw: Draw) -> SimulatedRun:
    """Run a job once on so many containers, each task's time drawn from its stage's samples."""
    ended, begun = [0] * len(stages), [False] * len(stages)
    since_s, last_s, queued_s = ([0.0] * len(stages) for _ in range(3))
    ready, running = deque[int](), list[tuple[float, int]]()
    now_s, events = 0.0, list[tuple[float, tuple[float, ...]]]()
    every, n_ended, is_new = max(1, sum(stage.n_tasks for stage in stages) // _EVENTS), 0, True
    while True:
        if is_new:
            for number, stage in enumerate(stages):
                if not begun[number] and all(ended[each] == stages[each].n_tasks for each in stage.parents):
                    begun[number], since_s[number] = True, now_s
                    ready.extend([number] * stage.n_tasks)
        while ready and len(running) < allocation:
            number = ready.popleft()
            queued_s[number] += now_s - since_s[number]
            samples = stages[number].durations_s
            heapq.heappush(running, (now_s + samples[draw(len(samples))], number))
        if is_new or n_ended >= every:
            n_ended = 0
            events.append((now_s, tuple(done / stage.n_tasks for done, stage in zip(ended, stages, strict=True))))
        if not running:
            break
        now_s, is_new = running[0][0], False
        while running and running[0][0] <= now_s:
            number = heapq.heappop(running)[1]
            ended[number] += 1
            n_ended += 1
            last_s[number] = now_s
            is_new = is_new or ended[number] == stages[number].n_tasks
    told = zip(stages, queued_s, since_s, last_s, strict=True)
    measured = (replace(stage, queued_s=q, begins_s=begin, ends_s=end) for stage, q, begin, end in told)
    return SimulatedRun(now_s, events, tuple(measured))


def allocation_grid(most: int) -> tuple[int, ...]:
    """Numbers of containers for which a table has columns: 1, 2, 3, 4, 6, 8, 10, then steps of a quarter."""
    most = min(max(1, most), _MOST_ALLOCATION)
    grid = [each for each in (1, 2, 3, 4, 6, 8, 10) if each < most]
    while grid and grid[-1] >= 10 and int(grid[-1] * 1.25) < most:  # noqa: PLR2004 - the steps' begin
        grid.append(int(grid[-1] * 1.25))
    return (*grid, most)


@dataclass(frozen=True, slots=True, eq=False)
class CompletionTable:
    """Seconds left by progress and allocation.

    Attributes:
        grid: Allocations of the columns, rising.
        left_s: float64 array of shape (n_buckets + 1, len(grid)), by progress from 0 to 1.
    """

    grid: tuple[int, ...]
    left_s: FloatArray

    def at(self, progress: float) -> FloatArray:
        """Seconds left by allocation of the grid; between two buckets by the line through them."""
        place = min(max(progress, 0.0), 1.0) * (len(self.left_s) - 1)
        row = min(int(place + _NEARLY), len(self.left_s) - 1)
        above, rest = min(row + 1, len(self.left_s) - 1), max(0.0, place - row)
        left_s: FloatArray = (1.0 - rest) * self.left_s[row] + rest * self.left_s[above]
        return left_s


@dataclass(frozen=True, slots=True, eq=False)
class JobForecast:
    """Prediction for a job from its former runs.

    Attributes:
        table: C(p, a); None where nothing was simulated: Amdahl's estimate then.
        indicator: A name of `INDICATORS`, which the table was made with.
    """

    stages: tuple[FormerStage, ...]
    table: CompletionTable | None = None
    indicator: str = "work-with-queueing"

    def progress(self, finished: Sequence[int]) -> tuple[float, tuple[float, ...]]:
        """Give the progress, and the part of each stage that has ended."""
        counts = zip(finished, self.stages, strict=True)
        parts = tuple(min(1.0, done / max(1, stage.n_tasks)) for done, stage in counts)
        return INDICATORS[self.indicator](self.stages, parts), parts

    def left_s(self, progress: float, parts: Sequence[float], most: int) -> tuple[tuple[int, ...], FloatArray]:
        """Allocations of at most so many containers, and the seconds that the job takes with each."""
        grid = allocation_grid(most) if self.table is None else self.table.grid
        if self.table is None:
            left_s = np.array([amdahl_s(self.stages, parts, each) for each in grid])
        else:
            left_s = self.table.at(progress)
        n_usable = max(1, sum(each <= most for each in grid))
        return grid[:n_usable], left_s[:n_usable]


def build_forecast(
    stages: Sequence[FormerStage],
    most: int,
    draw: Draw,
    *,
    n_runs: int = 8,
    n_buckets: int = 20,
    indicator: str = "work-with-queueing",
) -> JobForecast:
    """Simulate a job on each allocation of a grid, so many times each; the same draws give the same table.

    A cell that no run met has what the next one of more progress says.
    """
    grid = allocation_grid(most)
    base = simulate_run(stages, grid[(len(grid) - 1) // 2], draw).stages
    left_s = np.full((n_buckets + 1, len(grid)), -1.0)
    left_s[n_buckets] = 0.0
    for column, allocation in enumerate(grid):
        for _ in range(n_runs):
            run = simulate_run(stages, allocation, draw)
            for at_s, parts in run.events:
                row = int(INDICATORS[indicator](base, parts) * n_buckets + _NEARLY)
                left_s[row, column] = max(left_s[row, column], run.ends_s - at_s)
    for row in range(n_buckets - 1, -1, -1):
        left_s[row] = np.where(left_s[row] < 0.0, left_s[row + 1], left_s[row])
    return JobForecast(base, CompletionTable(grid, left_s), indicator)
