"""Applications that hold containers of several sub-clusters: attempts, sessions, unmanaged masters."""

__all__: list[str] = []
