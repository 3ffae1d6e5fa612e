"""Small version of `scripts/calibration.py`: jobs end on real clusters, and take about as long as in the model."""

import pytest

from scripts.calibrating.draw import drawn_jobs
from scripts.calibrating.rows import ROWS
from scripts.calibration import Plan, compared, measured_within, rows_on_labs

JOBS = 12
SEED = 3
WARMING = 2
"""Jobs that run first: what the model is told is measured in the compared run itself."""
LEAST, MOST = 0.4, 1.25
"""The model's mean by the real one, with launches as long as the real run had them beside other tests."""


@pytest.mark.lab
@pytest.mark.versions  # how near the model is changes with Hadoop, and with nothing of each day
def test_jobs_take_about_as_long_in_the_model_as_on_real_clusters():
    rows = [ROWS["heddle, fewest-tasks"], ROWS["each cluster by itself"]]
    plan = Plan(drawn_jobs(SEED, JOBS), SEED, measuring=WARMING)
    for found in list(rows_on_labs(rows, plan)):
        row = compared(measured_within(found), plan.jobs)
        if not LEAST < row.ratio < MOST:  # the machine may have had a bad minute: a model that is off is so again
            (again,) = rows_on_labs([found.row], plan)
            row = compared(measured_within(again), plan.jobs)
        assert [len(run) for run in row.real] == [JOBS]  # all have ended
        assert LEAST < row.ratio < MOST, row
