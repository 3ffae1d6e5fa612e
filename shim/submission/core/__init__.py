"""The choice of a home: pure code, without clock, socket or database."""

__all__: list[str] = []
