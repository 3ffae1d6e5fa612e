import pytest

from shim.errors import LabError
from shim.lab.spec import (
    CLUSTER_NAMES,
    DEFAULT_VERSION,
    MAX_NODES,
    ClusterSpec,
    LabNode,
    LabSpec,
    SchedulerKind,
    parse_versions,
)

IDS = ("east", "west")


@pytest.mark.parametrize(
    ("text", "east", "west"),
    [
        ("3.5.0", "3.5.0", "3.5.0"),
        (" 3.3.6 ", "3.3.6", "3.3.6"),
        ("east=3.3.6,west=3.5.0", "3.3.6", "3.5.0"),
        ("west = 2.10.2", DEFAULT_VERSION, "2.10.2"),
    ],
)
def test_versions_are_read_for_all_or_by_cluster(text, east, west):
    assert parse_versions(text, IDS) == {"east": east, "west": west}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("north=3.5.0", "no cluster 'north' in this lab; it has east, west"),
        ("east=3.3.6,3.5.0", "cannot read '3.5.0'"),
        ("east=", "cannot read 'east='"),
    ],
)
def test_versions_that_cannot_be_read_say_what_can(text, told):
    with pytest.raises(LabError, match=told):
        parse_versions(text, IDS)


def test_clusters_are_named_in_order_and_alike():
    spec = LabSpec.of(clusters=3, nodes=1, scheduler="fair", hadoop="west=3.5.0", standby=True)
    assert [cluster.id for cluster in spec.clusters] == ["east", "west", "north"]
    assert {cluster.scheduler for cluster in spec.clusters} == {SchedulerKind.FAIR}
    assert spec.versions == (DEFAULT_VERSION, "3.5.0")
    assert spec.daemons == 3 * (2 + 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"clusters": 0}, "0 clusters; a lab has 1 to"),
        ({"clusters": len(CLUSTER_NAMES) + 1}, "a lab has 1 to"),
        ({"nodes": 0}, "0 nodes"),
        ({"nodes": MAX_NODES + 1}, "nodes; a lab's cluster has 1 to"),
        ({"hadoop": "2.7.1"}, "Hadoop 2.7.1 is not supported; choose one of 2.10.2, 3.1.1, 3.2.4, 3.3.6, 3.4.2, 3.5.0"),
    ],
)
def test_a_lab_that_cannot_be_is_refused_with_what_can(arguments, told):
    with pytest.raises(LabError, match=told):
        LabSpec.of(**arguments)


def test_secured_clusters_bring_a_kdc_for_all_their_realms():
    spec = LabSpec.of(clusters=3, nodes=1, realm="east=ONE.LAB,north=OTHER.LAB", protection="north=privacy")
    assert spec.realms == ("ONE.LAB", "OTHER.LAB")
    assert [cluster.realm for cluster in spec.clusters] == ["ONE.LAB", "", "OTHER.LAB"]
    assert [cluster.protection for cluster in spec.clusters] == ["authentication", "authentication", "privacy"]
    assert spec.daemons == 3 * 2 + 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"realm": "lower.case"}, "'lower.case' is no realm"),
        ({"realm": "ONE LAB"}, "is no realm"),
        ({"realm": "ONE.LAB/"}, "is no realm"),
        ({"realm": "south=ONE.LAB"}, "--realm: no cluster 'south' in this lab"),
        (
            {"realm": "ONE.LAB", "protection": "none"},
            "protection 'none'; choose one of authentication, integrity, priv",
        ),
        ({"realm": "ONE.LAB", "protection": "east="}, "--protection: cannot read 'east='"),
    ],
)
def test_realms_and_protections_that_cannot_be_are_refused(arguments, told):
    with pytest.raises(LabError, match=told):
        LabSpec.of(**arguments)


def test_two_clusters_of_one_name_are_refused():
    with pytest.raises(LabError, match="ids must differ"):
        LabSpec(clusters=(ClusterSpec("east"), ClusterSpec("east")))


def test_no_more_nodes_are_described_than_there_are():
    with pytest.raises(LabError, match="2 nodes are described, and it has 1"):
        ClusterSpec("east", nodes=1, node_specs=(LabNode(), LabNode()))
