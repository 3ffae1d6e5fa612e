"""Arithmetic of shares and preemption: pure code, without clock, socket or database."""

__all__: list[str] = []
