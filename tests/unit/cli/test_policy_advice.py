"""`heddle policy advise`: every policy has figures or the reason why not, and how sure they are."""

import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app


def advise(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["policy", "advise", *map(str, words)])


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "some.tr"
    file.write_text("".join(f"{4 * at} 2 3 3 3\n" for at in range(18)))
    return file


def test_rows_for_programs_have_intervals_and_the_reason_of_what_did_not_run(trace):
    told = json.loads(advise("--history", trace, "--compare", "fifo,jockey", "--against", "fifo", "-o", "json").stdout)
    by_name = {row["policy"]: row for row in told}
    assert by_name["fifo"]["verdict"] == "in force"
    assert (by_name["fifo"]["gain"], by_name["fifo"]["interval"], by_name["fifo"]["advised"]) == (0.0, [0.0, 0.0], True)
    assert len(by_name["fifo"]["gains"]) == 3
    assert "the deadline of each job" in by_name["jockey"]["why_not"]


def test_a_table_with_what_follows(trace):
    told = advise("--history", trace, "--compare", "fifo", "--against", "fifo", "--jobs", "6")
    assert told.exit_code == 0, told.output
    assert "6 applications in 1 windows" in told.stdout
    assert "nothing is sure: it takes 18 applications" in told.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--compare", "megha"), "megha: it needs"),
        (("--compare", "fifo,none-such"), "none-such: there is no such policy"),
        (("--against", "none-such"), "none-such: there is no such policy"),
        (("--windows", "0"), "--windows"),
        (("--present", "/none-such"), "none-such"),
        (("--config", "/none-such"), "none-such"),
    ],
)
def test_what_cannot_be_is_said(trace, words, says):
    told = advise("--history", trace, *words)
    assert told.exit_code == 2
    assert says in " ".join(told.output.split())


@pytest.mark.parametrize("text", ["[", '{"job.id": "a"}', "", "7"])
def test_what_is_no_history_is_said(tmp_path, text):
    file = tmp_path / "broken.json"
    file.write_text(text)
    told = advise("--history", file)
    assert told.exit_code == 2
    assert "broken.json" in " ".join(told.output.split())
