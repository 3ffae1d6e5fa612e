"""Calls of operators' tools, brought to the ResourceManagers that they concern, in the operator's own name.

Whether the operator may is each ResourceManager's decision (`yarn.admin.acl`), as its audit log shows. What became of a
call is told for each sub-cluster: nobody can undo half a change who does not know which half was made.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shim.domain.ids import NodeId, SubClusterId
from shim.errors import BadRequestError, NotFoundError, NoUsableSubClusterError, ResourceManagerError
from shim.federation.core.federation_view import FederationView, Part, SubClusterView
from shim.federation.documents import DocumentReading
from shim.ports.clock import Clock
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall, RPCRefusal

_ANY_PORT = 0


@dataclass(frozen=True, slots=True)
class AdminOutcome:
    """Outcome of a call, by sub-cluster in the configured order.

    Attributes:
        refusals: Exceptions of those that refused it.
        silent: Why there is no answer of the others, which may have done it.
    """

    payloads: Mapping[SubClusterId, bytes]
    refusals: Mapping[SubClusterId, RPCRefusal]
    silent: Mapping[SubClusterId, str]

    @property
    def is_whole(self) -> bool:
        """True if every sub-cluster did it."""
        return not self.refusals and not self.silent


class AdminCalls:
    """Makes calls on behalf of operators.

    Args:
        rpcs: The admin RPC servers of the ResourceManagers.
        view: The sub-clusters and their nodes.
        documents: Told what to read anew after a change.
    """

    def __init__(
        self,
        *,
        rpcs: Mapping[SubClusterId, ResourceManagerRPC],
        view: FederationView,
        documents: DocumentReading,
        clock: Clock,
    ) -> None:
        self._rpcs = rpcs
        self._view = view
        self._documents = documents
        self._clock = clock

    @property
    def everywhere(self) -> tuple[SubClusterId, ...]:
        """All sub-clusters, in the configured order."""
        return tuple(self._view.subclusters)

    def looks(self) -> list[SubClusterView]:
        now_s = self._clock.now_s()
        return [self._view.look(item, now_s) for item in self._view.subclusters]

    def chosen(self, name: str) -> tuple[SubClusterId, ...]:
        """The sub-cluster of that name, or all if it is empty.

        Raises:
            NotFoundError: There is none of that name.
        """
        if not name:
            return self.everywhere
        if name not in self._view.subclusters:
            raise NotFoundError(f"there is no sub-cluster {name!r}; there are: {', '.join(self.everywhere)}")
        return (SubClusterId(name),)

    def check_present(self, subclusters: Collection[SubClusterId]) -> None:
        """A change that clusters must have in common is made everywhere or not at all.

        Raises:
            NoUsableSubClusterError: One of them does not answer at the moment.
        """
        away = [item for item in self._view.late(self._clock.now_s()) if item in subclusters]
        if away:
            raise NoUsableSubClusterError(f"sub-cluster {', '.join(away)} is away: nothing was changed anywhere")

    def owner_of(self, node: NodeId) -> SubClusterId:
        """Sub-cluster of a node; port 0 stands for every node of the host.

        Raises:
            NotFoundError: No sub-cluster has told of it. A single sub-cluster says so itself.
            BadRequestError: Several sub-clusters have it.
        """
        if len(self.everywhere) == 1:
            return self.everywhere[0]
        owners = [look.subcluster for look in self.looks() if any(_is(report.node, node) for report in look.nodes)]
        name = node.host if node.port == _ANY_PORT else str(node)
        if not owners:
            raise NotFoundError(f"no sub-cluster has a node {name}")
        if len(owners) > 1:
            raise BadRequestError(f"node {name} is in {' and '.join(owners)}: name its port, or the sub-cluster")
        return owners[0]

    async def tell(self, calls: Mapping[SubClusterId, RPCCall], *, touches: Collection[Part] = ()) -> AdminOutcome:
        """Make all these calls at once and wait for every answer.

        Args:
            touches: What is read anew afterwards, as it may have changed.
        """
        answers = await asyncio.gather(*(self._ask(item, call) for item, call in calls.items()))
        for item in calls:
            for part in touches:
                self._documents.mark_touched(item, part)
        told = dict(zip(calls, answers, strict=True))
        heard = {item: answer for item, answer in told.items() if isinstance(answer, RPCAnswer)}
        return AdminOutcome(
            payloads={item: answer.payload for item, answer in heard.items() if answer.refusal is None},
            refusals={item: answer.refusal for item, answer in heard.items() if answer.refusal is not None},
            silent={item: answer for item, answer in told.items() if isinstance(answer, str)},
        )

    async def _ask(self, subcluster: SubClusterId, call: RPCCall) -> RPCAnswer | str:
        rpc = self._rpcs.get(subcluster)
        if rpc is None:
            return "its admin RPC address is not known: set admin_rpc or conf in its [[subcluster]]"
        try:
            return await rpc.call(call)
        except ResourceManagerError as exc:
            return exc.reason


def _is(node: NodeId, named: NodeId) -> bool:
    return node.host == named.host and named.port in (node.port, _ANY_PORT)
