"""`heddle whatif`: what it prints in each format, where it reads from, and what it says when something is wrong."""

import csv
import io
import json

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli import job_source
from shim.cli.job_source import history_at
from shim.cli.main import app
from shim.errors import BadRequestError

HEDDLE = '[[subcluster]]\nid = "east"\nweb = "http://rm.east:8088"\n'
NOW = '[[cluster]]\nid = "east"\nnodes = 1\nmemory_mib = 8192\nvcores = 8\n'
BASE_MS = 1_800_000_000_000


def rows(count=3):
    return [
        {
            "id": f"application_{BASE_MS}_{number:04d}",
            "user": "alice",
            "queue": "etl",
            "state": "FINISHED",
            "startedTime": BASE_MS + number * 5000,
            "launchTime": BASE_MS + number * 5000 + 500,
            "finishedTime": BASE_MS + number * 5000 + 30_500,
            "memorySeconds": 1024 * 90,
            "vcoreSeconds": 90,
        }
        for number in range(1, count + 1)
    ]


@pytest.fixture
def files(tmp_path):
    texts = {
        "apps.json": json.dumps({"apps": {"app": rows()}}),
        "heddle.toml": HEDDLE,
        "now.toml": NOW,
        "new.toml": '[[queue]]\nname = "root.etl"\nspan = true\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(files, *more, history="apps.json"):
    more = ("--fit", "0", *more) if "--fit" not in more else more
    arguments = ("whatif", "--history", str(files / history), "-c", str(files / "heddle.toml"))
    return CliRunner().invoke(app, [*arguments, *map(str, more)])


def test_a_table_has_figures_match_and_assumptions(files):
    found = run(files, "--present", files / "now.toml", "--policy", files / "new.toml")
    assert found.exit_code == 0, found.output
    assert "CHANGED" in found.stdout
    assert "waiting: p95 s" in found.stdout
    assert "match of the present, completion" in found.stdout
    assert "assumptions: " in found.stdout
    alone = run(files, "--present", files / "now.toml")
    assert "CHANGED" not in alone.stdout


def test_json_and_csv_tell_the_same_and_the_same_again(files):
    arguments = ("--present", files / "now.toml", "--clusters", files / "now.toml")
    found = run(files, *arguments, "-o", "json")
    assert found.exit_code == 0, found.output
    assert found.stdout == run(files, *arguments, "-o", "json").stdout
    told = json.loads(found.stdout)
    by_queue = {row["queue"]: row for row in told["queues"]}
    assert set(by_queue) == {"(all)", "root.etl"}
    assert by_queue["(all)"]["present"] == by_queue["(all)"]["changed"]
    assert told["match"]["completion"]["jobs"] == 3
    table = list(csv.DictReader(io.StringIO(run(files, *arguments, "-o", "csv").stdout)))
    waiting = next(row for row in table if row["queue"] == "root.etl" and row["figure"] == "waiting: mean s")
    assert float(waiting["present"]) == by_queue["root.etl"]["present"]["waiting_mean_s"]


def test_without_present_the_clusters_are_estimated_and_that_is_said(files):
    found = run(files)
    assert found.exit_code == 0, found.output
    assert "the present clusters are what the history used at its peak" in found.stdout


@pytest.mark.parametrize(
    ("broken", "text", "named"),
    [
        ("apps.json", "{}", "no list of applications"),
        ("heddle.toml", "x", "not TOML"),
        ("now.toml", "x", "no readable TOML"),
        ("new.toml", "x", "not TOML"),
        ("new.toml", "\0", "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(files, broken, text, named):
    (files / broken).write_text(text)
    found = run(files, "--present", files / "now.toml", "--policy", files / "new.toml")
    assert found.exit_code == 2
    assert named in found.output
    assert broken in found.output


def answering(handler):
    return httpx.MockTransport(handler)


def test_an_address_without_a_path_is_asked_for_what_has_ended():
    asked = []

    def answer(request):
        asked.append(str(request.url))
        return httpx.Response(200, json={"apps": {"app": rows()}})

    assert len(history_at("http://rm:8088", 10, answering(answer)).jobs) == 3
    history_at("http://rm:8088/ws/v1/cluster/apps?limit=5", 10, answering(answer))
    assert asked == [
        "http://rm:8088/ws/v1/cluster/apps?states=FINISHED%2CFAILED%2CKILLED",
        "http://rm:8088/ws/v1/cluster/apps?limit=5",
    ]


def test_an_address_that_does_not_give_it_is_named(monkeypatch):
    with pytest.raises(BadRequestError, match=r"401.*curl --negotiate"):
        history_at("http://rm:8088", 10, answering(lambda _: httpx.Response(401)))
    with pytest.raises(BadRequestError, match="no history at http://rm:8088"):
        history_at("http://rm:8088", 10, answering(lambda _: httpx.Response(200, content=b"\xff\xfe")))
    with pytest.raises(BadRequestError, match="http://rm:8088"):
        history_at("http://rm:8088", 10, answering(lambda _: httpx.Response(200, content=b"")))
    monkeypatch.setattr(job_source, "MOST_BYTES", 100)
    with pytest.raises(BadRequestError, match="limit=1000"):
        history_at("http://rm:8088", 10, answering(lambda _: httpx.Response(200, content=b"x" * 1000)))


@pytest.mark.parametrize("elsewhere", ["http://other:8088/x?secret=1", "https://rm:8088/x", "http://rm:1/x"])
def test_a_server_cannot_send_the_verb_to_another_one(elsewhere):
    asked = []

    def answer(request):
        asked.append(str(request.url))
        return httpx.Response(307, headers={"Location": elsewhere})

    with pytest.raises(BadRequestError, match="name it instead") as caught:
        history_at("http://rm:8088/apps", 10, answering(answer))
    assert asked == ["http://rm:8088/apps"]
    assert "secret" not in str(caught.value)


def test_redirects_of_the_same_server_end():
    def answer(request):
        if request.url.path == "/apps/":
            return httpx.Response(200, json={"apps": {"app": rows()}})
        further = "/" if request.url.path == "/apps" else "x"
        return httpx.Response(302, headers={"Location": request.url.path + further})

    assert len(history_at("http://rm:8088/apps", 10, answering(answer)).jobs) == 3
    with pytest.raises(BadRequestError, match="no history at"):
        history_at("http://rm:8088/around", 10, answering(answer))


@pytest.mark.parametrize("option", ["--policy", "--clusters", "--present"])
def test_files_without_end_are_not_read(files, option):
    with (files / "endless.toml").open("wb") as endless:
        endless.truncate(1 << 40)
    found = run(files, option, files / "endless.toml")
    assert found.exit_code == 2
    assert "endless.toml has more than the" in found.output


def test_fitting_is_told_and_plots_are_drawn(files):
    pytest.importorskip("matplotlib")
    found = run(files, "--present", files / "now.toml", "--fit", 1, "--plot", files / "x.svg")
    assert found.exit_code == 0, found.output
    assert "lengths of tasks were fitted, the nearest counts" in found.stdout
    assert "completion" in (files / "x.svg").read_text()
    refused = run(files, "--plot", files / "x.txt")
    assert refused.exit_code == 2
    assert "x.txt" in refused.output
    plain = run(files, "--present", files / "now.toml", "--task-s", 10)
    assert "fitted" not in plain.stdout


def test_figures_for_the_console_have_each_column_and_each_application(files):
    found = run(
        files, "--present", files / "now.toml", "--policy", files / "new.toml", "--plot", files / "figures.json"
    )
    assert found.exit_code == 0, found.output
    told = json.loads((files / "figures.json").read_text())
    assert [each["title"] for each in told["distributions"]] == ["waiting (s)", "completion (s)"]
    assert [line["name"] for line in told["over_time"][0]["lines"]] == ["history", "present", "changed"]
    assert [bar["name"] for bar in told["jobs"][0]["bars"]] == [f"{row['id']} (etl)" for row in rows()]
    assert {"queue", "figure", "history", "present", "changed", "change"} == set(told["rows"][0])
