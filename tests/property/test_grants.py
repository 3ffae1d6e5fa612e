"""Which asks a granted container is for, against a look at each group."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import ANY, Ask, AskKey, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.asks import AskBook, GroupsBySize
from shim.multicluster.core.splitter import CapacitySplitter

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
GPU = "yarn.io/gpu"

sizes = st.builds(
    lambda memory, vcores, gpus: ResourceVector(memory, vcores, {GPU: gpus} if gpus else {}),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0, 0, 0, 1]),
)
keys = st.builds(
    lambda priority, request, resource, label: AskKey(
        priority, request, is_opportunistic=False, resource=resource, label=label
    ),
    st.sampled_from([1, 1, 1, 2]),
    st.sampled_from([-1, -1, -1, 1]),
    sizes,
    st.sampled_from(["", "gpu"]),
)
given_back = st.integers(0, 7)
grants = st.tuples(
    st.sampled_from([1, 1, 1, 2]), st.sampled_from([-1, -1, -1, 1]), sizes, st.sampled_from([EAST, WEST])
)


def a_grant(number, priority, request, resource):
    return Grant(ContainerId(ATTEMPT, number), NodeId("h1", 1), priority, request, resource)


def slowly(groups, grant, subcluster):
    """The key of the group that a grant is for: of all that want something, the first of the best."""
    fitting = [
        group
        for group in groups
        if group.wanted > 0
        and (group.key.priority, group.key.allocation_request_id) == (grant.priority, grant.allocation_request_id)
    ]

    def mismatch(group):
        asked, given = group.key.resource, grant.resource
        distance = abs(given.memory_mib - asked.memory_mib) + abs(given.vcores - asked.vcores)
        return group.targets.get(subcluster, 0) == 0, not asked.fits_in(given), distance

    return min(fitting, key=mismatch).key if fitting else None


class Drawn(CapacitySplitter):
    """An `AskSplitter` that asks each session for what was drawn."""

    def __init__(self, parts):
        super().__init__()
        self._parts = parts

    def split(self, demand, rooms):
        del rooms
        east = min(demand.wanted, self._parts.get(demand.key, 0))
        return {name: count for name, count in ((EAST, east), (WEST, demand.wanted - east)) if count}


@given(
    st.dictionaries(keys, st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8),
    st.lists(grants | grants | given_back, max_size=30),
)
def test_a_grant_is_for_the_group_that_a_look_at_all_finds(asked, steps):
    """Steps are grants, and places of groups of which a container is wanted again."""
    book = AskBook()
    book.tell((Ask(key, ANY, count) for key, (count, _) in asked.items()), {})
    book.split(Drawn({key: east for key, (_, east) in asked.items()}), ())
    for number, step in enumerate(steps, start=2):
        if isinstance(step, int):
            for key in list(asked)[step : step + 1]:
                book.give_back(key)
            continue
        priority, request, resource, subcluster = step
        grant = a_grant(number, priority, request, resource)
        expected = slowly(book.groups, grant, subcluster)
        assert book.grant(grant, subcluster, "/r") == expected


class Counting:
    """A group that counts how often it is looked at."""

    looks = 0

    def __init__(self, memory):
        self.key = AskKey(1, -1, is_opportunistic=False, resource=ResourceVector(memory, 1))
        self.left = 1

    @property
    def wanted(self):
        Counting.looks += 1
        return self.left

    @property
    def targets(self):
        return {EAST: self.left}


def looks_of(count, rounded_to):
    groups = [Counting(memory) for memory in range(1, count + 1)]
    wanting = GroupsBySize(groups)
    Counting.looks = 0
    for number, memory in enumerate(range(1, count + 1), start=2):
        given_memory = -(-memory // rounded_to) * rounded_to
        group = wanting.nearest(a_grant(number, 1, -1, ResourceVector(given_memory, 1)), EAST)
        assert group is not None
        group.left -= 1
    return Counting.looks


def test_looks_at_few_groups_for_each_grant_though_a_scheduler_rounds_up():
    for rounded_to in (1, 16):
        assert looks_of(400, rounded_to) < 5 * 400
