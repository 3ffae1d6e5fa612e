"""Queues of the federation: admission, entitlement, preemption, policies, access."""

__all__: list[str] = []
