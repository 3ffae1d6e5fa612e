"""Identifiers of YARN and of the federation, parsed strictly.

Source: `org.apache.hadoop.yarn.api.records.{ApplicationId,ApplicationAttemptId,ContainerId,NodeId}`.

Epochs of application ids: each process that issues ids does so under a cluster time stamp of its own.

A ResourceManager takes the time of its start as the cluster time stamp of its ids, so ids of two lives never meet,
whatever the second life remembers. Heddle does the same. A store that was restored from an old copy has forgotten
which sequence numbers were issued; it cannot forget the time of day.
"""

import re
from collections.abc import Collection
from typing import NewType, Self

import msgspec

from shim.domain.addresses import split_told_address

SubClusterId = NewType("SubClusterId", str)
"""Name of a sub-cluster as configured: lower-case letters, digits and dashes, at most 63 characters."""

GlobalMasterId = NewType("GlobalMasterId", str)
"""Name of a Global Master process."""

LocalMasterId = NewType("LocalMasterId", str)
"""Name of a Local Master; the id of its sub-cluster where there is one per sub-cluster."""

_APPLICATION = re.compile(r"application_(-?[0-9]{1,19})_(-?[0-9]{1,10})", re.ASCII)
_ATTEMPT = re.compile(r"appattempt_([0-9]{1,19})_([0-9]{1,10})_([0-9]{1,10})", re.ASCII)
_CONTAINER = re.compile(
    r"container_(?:e([0-9]{1,10})_)?([0-9]{1,19})_([0-9]{1,10})_([0-9]{1,10})_([0-9]{1,19})", re.ASCII
)
_NODE = re.compile(r"([^:/\s]{1,255}):([0-9]{1,5})", re.ASCII)
_UNSEEN = ":-1"
_INT64 = 2**63
_INT32 = 2**31
_EPOCH_SHIFT = 40  # ContainerId.CONTAINER_ID_BITMASK: the epoch stands above the low 40 bits


class MalformedIdError(ValueError):
    """A string that is not an identifier of the kind that was asked for."""


# structs, as there are hundreds of thousands of them; their own hashes differ from process to process
class ApplicationId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Id of an application. Orders by cluster time stamp, then by sequence number, as Hadoop's `compareTo`.

    Attributes:
        cluster_timestamp: int64, milliseconds; start of the issuing ResourceManager or of the federation.
        sequence: int32, counted from 1.
    """

    cluster_timestamp: int
    sequence: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `application_<timestamp>_<sequence>`; zero padding is free, as in Hadoop.

        Raises:
            MalformedIdError: If the text has another form or a number does not fit its width.
        """
        found = _APPLICATION.fullmatch(text)
        if found is None:
            raise MalformedIdError(f"not an application id: {text[:80]!r} (application_<timestamp>_<number>)")
        timestamp, sequence = int(found[1]), int(found[2])
        if not -_INT64 <= timestamp < _INT64 or not -_INT32 <= sequence < _INT32:
            raise MalformedIdError(f"a number in application id {text[:80]!r} is too large")
        return cls(timestamp, sequence)

    def __hash__(self) -> int:
        return hash((self.cluster_timestamp, self.sequence))

    def __str__(self) -> str:
        width = 4 if self.sequence >= 0 else 5  # Java counts digits, not the sign
        return f"application_{self.cluster_timestamp}_{self.sequence:0{width}d}"


class ApplicationAttemptId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Id of one attempt of an application; attempts count from 1."""

    application: ApplicationId
    attempt: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `appattempt_<timestamp>_<sequence>_<attempt>`.

        Raises:
            MalformedIdError: If the text has another form or a number does not fit its width.
        """
        found = _ATTEMPT.fullmatch(text)
        if found is None or int(found[1]) >= _INT64 or max(int(found[2]), int(found[3])) >= _INT32:
            raise MalformedIdError(f"not an application attempt id: {text[:80]!r}")
        return cls(ApplicationId(int(found[1]), int(found[2])), int(found[3]))

    def __hash__(self) -> int:
        return hash((self.application, self.attempt))

    def __str__(self) -> str:
        app = self.application
        return f"appattempt_{app.cluster_timestamp}_{app.sequence:04d}_{self.attempt:06d}"


class ContainerId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Id of a container.

    Attributes:
        number: int64; the low 40 bits count, the bits above are the epoch of the ResourceManager
            (`yarn.resourcemanager.epoch`, one more for each restart).
    """

    attempt: ApplicationAttemptId
    number: int

    @property
    def epoch(self) -> int:
        """Epoch of the ResourceManager that allocated the container."""
        return self.number >> _EPOCH_SHIFT

    @property
    def is_first(self) -> bool:
        """True for the first container of its attempt, which is the ApplicationMaster's."""
        return self.number & ((1 << _EPOCH_SHIFT) - 1) == 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `container_[e<epoch>_]<timestamp>_<sequence>_<attempt>_<number>`.

        Raises:
            MalformedIdError: If the text has another form or a number does not fit its width.
        """
        found = _CONTAINER.fullmatch(text)
        if found is None:
            raise MalformedIdError(f"not a container id: {text[:80]!r}")
        epoch = int(found[1] or 0)
        timestamp, sequence, attempt, low = (int(found[i]) for i in (2, 3, 4, 5))
        number = (epoch << _EPOCH_SHIFT) | low
        if timestamp >= _INT64 or max(sequence, attempt) >= _INT32 or number >= _INT64:
            raise MalformedIdError(f"a number in container id {text[:80]!r} is too large")
        return cls(ApplicationAttemptId(ApplicationId(timestamp, sequence), attempt), number)

    def __hash__(self) -> int:
        return hash((self.attempt, self.number))

    def __str__(self) -> str:
        app = self.attempt.application
        epoch = f"e{self.epoch:02d}_" if self.epoch else ""
        low = self.number & ((1 << _EPOCH_SHIFT) - 1)
        return f"container_{epoch}{app.cluster_timestamp}_{app.sequence:04d}_{self.attempt.attempt:02d}_{low:06d}"


class NodeId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Address of a NodeManager: host, as its ResourceManager writes it, and the port of its container manager."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `host:port`.

        Raises:
            MalformedIdError: If the text has another form or the port is above 65535.
        """
        found = _NODE.fullmatch(text)
        if found is None or int(found[2]) > 65535:  # noqa: PLR2004 - the largest TCP port
            raise MalformedIdError(f"not a node id: {text[:80]!r} (host:port)")
        return cls(found[1], int(found[2]))

    @classmethod
    def printed(cls, text: str) -> Self:
        """Read what `NodeId.toString` prints: also of an IPv6 address, which `NodeId.fromString` does not read.

        A host that a ResourceManager is told to exclude and has not seen in its life has the port -1 (`UnknownNodeId`).

        Raises:
            MalformedIdError: If it prints nothing like that.
        """
        is_unseen = text.endswith(_UNSEEN)
        found = split_told_address(f"{text.removesuffix(_UNSEEN)}:0" if is_unseen else text)
        if found is None:
            raise MalformedIdError(f"not a node id: {text[:80]!r} (host:port)")
        return cls(found[0], -1 if is_unseen else found[1])

    def __hash__(self) -> int:
        return hash((self.host, self.port))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


_LARGEST_JUMP = 1_000_000  # a client may submit under any number; it must not use up the int32 of the sequence


def timestamp_of_epoch(now_ms: int, *, known: Collection[int], listed: Collection[ApplicationId]) -> int:
    """The cluster time stamp of a new epoch.

    Args:
        now_ms: Milliseconds since the epoch.
        known: Time stamps of every earlier epoch that the store remembers.
        listed: Applications that ResourceManagers know.

    Returns:
        A time stamp later than every known one, under which no listed application was issued.
    """
    taken = {application_id.cluster_timestamp for application_id in listed}
    stamp = max(now_ms, max(known, default=0) + 1)
    while stamp in taken:
        stamp += 1
    return stamp


def sequence_above(sequence: int, *, known: Collection[int], listed: Collection[ApplicationId]) -> int:
    """The first free sequence number: at least `sequence`, and above every listed one of a known epoch.

    Numbers more than a million ahead are ignored: a client made them up.
    """
    stamps = frozenset(known)
    ours = (each.sequence for each in listed if each.cluster_timestamp in stamps)
    return max([sequence, *(number + 1 for number in ours if number < sequence + _LARGEST_JUMP)])
