"""The global view beside plain rows: what was reported less what is on its way, and bits made by asking each node."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.messages import NodeState
from shim.domain.resources import Need
from shim.scheduling.global_master.view import GlobalView
from tests.support.examples import examples

OWNERS = ("ga", "gb", "gc")
CLUSTERS = ("la", "lb")
PROPERTIES = tuple(map(frozenset, ([], ["x"], ["y"], ["x", "y"])))
NEEDS = tuple(
    Need((memory, cores), requires, avoids)
    for memory, cores in ((1, 1), (3, 1))
    for requires, avoids in (
        (PROPERTIES[0], PROPERTIES[0]),
        (PROPERTIES[1], PROPERTIES[0]),
        (PROPERTIES[3], PROPERTIES[0]),
        (PROPERTIES[0], PROPERTIES[2]),
    )
)
amounts = st.tuples(st.integers(0, 4), st.integers(0, 4))


@st.composite
def clusters(draw):
    """A full report: one to four nodes, each of some owner's partition."""
    n_nodes = draw(st.integers(1, 4))
    states = tuple(NodeState(node, draw(amounts), draw(st.sampled_from(PROPERTIES))) for node in range(n_nodes))
    return states, tuple(draw(st.sampled_from(OWNERS)) for _ in states)


nodes = st.tuples(st.sampled_from(CLUSTERS), st.integers(0, 3))
steps = st.one_of(
    st.tuples(st.just("replace"), st.sampled_from(CLUSTERS), clusters()),
    st.tuples(st.just("apply"), nodes, amounts, st.none() | st.sampled_from(PROPERTIES)),
    st.tuples(st.just("take"), nodes, st.tuples(st.integers(0, 2), st.integers(0, 2))),
    st.tuples(st.just("settle"), nodes),
    st.tuples(st.just("give back"), nodes),
    st.tuples(st.just("ask"), st.sampled_from(NEEDS)),
)


@settings(max_examples=examples(250), deadline=None)
@given(clusters(), clusters(), st.lists(steps, max_size=20))
def test_a_view_is_what_was_reported_less_what_is_on_its_way(first, second, history):
    view = GlobalView("ga", 2)
    reported, owners, on_way = {}, {}, {}
    start = [("replace", "la", first), ("replace", "lb", second)]
    for version, (name, *arguments) in enumerate([*start, *history], start=1):
        if name == "replace":
            cluster, (states, owned_by) = arguments
            view.replace_cluster(cluster, states, owned_by, version)
            others = {place: state for place, state in reported.items() if place[0] != cluster}
            reported = others | {(cluster, state.node): state for state in states}
            owners |= {(cluster, node): owner for node, owner in enumerate(owned_by)}
            on_way = {place: taken for place, taken in on_way.items() if place in reported}
            continue
        if name == "ask":
            view.shape_of(arguments[0].demand)
            continue
        place = arguments[0]
        row = view.row_of(*place)
        assert (row >= 0) == (place in reported)
        if row < 0:
            continue
        if name == "apply":
            known = reported[place]
            told = arguments[2]
            reported[place] = NodeState(place[1], arguments[1], known.properties if told is None else told)
            view.apply_node(row, NodeState(place[1], arguments[1], told), version)
            assert view.versions[row] == version
        elif name == "take":
            on_way.setdefault(place, []).append(arguments[1])
            view.take(row, arguments[1])
        elif on_way.get(place):
            demand = on_way[place].pop()
            if name == "give back":
                view.give_back(row, demand)
            else:  # it arrived: the node's next report includes it, and until then it is as good as reported
                view.settle(row, demand)
                state = reported[place]
                reported[place] = NodeState(place[1], minus(state.free, [demand]), state.properties)
        compare(view, reported, owners, on_way)
    compare(view, reported, owners, on_way)


def minus(free, taken):
    """Amounts less all that is taken."""
    return tuple(amount - sum(each[kind] for each in taken) for kind, amount in enumerate(free))


def compare(view, reported, owners, on_way):
    """Compare every row, the order of rows, and the bits for each need."""
    view.check()
    assert sorted(map(view.place_of, range(len(view)))) == sorted(reported)
    assert len(view) == len(view.free) == len(view.versions) == len(reported)
    for place, state in reported.items():
        row = view.row_of(*place)
        assert view.free_of(row) == minus(state.free, on_way.get(place, ()))
        assert view.properties_of(row) == state.properties
        assert view.cells[view.cell_of(row)].owner == owners[place]
    rows_in_all = 0
    for index, cell in enumerate(view.cells):
        assert (cell.owner == "ga") == bool(view.internal_mask >> index & 1)
        assert cell.start == rows_in_all
        rows_in_all += cell.size
        places = [view.place_of(row) for row in range(cell.start, cell.start + cell.size)]
        assert {(place[0], owners[place]) for place in places} == {(cell.local_master, cell.owner)}
        for need in NEEDS:
            eligible = [need.admits(reported[place].properties) for place in places]
            assert view.eligible(need, index) == sum(will_do << bit for bit, will_do in enumerate(eligible))
            fitting = view.cells[index].fits[view.shape_of(need.demand)]
            fits = [
                all(h >= n for h, n in zip(view.free_of(view.row_of(*p)), need.demand, strict=True)) for p in places
            ]
            assert fitting == sum(will_do << bit for bit, will_do in enumerate(fits))
            assert bool(view.open_masks[view.shape_of(need.demand)] >> index & 1) == any(fits)
    assert rows_in_all == len(reported)


def test_rows_of_a_new_cluster_stand_by_their_number_of_properties():
    view = GlobalView("ga", 1)
    states = [NodeState(node, (1,), PROPERTIES[which]) for node, which in enumerate((3, 1, 0, 2, 0))]
    view.replace_cluster("la", states, ("ga",) * 5, 1)
    assert [view.place_of(row)[1] for row in range(5)] == [2, 4, 1, 3, 0]
