"""Scheduling policies: one file for each system of the literature, and Heddle's own.

A policy names its ordering, placement, commitment and reallocation (`shim/scheduling/policy.py`), and the facts that it
needs; it holds no state. The cycle (`shim/scheduling/cycle.py`) runs it in every world that provides those facts.
"""

from shim.scheduling.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.scheduling.policies.megha import MEGHA

__all__ = ["HEDDLE", "HEDDLE_ESTIMATES", "MEGHA"]
