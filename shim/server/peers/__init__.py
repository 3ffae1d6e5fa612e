"""Metrics and audit lines of one Global Master's dealings with the others."""

from shim.server.peers.collector import ForwardedAuditObserver, MastersCollector, MatchingCollector

__all__ = ["ForwardedAuditObserver", "MastersCollector", "MatchingCollector"]
