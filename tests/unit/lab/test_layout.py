from hypothesis import given
from hypothesis import strategies as st

from shim.lab.layout import PORTS_PER_CLUSTER, PORTS_PER_LAB, front_host, has_hosts, hosts_file, lay_out
from shim.lab.spec import CLUSTER_NAMES, MAX_NODES, LabSpec

specs = st.builds(
    LabSpec.of,
    clusters=st.integers(1, len(CLUSTER_NAMES)),
    nodes=st.integers(1, MAX_NODES),
    standby=st.booleans(),
    hdfs=st.booleans(),
)


def addresses_of(spec, **at):
    return [address for layout in lay_out(spec, **at) for address in layout.addresses()]


@given(specs)
def test_no_two_daemons_of_a_lab_listen_on_one_address(spec):
    addresses = addresses_of(spec, base_port=20_000, first_octet=10)
    assert len(set(addresses)) == len(addresses)
    # a listener on all addresses needs its port for itself
    ports = [address.rpartition(":")[2] for address in addresses]
    wildcard = [port for address, port in zip(addresses, ports, strict=True) if not address.startswith("127.")]
    assert all(ports.count(port) == 1 for port in wildcard)


@given(specs)
def test_all_ports_of_a_lab_lie_in_its_block(spec):
    for index, layout in enumerate(lay_out(spec, base_port=20_000, first_octet=10)):
        first = 20_000 + PORTS_PER_CLUSTER * index
        for address in layout.addresses():
            assert first <= int(address.rpartition(":")[2]) < first + PORTS_PER_CLUSTER
    assert PORTS_PER_CLUSTER * len(CLUSTER_NAMES) <= PORTS_PER_LAB


@given(specs)
def test_every_node_has_a_loopback_address_of_its_own(spec):
    hosts = [node.host for layout in lay_out(spec, base_port=20_000, first_octet=10) for node in layout.nodes]
    assert len(set(hosts)) == len(hosts)
    assert all(host.startswith("127.0.") for host in hosts)


@given(specs)
def test_container_ids_of_two_clusters_cannot_collide(spec):
    epochs = [layout.epoch for layout in lay_out(spec, base_port=20_000, first_octet=10)]
    assert len(set(epochs)) == len(epochs)
    # each restart of a ResourceManager counts its epoch up: there is room between them
    assert all(abs(one - other) >= 1000 for one in epochs for other in epochs if one != other)


def test_hdfs_has_hosts_of_its_own_beside_the_first_cluster():
    first, second = lay_out(LabSpec.of(hdfs=True), base_port=20_000, first_octet=10, network="198.18.3")
    assert [each.name for each in first.file_servers] == ["namenode", "datanode"]
    hosts = [daemon.host for layout in (first, second) for daemon in layout.daemons]
    assert len(set(hosts)) == len(hosts) == 8
    assert "namenode" in hosts_file((first, second), "here")
    assert second.file_servers == ()


def test_ports_end_as_hadoops_own_do():
    (layout,) = lay_out(LabSpec.of(clusters=1), base_port=21_000, first_octet=10)
    assert layout.primary.web == "127.0.0.1:21088"
    assert layout.primary.client_rpc == "127.0.0.1:21032"
    assert [node.rpc for node in layout.nodes] == ["127.0.10.1:21050", "127.0.10.2:21050"]


@given(specs)
def test_every_node_is_named_by_its_own_address_and_the_machine_by_its_name(spec):
    layouts = lay_out(spec, base_port=20_000, first_octet=10)
    names = dict(line.split(maxsplit=1) for line in hosts_file(layouts, "loom").splitlines())
    assert names.pop("127.0.0.1") == "localhost loom"
    assert names == {node.host: node.host for layout in layouts for node in layout.nodes}


def test_a_secured_lab_has_one_kdc_whose_port_is_no_daemons():
    spec = LabSpec.of(clusters=2, nodes=20, standby=True, realm="ONE.LAB")
    first, second = lay_out(spec, base_port=20_000, first_octet=10)
    assert (first.kdc, second.kdc) == ("127.0.0.1:20021", "")
    assert first.kdc in first.addresses()
    ports = [address.rpartition(":")[2] for each in (first, second) for address in each.addresses()]
    assert ports.count("20021") == 1
    assert not any(each.kdc for each in lay_out(LabSpec.of(), base_port=20_000, first_octet=10))


@given(specs)
def test_every_daemon_may_have_a_host_of_its_own_and_this_machine_the_first_address(spec):
    layouts = lay_out(spec, base_port=20_000, first_octet=10, network="198.18.3")
    daemons = [daemon for layout in layouts for daemon in layout.daemons]
    hosts = [daemon.host for daemon in daemons]
    assert len(set(hosts)) == len(hosts)
    assert all(host.startswith("198.18.3.") and 1 < int(host.rpartition(".")[2]) < 255 for host in hosts)
    assert has_hosts(layouts)
    assert front_host(layouts) == "198.18.3.1"
    lines = hosts_file(layouts, "loom").splitlines()
    assert lines[:2] == ["127.0.0.1 localhost", "198.18.3.1 198.18.3.1 loom"]
    assert lines[2:] == [f"{daemon.host} {daemon.host} {daemon.name}" for daemon in daemons]


def test_without_a_network_all_are_this_machine():
    layouts = lay_out(LabSpec.of(), base_port=20_000, first_octet=10)
    assert not has_hosts(layouts)
    assert front_host(layouts) == "127.0.0.1"


def test_the_kdc_of_hosts_of_their_own_is_where_all_of_them_reach_it():
    spec = LabSpec.of(realm="ONE.LAB")
    assert lay_out(spec, base_port=20_000, first_octet=10, network="198.18.3")[0].kdc == "198.18.3.1:20021"
