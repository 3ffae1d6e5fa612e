import httpx
import pytest
import typer
from typer.testing import CliRunner

from heddle.client.calls import Call
from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.front import CHECKS_WITHIN_S, EXIT_CODES, ExitCode, Front, FrontError, front
from shim.cli.main import app
from shim.cli.settings import server_of

X = Call("GET", "/x", object)


def a_front(answer):
    """A Heddle that answers every call with what `answer` makes of the request."""
    return Front("http://heddle:8088/", "ada", transport=httpx.MockTransport(answer))


def remote_exception(status, message="no"):
    body = {"RemoteException": {"exception": "E", "message": message, "javaClassName": "j.E"}}
    return lambda _: httpx.Response(status, json=body)


def test_every_call_names_the_user_and_asks_for_json():
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(200, json={"ok": True})

    assert a_front(answer).ask(CALLS.applications(limit=3)) == {"ok": True}
    (request,) = seen
    assert dict(request.url.params) == {"limit": "3", "user.name": "ada"}
    assert request.headers["Accept"] == "application/json"


def test_what_heddle_has_checked_is_waited_for_longer_than_other_answers():
    waited = []

    def answer(request):
        waited.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={})

    for named in ({}, {"timeout_s": CHECKS_WITHIN_S}):
        Front("http://heddle:8088/", "ada", transport=httpx.MockTransport(answer), **named).ask(X)
    assert waited[0] < 120 < waited[1]  # which is how long a check may take


def test_an_answer_without_a_body_is_empty():
    assert a_front(lambda _: httpx.Response(202)).ask(MANAGER_CALLS.submit_context({})) == {}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, ExitCode.FAILED),
        (401, ExitCode.NOT_ALLOWED),
        (403, ExitCode.NOT_ALLOWED),
        (404, ExitCode.NOT_FOUND),
        (409, ExitCode.FAILED),
        (500, ExitCode.FAILED),
        (503, ExitCode.UNAVAILABLE),
    ],
)
def test_the_status_decides_the_exit_code_and_the_body_says_why(status, code):
    with pytest.raises(FrontError, match="not hers") as caught:
        a_front(remote_exception(status, "not hers")).ask(X)
    assert caught.value.code is code


def test_an_answer_that_is_no_error_body_is_told_by_its_status():
    with pytest.raises(FrontError, match="GET /x: status 500"):
        a_front(lambda _: httpx.Response(500, text="<html>")).ask(X)


@pytest.mark.parametrize("server", ["127.0.0.1:8088", "heddle.example.com", "ftp://heddle:8088"])
def test_an_address_that_is_none_is_wrong_usage(server):
    with pytest.raises(FrontError, match="write --server http://host:port") as caught:
        Front(server, "ada").ask(CALLS.clusters())
    assert caught.value.code is ExitCode.USAGE


def test_another_program_at_that_address_is_not_taken_for_a_heddle():
    with pytest.raises(FrontError, match="Is it a Heddle that serves http://heddle:8088") as caught:
        a_front(lambda _: httpx.Response(404, text="<html>")).ask(CALLS.clusters())
    assert caught.value.code is ExitCode.UNREACHABLE


def test_what_web_services_of_java_put_before_a_message_is_left_out():
    with pytest.raises(FrontError) as caught:
        a_front(remote_exception(404, "java.lang.Exception: app with id: x not found")).ask(X)
    assert str(caught.value) == "app with id: x not found"


@pytest.mark.parametrize("error", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.ReadError("cut")])
def test_no_answer_has_an_exit_code_of_its_own(error):
    def fail(_):
        raise error

    with pytest.raises(FrontError) as caught:
        a_front(fail).ask(X)
    assert caught.value.code is ExitCode.UNREACHABLE
    assert "http://heddle:8088" in str(caught.value)


def test_a_failure_ends_the_command_with_its_code_and_one_line(capsys):
    with pytest.raises(typer.Exit) as caught, front("http://127.0.0.1:9", "ada"):
        raise FrontError(ExitCode.NOT_FOUND, "no app\nforged: all is well")
    assert caught.value.exit_code == ExitCode.NOT_FOUND
    assert capsys.readouterr().err == "no app\\nforged: all is well\n"


def test_help_tells_every_exit_code():
    assert all(f"{code.value} " in EXIT_CODES for code in ExitCode)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[server]\nrest = "10.0.0.7:9088"\n', "http://10.0.0.7:9088"),
        ('[server]\nrest = "0.0.0.0:9088"\n', "http://127.0.0.1:9088"),
        ('[server]\nrest = "[::]:9088"\n', "http://127.0.0.1:9088"),
        ('[server]\nrest = "h:9088"\n[server.tls]\ncertificate = "c"\n', "https://h:9088"),
        ('[server]\nrest = "127.0.0.1:0"\n', "else"),
        ("[server]\n", "else"),
        ("server = 7\n", "else"),
        ("not toml", "else"),
        (None, "else"),
    ],
)
def test_a_configuration_in_the_folder_says_where_heddle_is(tmp_path, text, told):
    config = tmp_path / "heddle.toml"
    if text is not None:
        config.write_text(text)
    assert server_of(config, "else") == told


def test_a_configuration_that_others_may_write_is_shown_no_token(tmp_path):
    config = tmp_path / "heddle.toml"
    config.write_text('[server]\nrest = "10.0.0.7:9088"\n')
    config.chmod(0o666)
    assert server_of(config, "else") == "else"


def test_a_server_that_is_named_goes_before_the_folders(tmp_path, monkeypatch):
    (tmp_path / "heddle.toml").write_text('[server]\nrest = "127.0.0.1:1"\n')
    monkeypatch.chdir(tmp_path)
    by_folder = CliRunner().invoke(app, ["cluster", "list"])
    assert "http://127.0.0.1:1" in by_folder.stderr
    named = CliRunner().invoke(app, ["cluster", "list", "--server", "http://127.0.0.1:2"])
    assert "http://127.0.0.1:2" in named.stderr
