"""Order of files of tests for runs that serve one file at a time to each process (`--dist loadfile`).

A long file that is served late is what one process still does when the others have ended.
"""

from collections.abc import Sequence

import pytest

__all__ = ["LONGEST", "longest_first"]

LONGEST: Sequence[str] = (
    "tests/faults/test_lent_containers.py",
    "tests/simulation/test_calibration.py",
    "tests/e2e/test_constraints.py",
    "tests/e2e/test_medea_in_queues.py",
)
"""Files that take minutes, on clusters of their own, by how many: of those that `make lab-tests` lists as slow."""


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests of `LONGEST` before the others; within a file, and among the others, the order stays."""
    ranks = {file: rank for rank, file in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))
