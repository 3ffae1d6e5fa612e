"""Helpers for the event loop that know nothing of YARN."""

__all__: list[str] = []
