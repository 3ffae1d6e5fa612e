"""Heddle for programs: `heddle.client` asks a running Heddle, `heddle.testing` gives tests clusters of their own.

Neither imports the packages that a daemon is made of (`shim`, `adapters`, `fairness`, `altruism`), so that a project
may have packages of those names. Only the command `heddle` has them on its path: see `heddle.__main__`.
"""

__all__: list[str] = []
