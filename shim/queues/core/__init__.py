"""Arithmetic of shares and preemption: pure code, without clock, socket or database."""
