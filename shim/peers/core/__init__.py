"""Ownership of queues by Global Masters: pure code."""

__all__: list[str] = []
