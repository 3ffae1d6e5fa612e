"""What one Global Master among several tells about its dealings with the others: metrics and audit lines."""

from shim.server.masters.collector import MastersCollector
from shim.server.masters.matching import MatchingCollector
from shim.server.masters.witness import PassedOnWitness

__all__ = ["MastersCollector", "MatchingCollector", "PassedOnWitness"]
