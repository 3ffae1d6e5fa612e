"""Scheduling policies: one file for each system of the literature, and Heddle's own.

A policy names its ordering, placement, commitment and reallocation (`shim.global_master.recipe`); it holds no state and
imports the masters and the kernels only.
"""

from shim.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.policies.megha import MEGHA

__all__ = ["HEDDLE", "HEDDLE_ESTIMATES", "MEGHA"]
