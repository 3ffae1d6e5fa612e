import json

from typer.testing import CliRunner

from shim.cli.policy import app


def test_kinds_tell_in_which_world_each_policy_runs_and_what_it_needs():
    answer = CliRunner().invoke(app, ["kinds", "-o", "json"])
    rows = {row["policy"]: row for row in json.loads(answer.output)}
    assert rows["fewest-tasks"]["worlds"] == "yarn, yarn-sim, direct"
    assert rows["sparrow"]["worlds"] == "direct"
    assert "a queue at each node" in rows["sparrow"]["needs"]
    assert [each["key"] for each in rows["sparrow"]["parameters"]] == ["probes"]


def test_kinds_tell_the_parameters_of_one_policy_with_the_papers_values():
    answer = CliRunner().invoke(app, ["kinds", "jockey", "-o", "json"])
    rows = {row["key"]: row for row in json.loads(answer.output)}
    assert (rows["hysteresis"]["default"], rows["hysteresis"]["paper"]) == (0.5, 0.2)
    assert rows["hysteresis"]["allowed"] == "a number between 0.01 and 1"
    assert rows["slack"]["paper"] == rows["slack"]["default"] == 1.2
    assert CliRunner().invoke(app, ["kinds", "best"]).exit_code == 2
