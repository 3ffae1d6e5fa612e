"""What verbs say of themselves, and of words that they do not know."""

import re

import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.front import ExitCode
from shim.cli.main import app

NOBODY = ("--server", "http://127.0.0.1:9", "--user", "ada")


def run(*words):
    return CliRunner().invoke(app, [*words], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})


@pytest.fixture
def answers(monkeypatch):
    """Bodies by path, for what a verb asks."""
    bodies = {}
    made = front_module.Front
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=bodies[request.url.path]))
    monkeypatch.setattr(front_module, "Front", lambda *each, **named: made(*each, **named, transport=transport))
    return bodies


@pytest.mark.parametrize("verb", ["doctor", "submit", "usage", "serve", "app list", "cluster drain", "policy validate"])
def test_a_flag_has_no_type(verb):
    told = run(*verb.split(), "--help").output
    assert "<bool>" not in told
    assert "Exit codes: 0 done" in told or verb == "serve"


@pytest.mark.parametrize("verb", ["doctor", "submit"])
def test_help_flows_to_the_width_of_the_terminal(verb):
    lines = [line.strip() for line in run(verb, "--help").output.split("╭")[0].splitlines()]
    prose = [line for line in lines if line and not line.startswith("Usage")]
    ends = [line for line in prose if len(line) < 45 and not line.endswith((".", ":"))]
    assert ends == [], "no line is broken where the source is"


@pytest.mark.parametrize(
    ("words", "meant"), [(("app", "ls"), "list"), (("queue", "ls"), "list"), (("app", "describe"), "status")]
)
def test_what_a_verb_is_called_elsewhere_leads_to_it(words, meant):
    told = run(*words)
    assert told.exit_code == 2
    assert f"Did you mean '{meant}'?" in told.output


@pytest.mark.parametrize(
    "words",
    [
        ("usage", "--from", "yesterday"),
        ("usage", "--to", "2026-13-01"),
        ("usage", "--from", "-1h"),
        ("usage", "--last", "yesterday"),
        ("usage", "--last", "0h"),
        ("usage", "--last", "1h", "--from", "2026-11-01"),
        ("submit", "--command", "x", "--deadline", "tomorrow", "--dry-run"),
        ("submit", "--command", "x", "--deadline", "+45x"),
        ("submit", "--command", "x", "--gang", "some", "--dry-run"),
        ("submit", "--command", "x", "--tag", "heddle-deadline=soon", "--dry-run"),
    ],
    ids=" ".join,
)
def test_what_is_no_time_is_wrong_usage_whether_a_heddle_is_there_or_not(words):
    assert run(*words, *NOBODY).exit_code == ExitCode.USAGE


def test_a_dry_run_without_a_possible_home_is_no_success(answers):
    answers["/heddle/v1/choose-home"] = {"home": None, "reason": "no cluster is usable", "candidates": []}
    told = run("submit", "--command", "x", "--dry-run", *NOBODY)
    assert told.exit_code == ExitCode.UNAVAILABLE
    assert "no cluster is usable" in told.stdout
    answers["/heddle/v1/choose-home"] = {"home": "east", "reason": "best", "candidates": []}
    assert run("submit", "--command", "x", "--dry-run", *NOBODY).exit_code == 0


def test_a_federation_without_a_policy_is_told_to_have_none(answers):
    answers["/heddle/v1/policy"] = {"text": "", "version": 0}
    assert run("policy", "show", *NOBODY).stdout.startswith("# no policy")


def test_times_of_a_policy_are_times_and_what_was_only_tried_has_none(answers, tmp_path):
    held = {"version": 3, "applied_at_ms": 1_795_861_406_214, "applied_by": "eve", "note": "why"}
    answers["/heddle/v1/policy/history"] = {"versions": [held]}
    told = run("policy", "history", *NOBODY).stdout
    assert "2026-11-28T10:23:26Z" in told
    assert "1795861406214" not in told
    file = tmp_path / "policy.toml"
    file.write_text("")
    answers["/heddle/v1/policy"] = {**held, "text": "", "dry_run": True}
    tried = run("policy", "apply", str(file), "--dry-run", *NOBODY).stdout
    assert "eve" not in tried
    assert "none, as nothing was changed" in tried
    answers["/heddle/v1/policy"] = {**held, "text": "", "dry_run": False}
    assert "eve" in run("policy", "apply", str(file), *NOBODY).stdout


def test_kinds_of_policies_fit_a_terminal_and_say_which_queues_may_have():
    lines = run("policy", "kinds").stdout.splitlines()
    assert max(map(len, lines)) <= 150
    assert "containers =" not in "\n".join(lines)
    rows = {line.split()[0]: line for line in lines}
    assert " no " in rows["megha"]
    assert " yes " in rows["fair"]


def test_lists_are_had_for_a_spreadsheet_everywhere(answers):
    answers["/heddle/v1/clusters"] = {"clusters": [{"id": "=east", "age_s": -1.5, "running": 3, "left": ["a", "b"]}]}
    assert (
        run("cluster", "list", "-o", "csv", *NOBODY).stdout
        == 'id,age_s,running,left\n\'=east,-1.5,3,"[""a"", ""b""]"\n'
    )


def test_what_is_empty_is_a_dash_and_a_table_in_a_table_is_words(answers):
    told = {"id": "east", "was": "open", "admission": "draining", "still_running": [], "spanning": {}}
    answers["/heddle/v1/clusters/east/drain"] = told
    shown = run("cluster", "drain", "east", *NOBODY).stdout
    assert "{" not in shown
    answers["/heddle/v1/clusters/east/drain"] = {**told, "spanning": {"application_1_0001": 3}}
    assert "application_1_0001 3" in run("cluster", "drain", "east", *NOBODY).stdout


def test_use_of_the_last_hour_is_asked_for_and_told_in_percent(monkeypatch):
    asked = []
    row = {"queue": "root.a", "applications": 1, "memory_mib_s": 1, "vcore_s": 1, "share": 0.4235}
    row |= {"preempted_memory_mib_s": 0, "preempted_vcore_s": 0}

    def answer(request):
        asked.append(dict(request.url.params))
        return httpx.Response(200, json={"by": ["queue"], "usage": [row]})

    made, transport = front_module.Front, httpx.MockTransport(answer)
    monkeypatch.setattr("shim.cli.usage._now_ms", lambda: 10_000_000)
    monkeypatch.setattr(front_module, "Front", lambda *each, **named: made(*each, **{**named, "transport": transport}))
    assert "42.4%" in run("usage", "--last", "1h", *NOBODY).stdout
    assert asked[0]["from"] == str(10_000_000 - 3_600_000)
    assert "0.4235" in run("usage", "--last", "90m", "-o", "csv", *NOBODY).stdout


def texts_of(command, path=()):
    """Every text of help below a command, by where it stands."""
    yield path, command.help or ""
    for parameter in command.params:
        yield (*path, parameter.name), getattr(parameter, "help", None) or ""
    for name, child in getattr(command, "commands", {}).items():
        yield from texts_of(child, (*path, name))


def test_brackets_are_shown_and_taken_for_no_colour():
    marked = re.compile(r"(?<!\\)\[[a-z#/@][^\[]*?\]")
    told = dict(texts_of(get_command(app)))
    assert len(told) > 200
    assert [path for path, text in told.items() if marked.search(text)] == []
    assert "[[subcluster]]" in run("cluster", "add", "--help").output
