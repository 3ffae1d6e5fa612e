import pytest

from shim.domain.ids import NodeId
from shim.domain.properties import amounts_of, need_of, node_properties
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport

NODE = NodeReport(NodeId("h1", 45454), "/r1", "RUNNING", ResourceVector(8192, 8), ResourceVector(), ("gpu",))
PLAIN = NodeReport(NodeId("h2", 45454), "/r1", "RUNNING", ResourceVector(8192, 8), ResourceVector())

ADMITTED = [
    (need_of((1,)), NODE, False, "a request without a label keeps off labelled nodes"),
    (need_of((1,)), PLAIN, True, "a request without a label goes to nodes without one"),
    (need_of((1,), label="gpu"), NODE, True, "a label finds its node"),
    (need_of((1,), label="gpu", place="h1"), NODE, True, "a host by name"),
    (need_of((1,), label="gpu", place="h2"), NODE, False, "another host"),
    (need_of((1,), label="gpu", place="/r1"), NODE, True, "a rack by its slash"),
    (need_of((1,), attributes={"rm.yarn.io/os": "linux"}), PLAIN, False, "an attribute that is not there"),
    (need_of((1,), near_tags=["hbase"]), PLAIN, False, "affinity without the tag"),
]


@pytest.mark.parametrize(("need", "node", "admitted", "why"), ADMITTED, ids=[case[3] for case in ADMITTED])
def test_a_need_admits_the_nodes_that_yarn_would(need, node, admitted, why):
    assert need.admits(node_properties(node)) is admitted


def test_tags_attract_and_repel():
    tagged = node_properties(PLAIN, {"rm.yarn.io/os": "linux"}, ["hbase"])
    assert need_of((1,), near_tags=["hbase"], attributes={"rm.yarn.io/os": "linux"}).admits(tagged)
    assert not need_of((1,), far_from_tags=["hbase"]).admits(tagged)


def test_amounts_follow_the_order_of_types_and_lack_is_nothing():
    resource = ResourceVector(1024, 2, {"yarn.io/gpu": 1})
    assert amounts_of(resource, ["yarn.io/fpga", "yarn.io/gpu"]) == (1024, 2, 0, 1)
