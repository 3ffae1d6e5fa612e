"""`SchedulingRequest`s as values: what a constraint lets other clusters judge, and messages as they came."""

import pytest

from shim.domain.allocations import ANY, Ask, AskKey, PlacementConstraint, RejectedAsk, SessionRequest, TagBound
from shim.domain.placement_rules import OperatorConstraint, PlacementRules, read_wish
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    CompositePlacementConstraintProto,
    ContainerProto,
    PlacementConstraintMapEntryProto,
    PlacementConstraintProto,
    PlacementConstraintTargetProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    RejectedSchedulingRequestProto,
    ResourceProto,
    ResourceSizingProto,
    SchedulingRequestProto,
    SimplePlacementConstraintProto,
    TimedPlacementConstraintProto,
)
from shim.protocol.yarn.allocations import (
    read_allocate_answer,
    read_allocate_call,
    write_allocate_answer,
    write_session_request,
)
from shim.protocol.yarn.placements import (
    imposed_constraints,
    read_constraints,
    read_scheduling_request,
    scheduling_message,
)

TARGET = PlacementConstraintTargetProto.TargetType
COMPOSITE = CompositePlacementConstraintProto.CompositeType
MOST = (1 << 31) - 1


def simple(scope="node", least=0, most=0, values=("web",), *, kind=TARGET.ALLOCATION_TAG, space="self"):
    target = PlacementConstraintTargetProto(targetType=kind, targetKey=space, targetValues=values)
    leaf = SimplePlacementConstraintProto(
        scope=scope, minCardinality=least, maxCardinality=most, targetExpressions=[target]
    )
    return PlacementConstraintProto(simpleConstraint=leaf)


def composed(kind, *children):
    return PlacementConstraintProto(
        compositeConstraint=CompositePlacementConstraintProto(compositeType=kind, childConstraints=children)
    )


def a_request(constraint=None, tags=("web",), count=3):
    return SchedulingRequestProto(
        allocationRequestId=7,
        priority=PriorityProto(priority=3),
        allocationTags=tags,
        resourceSizing=ResourceSizingProto(numAllocations=count, resources=ResourceProto(memory=1024, virtual_cores=2)),
        placementConstraint=constraint,
    )


def placement_of(constraint, registered=None):
    placement = read_scheduling_request(a_request(constraint), registered or {}).key.placement
    assert placement is not None
    return placement


def test_a_request_is_an_ask_for_anywhere_and_is_said_again_with_another_count():
    request = a_request(simple())
    ask = read_scheduling_request(request, {})
    key = AskKey(
        3,
        7,
        is_opportunistic=False,
        resource=ResourceVector(1024, 2),
        placement=PlacementConstraint(
            frozenset({"web"}),
            simple().SerializeToString(),
            most_a_node=1,
            is_local=True,
            choices=((TagBound("web", most=0),),),
        ),
    )
    assert (ask.key, ask.place, ask.count) == (key, ANY, 3)
    request.resourceSizing.numAllocations = 9
    again = scheduling_message(Ask(ask.key, ANY, 9, raw=ask.raw))
    assert again == request
    made = scheduling_message(Ask(ask.key, ANY, 9))
    assert read_scheduling_request(made, {}).key == ask.key
    assert made.resourceSizing.numAllocations == 9


@pytest.mark.parametrize(
    ("constraint", "needs", "most", "is_local"),
    [
        (None, set(), None, True),
        (simple(), set(), 1, True),
        (simple(most=2), set(), 3, True),
        (simple(most=MOST, least=1, values=("db",)), {"db"}, None, True),
        (simple("rack", most=4), set(), None, True),
        (simple(values=("db",)), set(), None, True),
        (simple(space="all"), set(), 1, True),
        (simple(space="not-self"), set(), None, True),
        (simple(space="app-id/application_1_1"), set(), None, True),
        (simple(space="app-tag/red"), set(), None, False),
        (simple(space="all", most=MOST, least=1), set(), None, False),
        (simple(kind=TARGET.NODE_ATTRIBUTE, space="os"), set(), None, False),
        (simple("cluster"), set(), None, False),
        (composed(COMPOSITE.AND, simple(), simple("rack", 1, MOST, ("db",))), {"db"}, 1, True),
        (composed(COMPOSITE.OR, simple(), simple(most=3)), set(), None, True),
        (composed(COMPOSITE.AND, simple(), simple(space="app-label/x")), set(), None, False),
        (
            PlacementConstraintProto(
                compositeConstraint=CompositePlacementConstraintProto(
                    compositeType=COMPOSITE.DELAYED_OR,
                    timedChildConstraints=[
                        TimedPlacementConstraintProto(placementConstraint=simple(), schedulingDelay=5)
                    ],
                )
            ),
            set(),
            None,
            False,
        ),
    ],
)
def test_a_constraint_tells_what_it_needs_and_where_it_can_be_judged(constraint, needs, most, is_local):
    placement = placement_of(constraint)
    assert (placement.needs, placement.most_a_node, placement.is_local) == (needs, most, is_local)


ANTI, NEAR = TagBound("web", most=0), TagBound("db", least=1, is_rack=True)


@pytest.mark.parametrize(
    ("constraint", "choices"),
    [
        (None, ()),
        (simple(), ((ANTI,),)),
        (simple(most=2, values=("b", "a")), ((TagBound("a", most=2), TagBound("b", most=2)),)),
        (simple(space="not-self"), ((TagBound("web", most=0, whose="not-self"),),)),
        (composed(COMPOSITE.AND, simple(), simple("rack", 1, MOST, ("db",))), ((ANTI, NEAR),)),
        (composed(COMPOSITE.OR, simple(), simple("rack", 1, MOST, ("db",))), ((ANTI,), (NEAR,))),
        (
            composed(COMPOSITE.AND, composed(COMPOSITE.OR, simple(), simple("rack", 1, MOST, ("db",))), simple(most=2)),
            ((ANTI, TagBound("web", most=2)), (NEAR, TagBound("web", most=2))),
        ),
        (composed(COMPOSITE.OR, *[simple(most=at) for at in range(17)]), ()),
        (composed(COMPOSITE.AND, *[composed(COMPOSITE.OR, simple(), simple(most=2))] * 5), ()),
        (simple("cluster"), ()),
    ],
)
def test_a_constraint_is_conjunctions_of_bounds_of_which_one_holds_and_too_many_are_left_to_schedulers(
    constraint, choices
):
    assert placement_of(constraint).choices == choices


def test_a_constraint_of_the_registration_holds_beside_the_requests_own():
    registration = RegisterApplicationMasterRequestProto(
        host="",
        rpc_port=0,
        tracking_url="",
        placement_constraints=[
            PlacementConstraintMapEntryProto(allocation_tags=["web"], placement_constraint=simple()),
            PlacementConstraintMapEntryProto(allocation_tags=["db"], placement_constraint=simple(most=5)),
        ],
    )
    registered = read_constraints(registration.SerializeToString())
    assert placement_of(None, registered).constraint == simple().SerializeToString()
    assert placement_of(simple(), registered).constraint == simple().SerializeToString()
    both = placement_of(simple("rack", most=1), registered)
    assert both.constraint == composed(COMPOSITE.AND, simple("rack", most=1), simple()).SerializeToString()
    assert both.most_a_node == 1
    call = AllocateRequestProto(scheduling_requests=[a_request()]).SerializeToString()
    (ask,) = read_allocate_call(call, registered).asks
    said = AllocateRequestProto.FromString(write_session_request(SessionRequest(1, 0, (ask,))))
    assert list(said.scheduling_requests) == [a_request()], "the home has what was registered"
    made = Ask(ask.key, ANY, 2)
    (elsewhere,) = AllocateRequestProto.FromString(
        write_session_request(SessionRequest(1, 0, (made,)))
    ).scheduling_requests
    assert elsewhere.placementConstraint == simple(), "another scheduler has not"


def test_bytes_that_are_no_registration_are_refused():
    with pytest.raises(RemoteProtocolError):
        read_constraints(b"\x0a\xff")


def test_an_answer_is_read_and_written_with_its_rejections_and_tags():
    rejected = RejectedSchedulingRequestProto(reason=1, request=a_request(simple(), count=2))
    answer = AllocateResponseProto(
        response_id=5,
        rejected_scheduling_requests=[rejected],
        allocated_containers=[ContainerProto(allocation_tags=["web", "blue"], allocation_request_id=7)],
    )
    read = read_allocate_answer(answer.SerializeToString())
    assert read.grants[0].tags == {"web", "blue"}
    (told,) = read.rejected
    raw = a_request(simple(), count=2).SerializeToString()
    assert told == RejectedAsk(3, 7, frozenset({"web"}), 2, 1, raw)
    assert not AllocateResponseProto.FromString(read.rest).rejected_scheduling_requests
    written = AllocateResponseProto.FromString(write_allocate_answer(read))
    assert list(written.rejected_scheduling_requests) == [rejected]


def imposed(want, *, is_hard=True, subject=("web",)):
    one = OperatorConstraint("it", frozenset(subject), read_wish(want), 1.0, is_hard)
    return imposed_constraints(PlacementRules((one,)))


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        ("0 web in node", simple(space="all")),
        ("..2 web in node", simple(most=2, space="all")),
        ("1.. db in rack", simple("rack", 1, MOST, ("db",), space="all")),
        (
            "0 web in node and 0 db in node or 3 db in rack",
            composed(
                COMPOSITE.OR,
                composed(COMPOSITE.AND, simple(space="all"), simple(values=("db",), space="all")),
                simple("rack", 3, 3, ("db",), space="all"),
            ),
        ),
    ],
)
def test_what_operators_impose_is_in_the_request_that_schedulers_get(want, expected):
    ask = read_scheduling_request(a_request(None), {}, imposed(want))
    assert scheduling_message(ask).placementConstraint == expected
    own = simple(most=5)
    both = scheduling_message(read_scheduling_request(a_request(own), {}, imposed(want))).placementConstraint
    assert both == composed(COMPOSITE.AND, own, expected)


def test_it_bounds_as_an_ask_of_the_application_would():
    key = read_scheduling_request(a_request(simple(most=5)), {}, imposed("..1 web in node")).key
    assert key.placement.most_a_node == 2
    assert key.placement.is_local
    again = read_scheduling_request(a_request(simple(most=5)), {}, imposed("..1 web in node")).key
    assert key == again
    assert key != read_scheduling_request(a_request(simple(most=5)), {}).key


@pytest.mark.parametrize("want", ["0 web+db in node", "0 web in cluster", "0 web in node and 0 web in upgrade"])
def test_schedulers_are_told_nothing_of_what_they_do_not_know_or_what_is_soft(want):
    assert imposed(want) == ()
    assert imposed("0 web in node", is_hard=False) == ()
    others = imposed("0 web in node", subject=("web", "eu"))
    assert not scheduling_message(read_scheduling_request(a_request(None), {}, others)).HasField("placementConstraint")
