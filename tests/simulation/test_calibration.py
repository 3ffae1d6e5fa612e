"""Small version of `scripts/calibration.py`: jobs end on real clusters, and take about as long as in the model."""

import pytest

from scripts.calibrating.draw import drawn_jobs
from scripts.calibrating.rows import ROWS
from scripts.calibration import compared_rows

JOBS = 12
SEED = 3
FURTHEST = 0.35
"""How far the means of a few jobs on a busy machine may be apart."""


@pytest.mark.lab
def test_jobs_take_about_as_long_in_the_model_as_on_real_clusters():
    rows = [ROWS["heddle, fewest-tasks"], ROWS["each cluster by itself"]]
    found = list(compared_rows(rows, drawn_jobs(SEED, JOBS), seed=SEED, runs=1, measuring=JOBS))
    assert [row.name for row in found] == [row.name for row in rows]
    for row in found:
        assert [len(run) for run in row.real] == [JOBS]  # all have ended
        assert abs(row.ratio - 1.0) < FURTHEST, row
