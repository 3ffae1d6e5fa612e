"""Order of files of tests for runs that serve one file at a time to each process (`--dist loadfile`).

A long file that is served late is what one process still does when the others have ended.
"""

from collections.abc import Sequence

import pytest

__all__ = ["LONGEST", "longest_first"]

LONGEST: Sequence[str] = (
    "tests/faults/test_lent_containers.py",
    "tests/e2e/test_constraints.py",
    "tests/e2e/test_kerberos.py",
    "tests/e2e/test_graphs_in_queues.py",
    "tests/e2e/test_console.py",
    "tests/e2e/test_application_pages.py",
    "tests/differential/test_versions.py",
    "tests/e2e/test_admin.py",
    "tests/e2e/test_aggregated_logs.py",
    "tests/e2e/test_altruism_of_tez.py",
    "tests/e2e/test_medea_in_queues.py",
)
"""Files that take minutes, by how many: of those that `make lab-tests` lists as slow (`--durations`)."""


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests of `LONGEST` before the others; within a file, and among the others, the order stays."""
    ranks = {file: rank for rank, file in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))
