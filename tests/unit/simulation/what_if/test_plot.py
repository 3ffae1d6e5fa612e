"""Plots of a comparison: what is drawn is what is known, and a file is written or the reason is said."""

import pytest

from shim.errors import BadRequestError
from shim.simulation.what_if.comparison import ALL
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.what_if.plot import distributions, plot_comparison
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

JOBS = (
    PastJob("a", "root.a", "u", 0.0, waited_s=3.0, took_s=30.0),
    PastJob("b", "root.b", "u", 1.0, waited_s=None, took_s=20.0),
)
REPLAYED = {"present": YarnOutcome(jobs=(), times={"a": ManagerTimes(1.0, 9.0, 1.0, 1.0)})}
COLUMNS = {"history": {ALL: {"use": 5.0}, "root.a": {"use": 5.0}}, "present": {"root.a": {"use": 4.0}, "root.b": {}}}


def test_only_what_is_known_is_drawn():
    drawn = distributions(JOBS, "history", REPLAYED)
    assert drawn["waiting"] == {"history": [3.0], "present": [1.0]}
    assert drawn["completion"] == {"history": [20.0, 30.0], "present": [9.0]}
    assert distributions((), "history", {}) == {"waiting": {}, "completion": {}}


@pytest.mark.parametrize("name", ["x.png", "x.svg"])
def test_a_file_is_written(tmp_path, name):
    pytest.importorskip("matplotlib")
    plot_comparison(distributions(JOBS, "history", REPLAYED), COLUMNS, tmp_path / name)
    plot_comparison(distributions((), "history", {}), {}, tmp_path / name)
    assert (tmp_path / name).read_bytes()[:5] in {b"\x89PNG\r", b"<?xml"}


def test_other_files_are_refused(tmp_path):
    with pytest.raises(BadRequestError, match="png"):
        plot_comparison({}, {}, tmp_path / "x.txt")
