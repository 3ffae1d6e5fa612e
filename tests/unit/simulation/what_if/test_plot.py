"""Plots of a comparison: what is drawn is what is known, and a file is written or the reason is said."""

import pytest

from shim.errors import BadRequestError
from shim.simulation.what_if.comparison import ALL
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.what_if.plot import comparison_figures, distributions, plot_comparison
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


GIB_S = 1024.0


def test_memory_over_time_is_all_that_was_used_and_bars_are_from_submission_to_end(tmp_path):
    first = PastJob("a", "root.etl", "ada", 0.0, mib_s=10 * GIB_S, waited_s=2.0, took_s=7.0)
    unknown = PastJob("b", "root.etl", "ada", 1.0)
    replay = YarnOutcome([], times={"a": ManagerTimes(1.0, 5.0, 8 * GIB_S, 1.0), "b": ManagerTimes(0.0, 9.0, 9.0, 1.0)})
    figures = comparison_figures([first, unknown], "history", {"present": replay}, (), ())
    (over_time,) = figures.over_time
    really = over_time["lines"][0]
    width_s = really["at_s"][1] - really["at_s"][0]
    assert sum(really["values"]) * width_s == pytest.approx(10.0, rel=1e-3)
    assert really["values"][0] == 0.0
    assert [(each["name"], len(each["bars"])) for each in figures.jobs] == [("history", 1), ("present", 2)]
    assert figures.jobs[0]["bars"][0] == {"name": "a (root.etl)", "from_s": 0.0, "start_s": 2.0, "to_s": 7.0}
