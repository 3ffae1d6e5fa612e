"""Omega's conflict fractions in a contended cell, against those measured with the published simulator.

The whole table of docs/evaluation.md runs for longer; here one think time in a shorter run, hence the wider tolerance.
"""

import pytest

from shim.policies.omega import ConflictMode, OmegaRules, TransactionMode
from shim.simulation.omega_conflicts import conflict_fraction, contended_workload

HORIZON_S = 2500.0
MEASURED_AT_10_S = [
    (ConflictMode.RESOURCE_FIT, TransactionMode.ALL_OR_NOTHING, 0.642),
    (ConflictMode.RESOURCE_FIT, TransactionMode.INCREMENTAL, 0.721),
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.ALL_OR_NOTHING, 0.890),
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.INCREMENTAL, 0.782),
]


@pytest.mark.parametrize(("conflict", "transaction", "measured"), MEASURED_AT_10_S)
def test_the_conflict_fraction_is_near_the_measured_one(conflict, transaction, measured):
    workload = contended_workload(1, HORIZON_S)
    rules = OmegaRules(conflict, transaction)
    found = conflict_fraction(workload, rules, think_job_s=10.0, seed=1, horizon_s=HORIZON_S)
    assert found == pytest.approx(measured, rel=0.15)
