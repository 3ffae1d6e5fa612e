"""Plots: utilisation over time is right, and the file is written."""

import numpy as np
import pytest

from shim.errors import BadRequestError
from shim.simulation.plots import plot_outcomes, utilisation_over_time
from shim.simulation.results import JobLedger
from shim.simulation.traces import Job, Workload


def an_outcome():
    ledger = JobLedger(Workload("w", (Job(0, 10.0, (4.0, 2.0), 3.0),)), n_slots=4)
    ledger.start(0, 0, 10.0)
    ledger.start(0, 1, 10.0)
    ledger.end(0, 1, 12.0)
    ledger.end(0, 0, 14.0)
    return ledger.outcome("test")


def test_utilisation_is_the_mean_of_each_interval():
    middles_s, share = utilisation_over_time(an_outcome(), n_bins=4)
    np.testing.assert_allclose(middles_s, [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(share, [0.5, 0.5, 0.25, 0.25])


@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml")])
def test_a_plot_is_a_file_of_the_kind_of_its_ending(tmp_path, name, magic):
    plot_outcomes([an_outcome()], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_an_unknown_ending_or_place_is_refused(tmp_path):
    with pytest.raises(BadRequestError, match="should end in"):
        plot_outcomes([an_outcome()], tmp_path / "p.gif")
    with pytest.raises(BadRequestError, match="cannot be written"):
        plot_outcomes([an_outcome()], tmp_path / "missing" / "p.png")
