"""Which Global Master owns what: pure code."""

__all__: list[str] = []
