import json

from typer.testing import CliRunner

from shim.cli.policy import app


def test_kinds_tell_in_which_world_each_policy_runs_and_what_it_needs():
    answer = CliRunner().invoke(app, ["kinds", "-o", "json"])
    rows = {row["policy"]: row for row in json.loads(answer.output)}
    assert rows["fewest-tasks"]["worlds"] == "yarn, yarn-sim, direct"
    assert rows["sparrow"]["worlds"] == "direct"
    assert "a queue at each node" in rows["sparrow"]["needs"]
