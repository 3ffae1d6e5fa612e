from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import NodeId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.inspection import capacity_excess

AMOUNTS = st.integers(-10, 10**9)


def nodes(*totals: ResourceVector) -> list[NodeReport]:
    nothing = ResourceVector()
    return [NodeReport(NodeId("n", number), "/r", "RUNNING", total, nothing) for number, total in enumerate(totals)]


@given(st.lists(st.builds(ResourceVector, AMOUNTS, AMOUNTS), max_size=5), AMOUNTS, AMOUNTS)
def test_each_amount_beyond_the_sum_of_nodes_is_told_and_no_other(totals, memory_mib, vcores):
    found = capacity_excess(ResourceVector(memory_mib, vcores), nodes(*totals))
    has_memory = memory_mib > sum(max(0, each.memory_mib) for each in totals)
    has_vcores = vcores > sum(max(0, each.vcores) for each in totals)
    assert [each.partition(":")[0] for each in found] == ["memory MiB"] * has_memory + ["vcores"] * has_vcores


def test_both_amounts_are_named():
    told = capacity_excess(ResourceVector(4096, 2), nodes(ResourceVector(1024, 1), ResourceVector(1024, 1)))
    assert told == ("memory MiB: 4096, of nodes 2048",)
