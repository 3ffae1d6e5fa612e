"""A run: arrivals come in order and at their time, and impossible settings are refused."""

import pytest

from shim.errors import BadRequestError
from shim.simulation.run import Run, Setting
from shim.simulation.traces import TraceJob, Workload


def test_each_job_arrives_once_at_its_time():
    workload = Workload("w", tuple(TraceJob(index, at_s, (1.0,), 1.0) for index, at_s in enumerate((2.0, 2.0, 5.0))))
    run = Run(workload, Setting(n_workers=25))
    seen = []
    run.start_arrivals(lambda job: seen.append((job.index, run.engine.now_s)))
    run.engine.run()
    assert seen == [(0, 2.0), (1, 2.0), (2, 5.0)]


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ({"n_workers": 24}, "25 Local Masters share 24"),
        ({"n_workers": 25, "worker_constraints": (1,)}, "constraints of 1"),
    ],
)
def test_impossible_settings_are_refused(sizes, complaint):
    with pytest.raises(BadRequestError, match=complaint):
        Setting(**sizes)
