"""`heddle serve --check` says what is wrong before anything is started."""

import pytest
from typer.testing import CliRunner

from shim.cli.front import ExitCode
from shim.cli.main import app
from tests.doubles.postgresql import free_addresses
from tests.support.certificates import TestAuthority

EAST = '[[subcluster]]\nid = "east"\n'
DOORS = ("REST", "CLIENT_RPC", "SCHEDULER_RPC", "ADMIN_RPC")
TWICE_BY_RPC = f"""
{EAST}
web = "http://h:1"
client_rpc = "h:2"
[[subcluster]]
id = "west"
web = "http://i:1"
client_rpc = "h:2"
"""


def checked(folder, text):
    file = folder / "heddle.toml"
    file.write_text(text)
    # a Heddle of this machine may have those that nobody named
    doors = {f"HEDDLE_SERVER_{door}": at for door, at in zip(DOORS, free_addresses(len(DOORS)), strict=True)}
    return CliRunner(env=doors).invoke(app, ["serve", "--check", "-c", str(file)])


def test_a_configuration_in_order_names_its_clusters(tmp_path):
    result = checked(tmp_path, f'{EAST}web = "http://127.0.0.1:8088"')
    assert (result.exit_code, result.stdout.endswith("in order; sub-clusters: east\n")) == (0, True)


def test_a_database_that_others_can_pose_as_is_told(tmp_path):
    store = '[store]\nurl = "postgresql://127.0.0.1:1/heddle?sslmode=require"'
    web = f'{EAST}web = "http://127.0.0.1:8088"\n'
    near, far = checked(tmp_path, web + store), checked(tmp_path, web + store.replace("127.0.0.1", "db.invalid"))
    assert (near.exit_code, far.exit_code) == (0, 0)
    assert "not verified" not in near.stdout
    assert "PostgreSQL at db.invalid is not verified" in far.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{EAST}conf = "/no/such/folder"', "/no/such/folder: sub-cluster east: conf: is no folder"),
        (
            f'{EAST}conf = "/no/such/folder"\n[[subcluster]]\nid = "west"\nconf = "/none"',
            "\n/none: sub-cluster west: conf: is no folder",
        ),
        (
            f'{EAST}web = "http://h:1"\n[[subcluster]]\nid = "west"\nweb = ["http://i:1", "http://h:1"]',
            "west: is the ResourceManager of east, too (h:1)",
        ),
        (
            TWICE_BY_RPC,
            "west: is the ResourceManager of east, too (h:2)",
        ),
        (f'{EAST}web = "http://127.0.0.1:8088"\n[security]\nsecret_file = "/no/such/secret"', "security.secret_file"),
        (
            f'{EAST}web = "http://h:1"\n[security]\nother_secret_file = "x"',
            "security.other_secret_file: is there without",
        ),
        (f'{EAST}web = "http://h:1"\n[masters.tls]\nca = "x"', "masters.tls.certificate: is missing"),
        (f"{EAST}wbe = 1", "Did you mean web?"),
        (
            f'{EAST}web = "http://h:1"\n[store]\nurl = "postgresql://db/heddle?sslmode=verify"',
            "sslmode=verify is not known",
        ),
    ],
)
def test_what_is_not_there_is_told(tmp_path, text, told):
    result = checked(tmp_path, text)
    assert result.exit_code == ExitCode.USAGE
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_certificates_that_expired_or_soon_will_are_told(tmp_path):
    authority = TestAuthority(tmp_path)
    certificate, key = authority.issue("heddle", days=-1)
    soon, soon_key = authority.issue("master", days=3)
    cluster = f'{EAST}web = "https://rm:8090"\nca_file = "{authority.file}"\n'
    cluster += f'certificate = "{certificate}"\nkey = "{key}"\n'
    masters = f'[masters.tls]\ncertificate = "{soon}"\nkey = "{soon_key}"\nca = "{authority.file}"\n'
    result = checked(tmp_path, cluster + masters)
    assert result.exit_code == 0
    assert f"warning: east: Heddle's certificate for it ({certificate}) has expired" in result.stdout
    assert f"warning: the certificate of this master ({soon}) is good for 3 more days" in result.stdout


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('[[subcluster]]\nid = "east"\nweb = "https://rm:8090"\nca_file = "/no/such/ca"', "/no/such/ca"),
        (
            f'{EAST}web = "http://h:1"\n[masters.tls]\ncertificate = "/c"\nkey = "/no/such/key"\nca = "/a"',
            "/no/such/key",
        ),
    ],
)
def test_files_of_certificates_that_cannot_be_read_are_told(tmp_path, lines, told):
    result = checked(tmp_path, lines)
    assert (result.exit_code, told in result.stderr) == (ExitCode.USAGE, True)


def test_files_for_https_beside_a_clear_address_are_told(tmp_path):
    text = f'{EAST}web = "http://rm:8088"\nca_file = "{TestAuthority(tmp_path).file}"'
    assert "warning: east: files for https are named, and http://rm:8088" in checked(tmp_path, text).stdout
