"""Metrics and audit lines of one Global Master's dealings with the others."""

from shim.server.peers.collector import MastersCollector
from shim.server.peers.matching import MatchingCollector
from shim.server.peers.observer import ForwardedAuditObserver

__all__ = ["ForwardedAuditObserver", "MastersCollector", "MatchingCollector"]
