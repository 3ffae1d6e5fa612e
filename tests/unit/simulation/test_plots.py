"""Plots: utilisation over time is right, and the file is written."""

import numpy as np
import pytest

from shim.errors import BadRequestError
from shim.simulation.figures_file import FiguresFile, JobBar
from shim.simulation.plots import draw_figures, plot_outcomes, utilisation_over_time
from shim.simulation.results import JobLedger
from shim.simulation.traces import TraceJob, Workload


def an_outcome():
    ledger = JobLedger(Workload("w", (TraceJob(0, 10.0, (4.0, 2.0), 3.0),)), n_slots=4)
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


def test_figures_have_a_panel_for_each_line_and_a_chart_for_each_small_run(tmp_path):
    figures = FiguresFile("three kinds of figures")
    figures.add_distribution("delay (s)", {"one": [1.0, 2.0], "none": []})
    figures.add_over_time("use (%)", {"one": ([0.0, 1.0], [5.0, np.nan])})
    figures.add_jobs("jobs of one", [JobBar("job 0", 0.0, 1.0, 2.0)])
    draw_figures(figures, tmp_path / "p.svg")
    drawn = (tmp_path / "p.svg").read_text()
    for text in ("three kinds of figures", "delay (s)", "use (%)", "jobs of one"):
        assert f"<!-- {text} -->" in drawn


def test_without_values_there_is_nothing_to_draw_and_no_failure(tmp_path):
    figures = FiguresFile("nothing has ended")
    figures.add_distribution("delay (s)", {})
    draw_figures(figures, tmp_path / "p.svg")
    assert (tmp_path / "p.svg").exists()
