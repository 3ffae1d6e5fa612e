"""Scopes: what an API token lets its holder do of what its user may do."""

from enum import StrEnum

__all__ = ["TokenScope"]


class TokenScope(StrEnum):
    """A part of what a user may do. Each token reads; the others are apart: who operates does not submit by that."""

    READ = "read"
    SUBMIT = "submit"
    """Submissions, and changes of applications and reservations."""
    OPERATE = "operate"
    """What operators of Heddle and of ResourceManagers change: clusters, policies, labels, nodes."""
