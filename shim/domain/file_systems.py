"""File systems by their names, and the sub-clusters whose own they are.

A file system is named as Hadoop's URLs name it: `hdfs://nn-east:8020`, `viewfs://all`, `s3a://bucket`. It needs a
scheme and an authority: what has none (`file:///tmp`, `/user/alice`) may be another place on each machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import SubClusterId

MOST_RESOURCES = 1000
"""Files of a submission that are looked at; a Spark job may name hundreds of jars."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,31})://([^/?#\s\x00-\x1f]{1,300})(?:[/?#]|\Z)")
_USUAL_PORTS = {"hdfs": ":8020"}
"""HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT: a URL may leave it out."""


def file_system_of(url_untrusted: str) -> str:
    """Name of the file system of a URL, in lower case and without user and usual port; empty if it names none."""
    found = _URL.match(url_untrusted)
    if found is None:
        return ""
    scheme, authority = found[1].lower(), found[2].rpartition("@")[2].lower()
    authority = authority.removesuffix(_USUAL_PORTS.get(scheme, "\0"))
    return f"{scheme}://{authority}" if authority and scheme != "file" else ""


@dataclass(frozen=True, slots=True)
class FileSystems:
    """Sub-clusters' own file systems."""

    of: Mapping[SubClusterId, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(self.of.values())

    def shared_with(self, subcluster: SubClusterId) -> frozenset[SubClusterId]:
        """Sub-clusters that have a file system in common with this one; itself is not among them."""
        own = self.of.get(subcluster, frozenset())
        return frozenset(name for name, theirs in self.of.items() if name != subcluster and not own.isdisjoint(theirs))

    def parts_of(self, named: Sequence[str]) -> Mapping[SubClusterId, float]:
        """Part of the named files that lies in each sub-cluster's own file systems, of those that are anybody's."""
        known = [each for each in named if any(each in own for own in self.of.values())]
        counts = {name: sum(each in own for each in known) for name, own in self.of.items()}
        return {name: count / len(known) for name, count in counts.items() if count}


NO_FILE_SYSTEMS = FileSystems()
