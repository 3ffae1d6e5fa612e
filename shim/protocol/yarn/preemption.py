"""Messages by which an ApplicationMaster is asked to give containers back."""

from collections.abc import Sequence

from shim.domain.allocations import ANY, Grant, PreemptedContainer
from shim.protocol.proto.messages import PreemptionMessageProto, PriorityProto, ResourceRequestProto
from shim.protocol.yarn.records import container_message, resource_message

__all__ = ["preemption_message"]


def preemption_message(asked_back: Sequence[PreemptedContainer]) -> PreemptionMessageProto:
    """Both contracts: what will go, and what may be replaced by something of the same size.

    Source: `ApplicationMasterService`'s `generatePreemptionMessage`.
    """
    message = PreemptionMessageProto()
    for each in asked_back:
        contract = message.strictContract if each.is_strict else message.contract
        contract.container.add(id=container_message(each.container))
        if not each.is_strict and each.grant is not None:
            message.contract.resource.add(resource=_replacement(each.grant))
    return message


def _replacement(grant: Grant) -> ResourceRequestProto:
    return ResourceRequestProto(
        priority=PriorityProto(priority=grant.priority),
        resource_name=ANY,
        capability=resource_message(grant.resource),
        num_containers=1,
        relax_locality=True,
    )
