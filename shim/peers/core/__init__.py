"""Ownership of queues by Global Masters: pure code."""
