"""The adapter to a real YARN ResourceManager: the port `shim.ports.ResourceManager` over HTTP."""

__all__: list[str] = []
