"""Queues of the federation: admission, entitlement, preemption, policies, access."""
