import tomllib

import pytest

from shim.app.host_limits import read_secret
from shim.config.loader import parse
from shim.errors import LabError
from shim.lab.folders import SPANNING_QUEUE, claim_folder, clear_folder, heddle_toml, lock_of, write_heddle_toml
from shim.lab.hadoop_conf import FrontAddresses


def test_a_new_folder_becomes_a_labs(tmp_path):
    folder = tmp_path / "a" / "b"
    claim_folder(folder)
    assert lock_of(folder).exists()


def test_a_folder_with_something_of_others_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(LabError, match="is not empty and not a lab's"):
        claim_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_an_earlier_lab_left_is_removed(tmp_path):
    claim_folder(tmp_path)
    (tmp_path / "east" / "conf").mkdir(parents=True)
    (tmp_path / "heddle.db").touch()
    claim_folder(tmp_path)
    clear_folder(tmp_path)
    assert list(tmp_path.iterdir()) == [lock_of(tmp_path)]


def test_a_folder_that_cannot_be_made_says_why(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="Not a directory"):
        claim_folder(tmp_path / "file" / "lab")


def test_heddles_configuration_names_every_cluster_and_where_to_listen(tmp_path):
    config = tomllib.loads(
        heddle_toml(tmp_path, FrontAddresses(rest="127.0.0.1:22088").at("127.0.0.1"), ["east", "west"])
    )
    assert config["server"]["rest"] == "127.0.0.1:22088"
    assert config["store"]["url"] == f"sqlite:///{tmp_path}/heddle.db"
    assert [(row["id"], row["conf"]) for row in config["subcluster"]] == [
        ("east", str(tmp_path / "east" / "conf")),
        ("west", str(tmp_path / "west" / "conf")),
    ]
    assert config["security"]["allow_anonymous"] is True


def test_a_lab_has_a_queue_that_spans_and_a_secret_of_its_own_for_it(tmp_path):
    write_heddle_toml(tmp_path / "heddle.toml", FrontAddresses().at("127.0.0.1"), ["east"])

    config = parse((tmp_path / "heddle.toml").read_text(), source="heddle.toml", environment={})

    assert [(queue.name, queue.span) for queue in config.queues] == [(f"root.{SPANNING_QUEUE}", True)]
    assert config.security.secret_file == tmp_path / "heddle.secret"
    assert len(read_secret(config.security.secret_file)) >= 32


@pytest.mark.parametrize("there", ["rest", "client_rpc", "scheduler_rpc", "admin_rpc", "proxy"])
def test_one_address_that_hosts_of_their_own_reach_is_enough_to_say_that_it_is_meant(tmp_path, there):
    loopback = dict.fromkeys(("rest", "client_rpc", "scheduler_rpc", "admin_rpc", "proxy"), "127.0.0.1:9")
    for front, remote in ((FrontAddresses(**loopback), False), (FrontAddresses(**loopback | {there: ":9"}), True)):
        text = heddle_toml(tmp_path, front.at("198.18.3.1"), ["east"]).replace("span = true", "")
        assert parse(text, source="heddle.toml", environment={}).server.allow_remote == remote


def test_heddle_listens_where_hosts_of_their_own_reach_it(tmp_path):
    text = heddle_toml(tmp_path, FrontAddresses(admin_rpc="127.0.0.1:9").at("198.18.3.1"), ["east"])
    server = parse(text.replace("span = true", ""), source="heddle.toml", environment={}).server
    assert (server.rest, server.scheduler_rpc, server.admin_rpc) == (
        "198.18.3.1:8088",
        "198.18.3.1:8030",
        "127.0.0.1:9",
    )
    assert server.proxy == "198.18.3.1:8089"
    assert server.allow_remote
    assert server.rest_loopback
