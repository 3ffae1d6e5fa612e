"""Documents and rows: their form is a promise."""

import json

import pytest

from shim.simulation.registry import COLUMNS, document, row, rows
from shim.simulation.results import JobLedger
from shim.simulation.run import Setting
from shim.simulation.traces import TraceJob, Workload

SETTING = Setting(n_workers=30, seed=7)


def an_outcome(policy="heddle", cutoff_s=3.0):
    ledger = JobLedger(Workload("trace", (TraceJob(0, 1.0, (2.0,), 2.0),), cutoff_s), n_slots=1)
    ledger.start(0, 0, 2.5)
    ledger.end(0, 0, 4.5)
    outcome = ledger.outcome(policy)
    outcome.messages.update({"launch": 3})
    outcome.size_bytes.update({"launch": 120})
    outcome.inconsistencies.update({"internal": 4, "external": 5})
    outcome.repartitions = 6
    outcome.decision_s = (1e-5, 2e-5, 9e-5)
    outcome.wall_s = 0.25
    return outcome


def test_the_document_has_the_promised_form():
    found = document(an_outcome(), SETTING)
    assert list(found)[:13] == [
        "policy", "trace", "workers", "gms", "lms", "seed", "job_delay_s", "short", "long",
        "messages_per_task", "inconsistencies", "utilisation", "wall_s",
    ]  # fmt: skip
    assert found["job_delay_s"] == {"mean": 1.5, "p50": 1.5, "p95": 1.5, "p99": 1.5, "max": 1.5}
    assert found["long"] == {"mean": None, "p50": None, "p95": None, "p99": None, "max": None}
    assert (found["workers"], found["gms"], found["lms"], found["seed"]) == (30, 4, 25, 7)
    assert found["inconsistencies"] == {"internal": 4, "external": 5}
    assert (found["messages_per_task"], found["bytes_per_task"], found["repartitions"]) == (3.0, 120.0, 6)
    assert found["decision_s"] == {"p50": 2e-5, "p99": 9e-5}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_row_has_a_cell_for_each_column():
    cells = row(an_outcome(), SETTING)
    assert set(cells) == {key for _, key in COLUMNS}
    assert (cells["mean"], cells["long"], cells["decision"]) == ("1.50", "-", "20.0")


def test_a_row_says_that_durations_were_told():
    outcome = an_outcome("eagle")
    outcome.uses_estimates = True
    assert row(outcome, SETTING)["policy"] == "eagle+est"


def test_several_seeds_get_a_row_of_their_mean():
    table = rows([(an_outcome("a"), SETTING), (an_outcome("b"), SETTING), (an_outcome("a"), SETTING)])
    assert [cells["policy"] for cells in table] == ["a", "a", "a, 2 seeds", "b"]
    assert table[2]["mean"] == "1.50 (1.50..1.50)"


@pytest.mark.parametrize(("delay_s", "text"), [(0.000512, "0.000512"), (12.345, "12.3"), (1234.5, "1234"), (0.0, "0")])
def test_numbers_have_three_digits_and_no_exponent(delay_s, text):
    ledger = JobLedger(Workload("t", (TraceJob(0, 0.0, (1.0,), 1.0),)), 1)
    ledger.start(0, 0, delay_s)
    ledger.end(0, 0, delay_s + 1.0)
    assert row(ledger.outcome("p"), SETTING)["mean"] == text
