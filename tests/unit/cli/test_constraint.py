"""`heddle constraint`, in front of a Heddle that is scripted."""

import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.main import app
from shim.config.policy_files import parse_policy

TEXT = """\
# ours
[[queue]]
name = "root.a"  # kept

[[constraint]]
name = "apart"
subject = "hb"
want = "0 hb in node"
hard = true
"""


class Scripted:
    """A Heddle with one policy."""

    def __init__(self):
        self.text, self.version, self.notes, self.moves_on = TEXT, 3, [], False

    def answer(self, request):
        if request.method == "GET":
            told = {"version": self.version, "text": self.text}
            self.version += self.moves_on
            return httpx.Response(200, json=told)
        sent = json.loads(request.content)
        if sent["expected"] != self.version:
            return httpx.Response(409, json={"RemoteException": {"message": f"version {self.version} holds"}})
        parse_policy(sent["text"], source="sent")
        if not sent.get("dry_run"):
            self.text, self.version = sent["text"], self.version + 1
        self.notes.append(sent["note"])
        return httpx.Response(200, json={"version": self.version, "note": sent["note"], "constraints": 2})


@pytest.fixture
def heddle(monkeypatch):
    scripted, made = Scripted(), front_module.Front
    transport = httpx.MockTransport(scripted.answer)
    monkeypatch.setattr(front_module, "Front", lambda *each, **named: made(*each, **named, transport=transport))
    return scripted


def run(*words, code=0):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["constraint", *words, "--server", "http://heddle:8088", "--user", "ada"]
    )
    assert done.exit_code == code, done.output
    return done.output


def test_constraints_are_listed_as_the_policy_has_them(heddle):
    assert run("list").splitlines()[1].split() == ["apart", "hb", "0", "hb", "in", "node", "hard"]
    heddle.text = ""
    assert run("list").startswith("# no constraints")
    assert json.loads(run("list", "-o", "json")) == []


def test_one_is_added_behind_the_others_and_all_else_is_kept(heddle):
    wish = "1.. cache in rack or ..2 a+b in cluster"
    run("add", "near", "--subject", "web", "--subject", "eu", "--want", wish, "--weight", "5", "-m", "why")
    assert "# ours" in heddle.text
    assert "# kept" in heddle.text
    first, second = parse_policy(heddle.text, source="a").rules.constraints
    assert (first.name, first.is_hard) == ("apart", True)
    assert (second.name, second.subject, second.weight) == ("near", frozenset({"web", "eu"}), 5.0)
    assert heddle.notes == ["why"]


def test_the_first_of_a_policy_is_added_and_the_last_removed(heddle):
    run("remove", "apart")
    assert heddle.text.strip() == '# ours\n[[queue]]\nname = "root.a"  # kept'
    run("add", "one", "--subject", "x", "--want", "0 x in node", "--hard")
    (one,) = parse_policy(heddle.text, source="a").rules.constraints
    assert (one.name, one.is_hard) == ("one", True)
    heddle.text = ""
    run("add", "one", "--subject", "x", "--want", "0 x in node")
    assert parse_policy(heddle.text, source="a").rules.constraints[0].name == "one"


def test_what_is_there_or_is_not_there_is_said(heddle):
    assert "there is a constraint 'apart' already" in run(
        "add", "apart", "--subject", "x", "--want", "0 x in node", code=2
    )
    assert "there is no constraint 'far'; there are apart" in run("remove", "far", code=3)
    assert heddle.text == TEXT


def test_a_policy_that_was_applied_meanwhile_is_not_overwritten(heddle):
    heddle.moves_on = True
    run("remove", "apart", code=1)
    assert heddle.text == TEXT
