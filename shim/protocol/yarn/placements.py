"""`SchedulingRequest`s and placement constraints, between messages and values.

Source: `PlacementConstraints` and `PlacementConstraintFromProtoConverter` for what a constraint means,
`PlacementConstraintManagerService` for how one of a registration goes together with one of a request.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from shim.domain.allocations import ANY, Ask, AskKey, PlacementConstraint, RejectedAsk, TagBound
from shim.domain.placement_rules import NODE as _NODE
from shim.domain.placement_rules import RACK as _RACK
from shim.domain.placement_rules import CountWish, PlacementRules
from shim.protocol.proto.messages import (
    CompositePlacementConstraintProto,
    ExecutionTypeProto,
    ExecutionTypeRequestProto,
    PlacementConstraintProto,
    PlacementConstraintTargetProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    RejectedSchedulingRequestProto,
    ResourceSizingProto,
    SchedulingRequestProto,
    SimplePlacementConstraintProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.wire import read_message, resource_message, resource_of

RegisteredConstraints = Mapping[frozenset[str], bytes]
"""Serialized `PlacementConstraintProto` by the tags of the containers that it is for."""

ImposedConstraints = Sequence[tuple[frozenset[str], bytes]]
"""Serialized `PlacementConstraintProto` for all containers that have some tags."""
_OWN = frozenset({"", "self"})
"""Namespaces of the application's own tags."""
_JUDGED_THERE = _OWN | {"not-self", "all"}
"""Namespaces of tags that a scheduler knows of every container on its nodes: ids of applications are the same on all
clusters, tags and labels of applications are not."""
_ONE_APPLICATION = "app-id/"
_UNBOUNDED = (1 << 31) - 1
_MOST_CHOICES = 16
"""Conjunctions of a constraint that are looked at; one with more is left to the schedulers."""


def read_constraints(payload_untrusted: bytes) -> RegisteredConstraints:
    """Read the constraints with which an ApplicationMaster registers.

    Raises:
        RemoteProtocolError: If the bytes are no `RegisterApplicationMasterRequestProto`.
    """
    message = read_message(RegisterApplicationMasterRequestProto, payload_untrusted)
    return {
        _texts(entry.allocation_tags): entry.placement_constraint.SerializeToString()
        for entry in message.placement_constraints
    }


def imposed_constraints(rules: PlacementRules) -> ImposedConstraints:
    """What of operators' constraints a ResourceManager can be told: hard ones of nodes and racks, one tag a bound."""
    kind = CompositePlacementConstraintProto.CompositeType
    found = []
    for each in rules.constraints:
        wishes = [wish for choice in each.any_of for wish in choice]
        if each.is_hard and all(len(wish.tags) == 1 and wish.group in {_NODE, _RACK} for wish in wishes):
            choices = [_composed(kind.AND, [_simple(wish) for wish in choice]) for choice in each.any_of]
            found.append((each.subject, _composed(kind.OR, choices).SerializeToString()))
    return tuple(found)


def _composed(kind: int, parts: Sequence[PlacementConstraintProto]) -> PlacementConstraintProto:
    if len(parts) == 1:
        return parts[0]
    both = CompositePlacementConstraintProto(compositeType=kind, childConstraints=parts)
    return PlacementConstraintProto(compositeConstraint=both)


def _simple(wish: CountWish) -> PlacementConstraintProto:
    kind = PlacementConstraintTargetProto.TargetType.ALLOCATION_TAG
    target = PlacementConstraintTargetProto(targetType=kind, targetKey="all", targetValues=sorted(wish.tags))
    return PlacementConstraintProto(
        simpleConstraint=SimplePlacementConstraintProto(
            scope=wish.group,
            targetExpressions=[target],
            minCardinality=wish.least,
            maxCardinality=_UNBOUNDED if wish.most is None else wish.most,
        )
    )


def read_scheduling_request(
    message: SchedulingRequestProto, registered: RegisteredConstraints, imposed: ImposedConstraints = ()
) -> Ask:
    """The ask of a `SchedulingRequest`, for anywhere; what operators impose holds beside its own constraint."""
    tags = _texts(message.allocationTags)
    for subject, constraint in imposed:
        if subject <= tags:
            both = _both(message, constraint)
            assert both is not None  # noqa: S101 - the operators' is there
            message.placementConstraint.CopyFrom(both)
    execution = message.executionType.execution_type
    sizing = message.resourceSizing
    key = AskKey(
        priority=message.priority.priority,
        allocation_request_id=message.allocationRequestId,
        is_opportunistic=execution == ExecutionTypeProto.OPPORTUNISTIC,
        resource=resource_of(sizing.resources),
        placement=_placement_of(message, registered),
    )
    raw = SchedulingRequestProto()
    raw.CopyFrom(message)
    raw.resourceSizing.ClearField("numAllocations")
    return Ask(key, ANY, max(0, sizing.numAllocations), raw=raw.SerializePartialToString())


def scheduling_message(ask: Ask) -> SchedulingRequestProto:
    """The request as the ApplicationMaster sent it, or made anew with everything that holds for it."""
    key, placement = ask.key, ask.key.placement or PlacementConstraint()
    if ask.raw:
        message = SchedulingRequestProto.FromString(ask.raw)
        message.resourceSizing.numAllocations = ask.count
        return message
    kind = ExecutionTypeProto.OPPORTUNISTIC if key.is_opportunistic else ExecutionTypeProto.GUARANTEED
    message = SchedulingRequestProto(
        allocationRequestId=key.allocation_request_id,
        priority=PriorityProto(priority=key.priority),
        executionType=ExecutionTypeRequestProto(execution_type=kind),
        allocationTags=sorted(placement.tags),
        resourceSizing=ResourceSizingProto(numAllocations=ask.count, resources=resource_message(key.resource)),
    )
    if placement.constraint:
        message.placementConstraint.ParseFromString(placement.constraint)
    return message


def read_rejected(message: RejectedSchedulingRequestProto) -> RejectedAsk:
    """Containers that found no place."""
    request = message.request
    return RejectedAsk(
        priority=request.priority.priority,
        allocation_request_id=request.allocationRequestId,
        tags=_texts(request.allocationTags),
        count=max(0, request.resourceSizing.numAllocations),
        reason=message.reason,
        raw=request.SerializePartialToString(),
    )


def rejected_message(rejected: RejectedAsk) -> RejectedSchedulingRequestProto:
    request = SchedulingRequestProto.FromString(rejected.raw)
    request.resourceSizing.numAllocations = rejected.count
    return RejectedSchedulingRequestProto(reason=rejected.reason, request=request)


def _texts(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(text_of(text) for text in texts)


def _placement_of(message: SchedulingRequestProto, registered: RegisteredConstraints) -> PlacementConstraint:
    tags = _texts(message.allocationTags)
    constraint = _both(message, registered.get(tags))
    if constraint is None:
        return PlacementConstraint(tags, is_local=True)
    placement = PlacementConstraint(tags, constraint.SerializePartialToString())
    leaves = tuple(_leaves(constraint))
    if any(leaf is None or not _is_judged_there(leaf) for leaf in leaves):
        return placement
    simple = [leaf for leaf in leaves if leaf is not None]
    bounds = [leaf.maxCardinality + 1 for leaf in simple if _bounds_own(leaf, tags)]
    return replace(
        placement,
        needs=frozenset().union(*(_values(leaf) for leaf in simple if leaf.minCardinality > 0)),
        most_a_node=min(bounds, default=None) if _holds_whole(constraint) else None,
        is_local=True,
        choices=_choices(constraint),
    )


def _both(message: SchedulingRequestProto, registered: bytes | None) -> PlacementConstraintProto | None:
    """The request's own constraint and the one that was registered for its tags: both hold."""
    own = message.placementConstraint if message.HasField("placementConstraint") else None
    if registered is None:
        return own
    other = PlacementConstraintProto.FromString(registered)
    if own is None or own == other:
        return other
    kind = CompositePlacementConstraintProto.CompositeType.AND
    both = CompositePlacementConstraintProto(compositeType=kind, childConstraints=[own, other])
    return PlacementConstraintProto(compositeConstraint=both)


def _leaves(constraint: PlacementConstraintProto) -> Iterator[SimplePlacementConstraintProto | None]:
    """Every simple constraint; None for what is neither simple nor composed of such without delay."""
    if constraint.HasField("simpleConstraint"):
        yield constraint.simpleConstraint
        return
    composite = constraint.compositeConstraint
    if composite.compositeType == CompositePlacementConstraintProto.CompositeType.DELAYED_OR:
        yield None
    for child in composite.childConstraints:
        yield from _leaves(child)


def _choices(constraint: PlacementConstraintProto) -> tuple[tuple[TagBound, ...], ...]:
    if constraint.HasField("simpleConstraint"):
        return (tuple(_bounds(constraint.simpleConstraint)),)
    composite = constraint.compositeConstraint
    parts = [_choices(child) for child in composite.childConstraints]
    if not all(parts):
        return ()
    if composite.compositeType == CompositePlacementConstraintProto.CompositeType.OR:
        found = tuple(choice for part in parts for choice in part)
        return found if len(found) <= _MOST_CHOICES else ()
    found = ((),)
    for part in parts:
        found = tuple((*before, *choice) for before, choice in product(found, part))
        if len(found) > _MOST_CHOICES:
            return ()
    return found


def _bounds(leaf: SimplePlacementConstraintProto) -> Iterator[TagBound]:
    """Bounds of what is there before a container comes, for each tag by itself as `PlacementConstraintsUtil` has it."""
    most = None if leaf.maxCardinality >= _UNBOUNDED else leaf.maxCardinality
    for target in leaf.targetExpressions:
        namespace = text_of(target.targetKey)
        whose = "self" if namespace in _OWN else namespace
        for value in sorted(_texts(target.targetValues)):
            yield TagBound(value, max(0, leaf.minCardinality), most, leaf.scope == _RACK, whose)


def _holds_whole(constraint: PlacementConstraintProto) -> bool:
    if constraint.HasField("simpleConstraint"):
        return True
    composite = constraint.compositeConstraint
    is_and = composite.compositeType == CompositePlacementConstraintProto.CompositeType.AND
    return is_and and all(map(_holds_whole, composite.childConstraints))


def _is_judged_there(leaf: SimplePlacementConstraintProto) -> bool:
    """Return whether a cluster knows every container that counts: those on the same node, or on the same rack."""
    namespaces = {text_of(target.targetKey) for target in leaf.targetExpressions}
    are_tags = all(
        target.targetType == PlacementConstraintTargetProto.TargetType.ALLOCATION_TAG
        for target in leaf.targetExpressions
    )
    if not are_tags or leaf.scope not in {_NODE, _RACK}:
        return False
    if leaf.minCardinality > 0:
        return namespaces <= _OWN
    return all(name in _JUDGED_THERE or name.startswith(_ONE_APPLICATION) for name in namespaces)


def _bounds_own(leaf: SimplePlacementConstraintProto, tags: frozenset[str]) -> bool:
    """Return whether it bounds how many containers with these tags a node may have."""
    is_own = all(text_of(target.targetKey) in {*_OWN, "all"} for target in leaf.targetExpressions)
    is_bound = leaf.scope == _NODE and leaf.maxCardinality < _UNBOUNDED
    return is_bound and is_own and bool(values := _values(leaf)) and values <= tags


def _values(leaf: SimplePlacementConstraintProto) -> frozenset[str]:
    return frozenset().union(*(_texts(target.targetValues) for target in leaf.targetExpressions))
