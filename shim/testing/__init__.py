"""Test doubles and builders that ship with Heddle, so that others can test what they build on it."""

__all__: list[str] = []
