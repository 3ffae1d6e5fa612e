"""What the levers ask for, and how their trials are shown."""

from scripts.levers import CELLS, LEVERS, Tried, by_attribute, pinned, shown


def test_a_pinned_ask_names_one_node_and_lets_no_other_do():
    asks = pinned("n1", 2).ask
    assert [(each.resource_name, each.num_containers, each.relax_locality) for each in asks] == [
        ("n1", 2, True),
        ("/default-rack", 2, False),
        ("*", 2, False),
    ]
    assert {each.execution_type_request.execution_type for each in asks} == {1}, "Hadoop 3.4 wants one that is named"
    relaxed = pinned("n1", relax=True, opportunistic=True).ask
    assert all(each.relax_locality for each in relaxed)
    assert {each.execution_type_request.execution_type for each in relaxed} == {2}


def test_an_attribute_is_asked_for_by_its_value():
    (request,) = by_attribute(2).scheduling_requests
    simple = request.placementConstraint.simpleConstraint
    assert (simple.targetExpressions[0].targetType, list(simple.targetExpressions[0].targetValues)) == (1, ["n2"])
    assert simple.attributeOpCode == 2


def test_trials_are_counted_by_where_and_timed_in_heartbeats_of_a_node():
    trials = [Tried("n1", 0.5), Tried("n1", 1.0), Tried("n2", 0.25), Tried()]
    assert shown("n1", trials) == "2 there (1.5), 1 elsewhere (0.5), 1 none"
    assert shown("n1", [Tried()] * 3) == "3 none"


def test_constraints_are_asked_for_only_where_they_are_known():
    assert {cell.version for cell in CELLS if not cell.has_constraints} == {"2.10.2"}
    assert [lever.name for lever in LEVERS if lever.needs_constraints] == ["node attribute in a constraint"]
