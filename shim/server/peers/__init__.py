"""What one Global Master among several tells about its dealings with the others: metrics and audit lines."""

from shim.server.peers.collector import MastersCollector
from shim.server.peers.matching import MatchingCollector
from shim.server.peers.witness import PassedOnWitness

__all__ = ["MastersCollector", "MatchingCollector", "PassedOnWitness"]
