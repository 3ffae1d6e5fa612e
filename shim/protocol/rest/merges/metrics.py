"""`GET /metrics` of several sub-clusters.

Source: `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.ClusterMetricsInfo`.
"""

from collections.abc import Mapping, Sequence

from shim.protocol.rest.merges.fields import (
    PartialDocument,
    Rule,
    all_true,
    amount,
    average,
    decode,
    encode,
    largest,
    merge_objects,
    resource_total,
    total,
)

__all__ = ["merge_metrics"]

_RULES: Mapping[str, Rule] = {
    "rmSchedulerBusyPercent": largest,
    "rmEventQueueSize": largest,
    "schedulerEventQueueSize": largest,
    "crossPartitionMetricsAvailable": all_true,
    "totalUsedResourcesAcrossPartition": resource_total,
    "totalClusterResourcesAcrossPartition": resource_total,
    "totalReservedResourcesAcrossPartition": resource_total,
}
"""Fields that are not sums."""

_PERCENTAGES = {"utilizedMBPercent": "totalMB", "utilizedVirtualCoresPercent": "totalVirtualCores"}
"""Percentages of a total: averages by that total."""


def merge_metrics(parts: Sequence[PartialDocument]) -> bytes:
    """Sum the metrics; peaks where a sum is wrong, averages by size for percentages."""
    if len(parts) == 1:
        return parts[0].document
    documents = [decode(part.document)["clusterMetrics"] for part in parts]
    merged = merge_objects([(document, 1.0) for document in documents], _RULES, default=total)
    for percentage, size in _PERCENTAGES.items():
        values = [(item[percentage], float(amount(item.get(size, 0)))) for item in documents if percentage in item]
        if values:
            merged[percentage] = average(values)
    return encode({"clusterMetrics": merged})
