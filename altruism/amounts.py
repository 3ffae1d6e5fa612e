"""Amounts of resources as plain numbers: the packing loops handle a few at a time, where arrays are slow."""

import sys
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["EPSILON", "Amounts", "how_many_fit"]

EPSILON = 1e-9
"""Amounts and times that differ by less are equal: sums of decimal fractions are not exact."""

Amounts: TypeAlias = Sequence[float]
"""One number for each resource."""


def how_many_fit(demand: Amounts, free: Amounts) -> int:
    """Tasks of one demand that fit into what is free; 0 where something is already overdrawn."""
    fits = [(left + EPSILON) // needed for needed, left in zip(demand, free, strict=True) if needed > 0]
    return max(0, int(min(fits))) if fits else sys.maxsize
