"""The doors: what clients connect to. They translate, and decide nothing; the use cases are in `shim.services`."""

__all__: list[str] = []
