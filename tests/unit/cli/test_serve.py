"""`heddle serve --check` says what is wrong before anything is started."""

import pytest
from typer.testing import CliRunner

from shim.cli.front import ExitCode
from shim.cli.main import app

EAST = '[[subcluster]]\nid = "east"\n'


def checked(folder, text):
    file = folder / "heddle.toml"
    file.write_text(text)
    return CliRunner().invoke(app, ["serve", "--check", "-c", str(file)])


def test_a_configuration_in_order_names_its_clusters(tmp_path):
    result = checked(tmp_path, f'{EAST}web = "http://127.0.0.1:8088"')
    assert (result.exit_code, result.stdout.endswith("in order; sub-clusters: east\n")) == (0, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{EAST}conf = "/no/such/folder"', "/no/such/folder"),
        (f'{EAST}web = "http://127.0.0.1:8088"\n[security]\nsecret_file = "/no/such/secret"', "security.secret_file"),
        (f"{EAST}wbe = 1", "Did you mean web?"),
    ],
)
def test_what_is_not_there_is_told(tmp_path, text, told):
    result = checked(tmp_path, text)
    assert result.exit_code == ExitCode.USAGE
    assert told in result.stderr
    assert "Traceback" not in result.output
