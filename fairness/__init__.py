"""Shares as kernels on arrays: arrays in, arrays out, the same answer for the same input.

Imports numpy and nothing of Heddle: rows are indices, and who they stand for is the caller's business. No kernel
changes its arguments. Axis names are a closed vocabulary: n_jobs, n_queues, n_users, n_containers, n_resources.
"""

from fairness.arrays import BoolArray, FloatArray, IntArray, ShapeMismatchError
from fairness.drf import DRFAllocation, dominant_resource_fairness
from fairness.hierarchy import QueueTree, hierarchical_entitlement
from fairness.max_min import weighted_max_min
from fairness.preemption import PreemptionProblem, choose_victims
from fairness.shares import deficit, dominant_share, jain_index

__all__ = [
    "BoolArray",
    "DRFAllocation",
    "FloatArray",
    "IntArray",
    "PreemptionProblem",
    "QueueTree",
    "ShapeMismatchError",
    "choose_victims",
    "deficit",
    "dominant_resource_fairness",
    "dominant_share",
    "hierarchical_entitlement",
    "jain_index",
    "weighted_max_min",
]
