"""Scheduling policies: one file for each system of the literature, and Heddle's own.

A policy names its ordering, placement, commitment and reallocation (`global_master/recipe.py`); it holds no state and
imports the masters and the kernels only. The simulator runs them; on real clusters a queue chooses by its own keys.
"""

from shim.scheduling.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.scheduling.policies.megha import MEGHA

__all__ = ["HEDDLE", "HEDDLE_ESTIMATES", "MEGHA"]
