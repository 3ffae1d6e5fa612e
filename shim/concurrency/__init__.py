"""Helpers for the event loop that know nothing of YARN."""
