"""`heddle cluster add | edit | remove`: what the file says of the clusters."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from shim.cli.cluster import app, wait_until_drained

TEXT = '# ours\n[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:1"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "heddle.toml"
    file.write_text(TEXT)
    return file


def run(file: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words, "--config", str(file)])
    return done.exit_code, done.output


def test_a_change_is_shown_and_written_when_it_is_asked_for(file: Path) -> None:
    code, shown = run(file, "add", "west", "--web", "http://127.0.0.1:2", "--set", "verify_tls=false")
    assert code == 0
    assert '+id = "west"' in shown
    assert "add --write" in shown
    assert file.read_text() == TEXT
    assert run(file, "add", "west", "--web", "http://127.0.0.1:2", "--write")[0] == 0
    assert run(file, "edit", "west", "--set", "web=http://127.0.0.1:3", "--write")[0] == 0
    assert file.read_text().endswith('[[subcluster]]\nid = "west"\nweb = "http://127.0.0.1:3"\n')
    assert run(file, "remove", "west", "--write")[0] == 0
    assert file.read_text().strip() == TEXT.strip()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "east", "--web", "http://a:1"), 1, "already"),
        (("add", "west"), 2, "neither conf"),
        (("add", "west", "--conf", "/no/such/folder"), 2, "/no/such/folder"),
        (("add", "west", "--web", "http://a:1", "--set", "colour=red"), 2, "colour"),
        (("edit", "west", "--set", "web=http://a:1"), 3, "names east"),
        (("edit", "east", "--set", "web"), 2, "KEY=VALUE"),
        (("remove", "east"), 1, "only"),
    ],
)
def test_what_heddle_could_not_serve_by_is_not_written(
    file: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ended, output = run(file, *words, "--write")
    assert (ended, file.read_text()) == (code, TEXT)
    assert said in output


def test_what_stands_in_the_list_of_clusters_drives_no_terminal(file: Path, capsys, monkeypatch) -> None:
    """Several administrators may write the list, and its comments hold what TOML lets them hold."""
    file.write_text(TEXT.replace("web", "# \x9b31m\u202e\u2028 ours\nweb"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    app(["edit", "east", "--set", "web=http://127.0.0.1:3", "--config", str(file)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert r"\x9b31m\u202e" in shown
    assert not set(shown) & set("\x9b\u202e\u2028")
    assert shown.endswith('+web = "http://127.0.0.1:3"\n')


class HandClock:
    """Time that only `sleep` moves."""

    def __init__(self):
        self.at_s = 0.0

    def now_s(self):
        return self.at_s

    def sleep(self, duration_s):
        self.at_s += duration_s


def a_drainage(homed=(), spanning=None, admission="draining"):
    named = dict(spanning or {})
    running = [*homed, *named]
    return {
        "id": "east",
        "admission": admission,
        "still_running": running,
        "spanning": named,
        "is_drained": not running and admission != "open",
    }


def waited(answers, timeout_s=0.0):
    clock, left = HandClock(), list(answers)
    last = wait_until_drained(
        lambda: left.pop(0) if len(left) > 1 else left[0], timeout_s=timeout_s, sleep=clock.sleep, now_s=clock.now_s
    )
    return last, clock.at_s


def test_it_waits_for_containers_of_other_homes_and_says_each_change_once(capsys):
    one, other = a_drainage(["a"], {"b": 2}), a_drainage([], {"b": 1})
    last, took_s = waited([one, one, other, a_drainage()])
    assert (last["is_drained"], took_s) == (True, 3.0)
    lines = [" ".join(line.split()) for line in capsys.readouterr().err.split("east: ") if line]
    assert [line[:40] for line in lines] == [
        "1 applications with their ApplicationMas",
        "0 applications with their ApplicationMas",
        "0 applications with their ApplicationMas",
    ]
    assert "2 containers of 1 applications" in lines[0]
    assert "1 containers of 1 applications" in lines[1]


@pytest.mark.parametrize(("answer", "took_s"), [(a_drainage(["a"]), 2.5), (a_drainage(["a"], admission="open"), 0.0)])
def test_it_ends_when_the_time_is_over_or_the_drain_was_ended(answer, took_s):
    last, waited_s = waited([answer], timeout_s=2.5)
    assert (last["is_drained"], waited_s) == (False, took_s)
