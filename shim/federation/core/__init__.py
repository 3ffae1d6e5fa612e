"""The federation view: pure code, without clock, socket or database."""

__all__: list[str] = []
