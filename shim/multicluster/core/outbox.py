"""News that wait for the ApplicationMaster's next answer, and the making of that answer."""

from collections.abc import Iterable, Sequence

from shim.domain.allocations import AllocateAnswer, NodeNews, NodeToken, RejectedAsk
from shim.domain.ids import ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.events import Fate, LedgerEffect, Remember

__all__ = ["Outbox", "remembered"]


class Outbox:
    """Tokens and messages of the further sub-clusters, beside the containers of the book."""

    def __init__(self, containers: ContainerBook) -> None:
        self._containers = containers
        self._tokens: dict[NodeId, NodeToken] = {}
        self._joined: list[bytes] = []
        self._news: dict[NodeId, NodeNews] = {}
        self._rejected: list[RejectedAsk] = []

    def tell_of(self, nodes: Iterable[NodeId], *, is_lost: bool) -> None:
        """Nodes are lost or back with their sub-cluster; only the last word counts."""
        for node in nodes:
            self._news[node] = NodeNews(node, is_lost)

    def add(self, tokens: Iterable[NodeToken], joined: bytes = b"") -> None:
        """Tokens and messages that a scheduler answered."""
        self._tokens |= {token.node: token for token in tokens}
        if joined:
            self._joined.append(joined)

    def reject(self, rejected: RejectedAsk) -> None:
        """Containers have no place at any sub-cluster that may be asked."""
        self._rejected.append(rejected)

    def forget_rejected(self) -> None:
        """The ApplicationMaster will say all its asks once more."""
        self._rejected.clear()

    def compose(
        self,
        home: AllocateAnswer,
        response_id: int,
        elsewhere: Sequence[tuple[ResourceVector, int]],
        *,
        holds_back: bool = False,
    ) -> tuple[AllocateAnswer, list[Container]]:
        """Put everything that waits into one answer.

        Args:
            home: The home's own answer.
            response_id: Of the answer.
            elsewhere: Headroom and nodes of the further sub-clusters.
            holds_back: Whether containers are held until the rest of their gang is there; those with a placement are
                part of no gang.

        Returns:
            The answer, and the containers that the ApplicationMaster has by it.
        """
        granted = self._containers.in_state(ContainerState.QUEUED, ContainerState.STILLBORN)
        if holds_back:
            granted = [each for each in granted if each.key is not None and each.key.placement is not None]
        ended = self._containers.in_state(ContainerState.ENDED, ContainerState.STILLBORN)
        for container in granted:
            if container.state is ContainerState.QUEUED:
                container.move(ContainerState.GIVEN)
        for container in ended:
            container.move(ContainerState.TOLD)
        answer = AllocateAnswer(
            response_id=response_id,
            grants=tuple(each.grant for each in granted if each.grant is not None),
            ended=tuple(each.ended for each in ended if each.ended is not None),
            node_tokens=tuple(self._tokens.values()),
            headroom=sum((headroom for headroom, _ in elsewhere), home.headroom),
            nodes=home.nodes + sum(nodes for _, nodes in elsewhere),
            joined=home.joined + b"".join(self._joined),
            rest=home.rest,
            news=tuple(self._news.values()),
            rejected=tuple(self._rejected),
        )
        self._rejected.clear()
        self._news.clear()
        self._tokens.clear()
        self._joined.clear()
        return answer, granted


def remembered(
    containers: Iterable[Container], home: SubClusterId | None, fate: Fate, answer: int = 0
) -> list[LedgerEffect]:
    """Make the notes on containers beyond the home; `answer` is the id of the answer that gives them.

    Those at home are remembered, too, if `home` is None.
    """
    by_subcluster: dict[SubClusterId, list[ContainerId]] = {}
    for container in containers:
        if container.subcluster != home:
            by_subcluster.setdefault(container.subcluster, []).append(container.id)
    return [Remember(name, fate, tuple(ids), answer) for name, ids in by_subcluster.items()]
