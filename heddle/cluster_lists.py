"""Answers and bodies of the list of sub-clusters, as `heddle.models` has the others."""

from collections.abc import Mapping, Sequence

from heddle.models import Model, Moment, Reload

ClusterKey = str | int | float | bool | Sequence[str] | Mapping[str, float]
"""A value of a key of `[[subcluster]]`: a table has numbers, `reads_from` alone is one."""


class ClusterKeys(Model, forbid_unknown_fields=True):
    """A change of one sub-cluster in the list.

    Attributes:
        keys: Of `[[subcluster]]`, with their new values; none of one that is removed.
        unset: Keys that go.
        note: Why; kept with the version.
        expected: The version that must hold for it to count; None for whichever does.
    """

    keys: Mapping[str, ClusterKey] = {}
    unset: Sequence[str] = []
    note: str = ""
    expected: int | None = None


class ClusterListText(Model, forbid_unknown_fields=True):
    """A whole list as it is sent: TOML with `[[subcluster]]` tables; see `ClusterKeys` for the others."""

    text: str
    note: str = ""
    expected: int | None = None


class ClusterVersion(Model):
    """A list of sub-clusters that holds, or held; `clusters` are their ids."""

    version: int
    applied_by: str
    applied_at_ms: Moment
    note: str
    text: str
    clusters: Sequence[str]


class ClusterVersions(Model):
    """Every list of sub-clusters that is known of.

    Attributes:
        managed: `file` or `store`: where the list is that counts. A file has one version, a checksum of all in it.
        serves: The version that this process serves; 0 for none.
        trouble: Why it does not serve the newest one; empty if it does.
        versions: Newest first.
    """

    managed: str
    serves: int
    trouble: str
    versions: Sequence[ClusterVersion]


class ClusterListChange(Reload):
    """What a change of the list brings; every Heddle of the store follows within seconds.

    Attributes:
        version: Of the list then; of a dry run that of the list that stands.
        before: The list that stood.
        text: The list as it is then.
    """

    version: int
    before: str
    text: str
