"""`heddle token`, in front of a Heddle that is scripted, and tokens that verbs show."""

import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import front as front_module
from shim.cli.front import ExitCode
from shim.cli.main import app

TEXT = "heddle_0123456789abcdef_" + "A" * 43
ROW = {
    "id": "0123456789abcdef",
    "name": "ci",
    "user": "ada",
    "scopes": ["read", "submit"],
    "created_by": "ada",
    "created_at_ms": 1_800_000_000_000,
    "good_until_ms": 1_800_000_060_000,
}


@pytest.fixture
def asked(monkeypatch):
    seen = []

    def answer(request):
        seen.append(request)
        told = {"POST": {**ROW, "token": TEXT}, "GET": {"tokens": [ROW]}, "DELETE": {"id": ROW["id"], "revoked": True}}
        return httpx.Response(200, json=told[request.method])

    made = front_module.Front
    monkeypatch.setattr(
        front_module, "Front", lambda *each, **named: made(*each, **named, transport=httpx.MockTransport(answer))
    )
    return seen


def run(*arguments, code=0, **environment):
    done = CliRunner().invoke(
        app, ["token", *arguments, "--server", "http://heddle:8088", "--user", "ada"], env=environment
    )
    assert done.exit_code == code, done.output
    return done


def test_a_token_is_asked_for_and_printed(asked):
    done = run("create", "ci", "--scope", "submit", "--scope", "operate", "--days", "1.5", "--for", "bob")
    (request,) = asked
    assert (request.method, request.url.path) == ("POST", "/heddle/v1/tokens")
    assert json.loads(request.content) == {
        "name": "ci",
        "user": "bob",
        "scopes": ["submit", "operate"],
        "lifetime_s": 129_600.0,
    }
    assert TEXT in done.stdout
    assert "not shown again" in done.stderr
    assert json.loads(run("create", "ci", "-o", "json").stdout)["token"] == TEXT


@pytest.mark.parametrize(
    ("arguments", "query"),
    [((), {}), (("--for", "bob"), {"user": "bob"}), (("--all",), {"all": "true"})],
)
def test_tokens_are_listed(asked, arguments, query):
    shown = run("list", *arguments).stdout
    assert dict(asked[0].url.params) == {**query, "user.name": "ada"}
    assert "2027-01-15T08:01:00+00:00" in shown


def test_a_token_is_revoked_by_its_id(asked):
    run("revoke", ROW["id"])
    run("revoke", "../clusters")
    assert [request.url.raw_path.partition(b"?")[0] for request in asked] == [
        b"/heddle/v1/tokens/0123456789abcdef",
        b"/heddle/v1/tokens/..%2Fclusters",
    ]


@pytest.mark.parametrize(
    "arguments", [("create", "ci", "--scope", "all"), ("create", "ci", "--days", "367"), ("create",)]
)
def test_wrong_usage_asks_nobody(asked, arguments):
    run(*arguments, code=ExitCode.USAGE)
    assert not asked


def test_verbs_show_a_token_and_no_name(asked, tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TEXT}\n")
    file.chmod(0o600)
    run("list", HEDDLE_TOKEN=TEXT)
    run("list", HEDDLE_TOKEN_FILE=str(file))
    for request in asked:
        assert request.headers["Authorization"] == f"Bearer {TEXT}"
        assert not request.url.params


def test_a_token_file_that_cannot_be_used_is_told_and_nobody_is_asked(asked, tmp_path):
    file = tmp_path / "token"
    for text, mode, why in (
        (TEXT, 0o640, "others can read it"),
        ("", 0o600, "has no API token"),
        ("two words", 0o600, "something else"),
        ("\u00e9", 0o600, "cannot be used"),
        ("A" * 5000, 0o600, "has no API token"),
    ):
        file.write_text(text)
        file.chmod(mode)
        assert why in run("list", code=ExitCode.USAGE, HEDDLE_TOKEN_FILE=str(file)).stderr.replace("\n", " ")
    assert "cannot be used" in run("list", code=ExitCode.USAGE, HEDDLE_TOKEN_FILE=str(tmp_path / "none")).stderr
    assert not asked


def test_a_refused_token_is_not_allowed(monkeypatch):
    body = {"RemoteException": {"exception": "E", "message": "the API token is not known", "javaClassName": "j.E"}}
    made = front_module.Front
    transport = httpx.MockTransport(
        lambda _: httpx.Response(401, json=body, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
    )
    monkeypatch.setattr(front_module, "Front", lambda *each, **named: made(*each, **named, transport=transport))
    assert "not known" in run("list", code=ExitCode.NOT_ALLOWED, HEDDLE_TOKEN=TEXT).stderr
