"""The difference between two reports of one Local Master, and its application."""

from dataclasses import dataclass, replace

from shim.domain import ApplicationDocument, ApplicationId, NodeId, NodeReport, QueueReport, SubClusterReport
from shim.domain.packed_texts import plain
from shim.errors import RemoteProtocolError


class DeltaMismatchError(RemoteProtocolError):
    """A delta does not stand on the report that it is applied to."""


@dataclass(frozen=True, slots=True)
class ReportDelta:
    """Change from one report to the next.

    Attributes:
        head: The new report without its bulk: nodes, queues, documents and applications.
        nodes: Nodes that are new or changed; `gone_nodes` are no longer reported.
        queues: All queues if any changed, else None.
        documents: Documents that are new or changed; `gone_documents` are those that this poll did not ask for.
        applications: Applications that are new or changed; `gone_applications` are no longer reported.
    """

    base: int
    head: SubClusterReport
    nodes: tuple[NodeReport, ...]
    gone_nodes: tuple[NodeId, ...]
    queues: tuple[QueueReport, ...] | None
    documents: dict[str, bytes]
    gone_documents: tuple[str, ...]
    applications: tuple[ApplicationDocument, ...]
    gone_applications: tuple[ApplicationId, ...]


def without_bulk(report: SubClusterReport) -> SubClusterReport:
    """The report's scalars alone."""
    return replace(report, nodes=(), queues=(), documents={}, applications={})


def delta_between(before: SubClusterReport, after: SubClusterReport) -> ReportDelta:
    """Change from `before` to `after`; both of the same life of the same Local Master."""
    nodes_before = {node.node: node for node in before.nodes}
    nodes_after = {node.node for node in after.nodes}
    return ReportDelta(
        base=before.sequence,
        head=without_bulk(after),
        nodes=tuple(node for node in after.nodes if nodes_before.get(node.node) != node),
        gone_nodes=tuple(node for node in nodes_before if node not in nodes_after),
        queues=None if before.queues == after.queues else after.queues,
        documents={name: plain(told) for name, told in after.documents.items() if before.documents.get(name) != told},
        gone_documents=tuple(name for name in before.documents if name not in after.documents),
        applications=tuple(
            document for id_, document in after.applications.items() if before.applications.get(id_) != document
        ),
        gone_applications=tuple(id_ for id_ in before.applications if id_ not in after.applications),
    )


def apply_delta(before: SubClusterReport, delta: ReportDelta) -> SubClusterReport:
    """The report that `delta` leads to.

    Raises:
        DeltaMismatchError: If `before` is not the report that the delta stands on.
    """
    if before.sequence != delta.base or before.subcluster != delta.head.subcluster:
        raise DeltaMismatchError(
            f"sub-cluster {delta.head.subcluster}: delta on report {delta.base}, but the last one known is "
            f"{before.sequence} of {before.subcluster}"
        )
    nodes = {node.node: node for node in before.nodes}
    nodes.update((node.node, node) for node in delta.nodes)
    for gone_node in delta.gone_nodes:
        nodes.pop(gone_node, None)
    documents = {name: raw for name, raw in before.documents.items() if name not in delta.gone_documents}
    applications = dict(before.applications)
    applications.update((document.summary.application_id, document) for document in delta.applications)
    for gone in delta.gone_applications:
        applications.pop(gone, None)
    return replace(
        delta.head,
        nodes=tuple(nodes.values()),
        queues=before.queues if delta.queues is None else delta.queues,
        documents={**documents, **delta.documents},
        applications=applications,
    )
