"""Figures of a comparison: memory over time is that of the applications, and bars are theirs."""

import pytest

from shim.simulation.what_if.figures import comparison_figures
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

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
