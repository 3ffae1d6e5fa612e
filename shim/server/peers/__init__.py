"""What one Global Master among several tells about its dealings with the others: metrics and audit lines."""

from shim.server.peers.collector import MastersCollector
from shim.server.peers.matching import MatchingCollector
from shim.server.peers.observer import ForwardedAuditObserver

__all__ = ["ForwardedAuditObserver", "MastersCollector", "MatchingCollector"]
