import pytest

from adapters.yarn.node_addresses import node_url
from shim.domain.ids import SubClusterId
from shim.errors import ResourceManagerError

EAST = SubClusterId("east")


@pytest.mark.parametrize(
    "told",
    [
        "",
        "node",
        "node:",
        "10.0.0.5:80",  # no NodeManager of an ordinary user listens there
        "10.0.0.5:22",
        "10.0.0.5:0",
        "10.0.0.5:70000",
        "10.0.0.5:8042/secret?",
        "10.0.0.5:8042@10.0.0.6:8042",
        "user@10.0.0.5:8042",
        "10.0.0.5:8042#x",
        "10.0.0.5:8042\r\nX: y",
        "[::1]:8042",
        "169.254.169.254:8042",  # the metadata service of clouds
        "0.0.0.0:8042",
        "224.0.0.1:8042",
        "127.0.0.1:8088",  # Heddle's own
        "localhost:8088",
        "2130706433:8088",
    ],
)
async def test_a_node_of_another_machine_cannot_send_heddle_elsewhere(told):
    with pytest.raises(ResourceManagerError):
        await node_url(EAST, told, scheme="http", manager_host="10.0.0.1")


async def test_a_plain_address_is_asked():
    assert await node_url(EAST, "10.0.0.5:8042", scheme="http", manager_host="10.0.0.1") == "http://10.0.0.5:8042"


async def test_nodes_beside_their_manager_on_this_machine_are_asked():
    assert await node_url(EAST, "127.0.0.1:45001", scheme="http", manager_host="127.0.0.1") == "http://127.0.0.1:45001"


async def test_a_name_is_resolved_once_and_the_address_is_asked():
    told = await node_url(EAST, "localhost:45001", scheme="http", manager_host="127.0.0.1")
    assert told in ("http://127.0.0.1:45001", "http://[::1]:45001")


async def test_with_https_the_name_stays_for_the_certificate():
    assert (
        await node_url(EAST, "localhost:45001", scheme="https", manager_host="localhost") == "https://localhost:45001"
    )


@pytest.mark.parametrize("told", ["[2001:db8::5]:8042", "2001:db8::5:8042"])
async def test_an_address_of_version_six_is_asked_with_brackets_or_without(told):
    assert await node_url(EAST, told, scheme="http", manager_host="10.0.0.1") == "http://[2001:db8::5]:8042"
    assert await node_url(EAST, told, scheme="https", manager_host="10.0.0.1") == "https://[2001:db8::5]:8042"


@pytest.mark.parametrize("told", ["::1:8042", "fe80::5:8042", "[fe80::5%eth0]:8042", "ff02::1:8042", ":::8042"])
async def test_one_of_version_six_that_no_node_can_have_is_not_asked(told):
    with pytest.raises(ResourceManagerError):
        await node_url(EAST, told, scheme="http", manager_host="10.0.0.1")
