"""Addresses are looked at before anything begins: taken, twice, or never to be had."""

import socket

import pytest

from shim.app.listening import check_doors, doors_of
from shim.config.sections import ServerConfig
from shim.errors import AddressTakenError, ConfigError
from shim.federation.inspection import SubClusterDescription
from tests.doubles.postgresql import free_port


def test_where_no_cluster_has_an_address_of_a_kind_nothing_listens_for_it():
    server = ServerConfig(rest="127.0.0.1:1", client_rpc="127.0.0.1:2", scheduler_rpc="127.0.0.1:3", admin_rpc="")
    web = SubClusterDescription(web=("http://a:1",))
    assert doors_of(server, [web]) == {"server.rest": "127.0.0.1:1"}
    spoken_to = SubClusterDescription(web=(), client_rpc=("a:2",), admin_rpc=("a:4",))
    assert set(doors_of(server, [web, spoken_to])) == {"server.rest", "server.client_rpc"}


def test_an_address_that_is_free_stays_free():
    address = f"127.0.0.1:{free_port()}"
    for _ in range(2):
        check_doors({"server.rest": address, "server.proxy": "127.0.0.1:0", "server.client_rpc": "127.0.0.1:0"})


def test_one_that_is_taken_is_worth_another_try():
    raised = pytest.raises(AddressTakenError, match=r"server\.rest: .* Address already in use")
    with socket.create_server(("127.0.0.1", 0)) as taken, raised:
        check_doors({"server.rest": f"127.0.0.1:{taken.getsockname()[1]}"})


@pytest.mark.parametrize("other", ["127.0.0.1", "localhost", "0.0.0.0"])  # noqa: S104 - what is written by mistake
def test_one_that_is_named_twice_is_the_configurations_to_mend(other):
    port = free_port()
    with pytest.raises(ConfigError, match=r"server\.proxy: .* is that of server\.rest, too"):
        check_doors({"server.rest": f"127.0.0.1:{port}", "server.proxy": f"{other}:{port}"})


def test_a_host_that_is_nobody_is_the_configurations_to_mend():
    with pytest.raises(ConfigError, match=r"server\.rest"):
        check_doors({"server.rest": "no host:1"})
