"""The file of figures that the console draws."""

import json
import math

import pytest

from shim.errors import BadRequestError
from shim.simulation.figures_file import MOST_BARS, FiguresFile, JobBar


def test_what_was_gathered_is_written(tmp_path):
    figures = FiguresFile("a run", (("POLICY", "policy"),), [{"policy": "x"}])
    figures.add_distribution("delay (s)", {"x": range(100, -1, -1), "none": []})
    figures.add_over_time("use (%)", {"x": ([0.5, 1.5], [10.0, math.nan])})
    figures.add_jobs("x", [JobBar("job 0", 0.0, 1.0, 2.0)])
    figures.write(tmp_path / "f.json")
    told = json.loads((tmp_path / "f.json").read_text())
    assert told["heddle_figures"] == 1
    (line,) = told["distributions"][0]["lines"]
    assert (line["name"], line["percentiles"][0], line["percentiles"][50]) == ("x", 0, 50)
    assert told["over_time"][0]["lines"] == [{"name": "x", "at_s": [0.5, 1.5], "values": [10.0, None]}]
    assert told["jobs"][0]["bars"] == [{"name": "job 0", "from_s": 0.0, "start_s": 1.0, "to_s": 2.0}]


def test_jobs_that_are_too_many_to_look_at_are_left_out(tmp_path):
    figures = FiguresFile("large")
    figures.add_jobs("x", [JobBar("job", 0.0, 0.0, 1.0)] * (MOST_BARS + 1))
    figures.write(tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["jobs"] == []


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(BadRequestError, match="cannot be written"):
        FiguresFile("x").write(tmp_path / "missing" / "f.json")
