"""`heddle cluster add | edit | remove`: what the file says of the clusters."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from shim.cli.cluster import app

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
