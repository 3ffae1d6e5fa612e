"""Omega's conflict fractions in a contended cell, against those measured with the published simulator.

The table of evaluation.md runs for longer; here each cell is of a shorter run and one seed, hence the wider
tolerance.
"""

import pytest

from scripts.papers.omega_conflicts import conflict_fraction, contended_workload
from shim.simulation.omega import ConflictMode, OmegaRules, TransactionMode

HORIZON_S = 2500.0
MEASURED = {
    (ConflictMode.RESOURCE_FIT, TransactionMode.ALL_OR_NOTHING): {0.1: 0.606, 1.0: 0.696, 10.0: 0.642},
    (ConflictMode.RESOURCE_FIT, TransactionMode.INCREMENTAL): {0.1: 0.629, 1.0: 0.795, 10.0: 0.721},
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.ALL_OR_NOTHING): {0.1: 0.594, 1.0: 0.876, 10.0: 0.890},
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.INCREMENTAL): {0.1: 0.626, 1.0: 0.796, 10.0: 0.782},
}
"""By the seconds for which a scheduler thinks about a job."""
CASES = [(*modes, think_s, found) for modes, row in MEASURED.items() for think_s, found in row.items()]


@pytest.mark.parametrize(("conflict", "transaction", "think_s", "measured"), CASES)
def test_the_conflict_fraction_is_near_the_measured_one(conflict, transaction, think_s, measured):
    workload = contended_workload(1, HORIZON_S)
    rules = OmegaRules(conflict, transaction)
    found = conflict_fraction(workload, rules, think_job_s=think_s, seed=1, horizon_s=HORIZON_S)
    assert found == pytest.approx(measured, rel=0.15)
