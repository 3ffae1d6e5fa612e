"""Use cases, speaking domain values: what the doors ask for and what runs by itself. Knows ports, not adapters."""

__all__: list[str] = []
