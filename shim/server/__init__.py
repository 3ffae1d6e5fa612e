"""The servers: what clients connect to. They translate, and decide nothing."""

__all__: list[str] = []
