"""Knowledge of the sub-clusters: polls, reads, routing, health."""

__all__: list[str] = []
