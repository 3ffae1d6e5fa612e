"""Knowledge of the sub-clusters: polls, reads, routing, health."""
