"""Finding ports and loopback addresses that nobody has: another lab, or any other program."""

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

from shim.errors import LabError
from shim.lab.host_networks import HostNetworks
from shim.lab.layout import PORTS_PER_LAB, ClusterLayout, lay_out
from shim.lab.processes import marked_processes
from shim.lab.spec import STATE_FILE, LabSpec

SLOTS = 12
"""How many labs can run side by side on one machine."""

_FIRST_PORT = 20_000
# below 127.0.10.* lie addresses that machines like to name (Debian: 127.0.1.1 is the host itself)
_FIRST_OCTET = 10
_OCTETS_PER_SLOT = 10


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; waits for whoever holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def first_taken(addresses: Iterable[str]) -> str | None:
    """The first of `addresses` (`host:port`) that cannot be listened on; `None` if all are free."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # as the JVM does: a connection that is only waiting to be forgotten is no obstacle
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, int(port)))
            except OSError as exc:
                if exc.errno in {errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL}:
                    return address
                raise
    return None


def claim_slot(
    spec: LabSpec, folder: Path, registry: Path, hosts: HostNetworks | None = None
) -> tuple[ClusterLayout, ...]:
    """Take a slot (a block of ports and of networks) for the lab in `folder` and lay it out there.

    Args:
        spec: The lab; its `base_port`, if given, is used as it is.
        folder: The lab's folder; what it held before is given up.
        registry: Folder with one file per slot in use. A slot whose lab is gone is free; one whose lab has a state
            file and no process any more, as after a restart of the machine, is taken when no other is left.
        hosts: Makes hosts of their own for its daemons, and takes away those of labs that have ended without `down`;
            None leaves all on the loopback interface.

    Raises:
        HostsMissingError: If this machine makes no hosts.
        LabError: If the ports asked for are taken, or no slot is free.
    """
    with exclusive(registry / "lock"):
        release_slot(folder, registry, hosts)
        if hosts is not None:
            return _claim_hosts(spec, folder, registry, hosts)
        taken: str | None = None
        for slot in _open_slots(registry):
            claim = registry / f"slot-{slot}"
            base = spec.base_port if spec.base_port is not None else _FIRST_PORT + PORTS_PER_LAB * slot
            layouts = lay_out(spec, base_port=base, first_octet=_FIRST_OCTET + _OCTETS_PER_SLOT * slot)
            taken = first_taken(tuple(address for layout in layouts for address in layout.addresses()))
            if taken is None:
                claim.write_text(f"{os.getpid()}\n{folder}\n", encoding="utf-8")
                return layouts
            if spec.base_port is not None and taken.startswith(("127.0.0.1:", "0.0.0.0:")):
                break  # another slot would change the nodes' networks, not these
    if spec.base_port is not None and taken is not None:
        raise LabError(f"port {taken} is taken by another program: end it, or choose another --base-port")
    raise LabError(f"all {SLOTS} slots for labs are in use or their ports taken (see {registry}): end a lab first")


def _claim_hosts(spec: LabSpec, folder: Path, registry: Path, hosts: HostNetworks) -> tuple[ClusterLayout, ...]:
    """The same on hosts of their own, which nobody else can have taken a port of."""
    for network, is_old in hosts.unused().items():  # what is left of labs that ended without `down`
        claim = _read(registry / f"slot-{hosts.number_of(network)}")
        if is_old if claim is None else not _runs(claim[0]):
            hosts.lower(network)
    in_use = hosts.raised()
    for slot in _open_slots(registry):
        network = hosts.network(slot)
        if network in in_use:
            continue
        base = spec.base_port if spec.base_port is not None else _FIRST_PORT + PORTS_PER_LAB * slot
        layouts = lay_out(spec, base_port=base, first_octet=_FIRST_OCTET, network=network)
        hosts.up(network, layouts)
        (registry / f"slot-{slot}").write_text(f"{os.getpid()}\n{folder}\n", encoding="utf-8")
        return layouts
    raise LabError(f"all {SLOTS} slots for labs are in use (see {registry}): end a lab first")


def release_slot(folder: Path, registry: Path, hosts: HostNetworks | None = None) -> None:
    for claim in registry.glob("slot-*"):
        held = _read(claim)
        if held is not None and held[1] == folder:
            if hosts is not None:
                hosts.lower(hosts.network(int(claim.name.removeprefix("slot-"))))
            claim.unlink(missing_ok=True)


def _read(claim: Path) -> tuple[int, Path] | None:
    """Claimer and the lab it claimed for; `None` if nobody did."""
    try:
        pid, folder = claim.read_text(encoding="utf-8").splitlines()
        return int(pid), Path(folder)
    except (OSError, ValueError):
        return None


def _open_slots(registry: Path) -> Iterator[int]:
    """Slots that may be taken: first those of nobody, then those of labs that were left without `down`."""
    held: dict[int, tuple[int, Path]] = {}
    for slot in range(SLOTS):
        claim = _read(registry / f"slot-{slot}")
        if claim is not None and _is_there(*claim):
            held[slot] = claim
        else:
            yield slot
    for slot, claim in held.items():  # looks at every process of the machine: only where no slot is free
        if _is_dead(*claim):
            yield slot


def _is_there(pid: int, folder: Path) -> bool:
    """True if the claimer is still starting its lab, or the lab has a state file (`down` removes it)."""
    return (folder / STATE_FILE).exists() or _runs(pid)


def _is_dead(pid: int, folder: Path) -> bool:
    """True if neither the claimer nor any process of its lab runs."""
    return not _runs(pid) and next(marked_processes(folder), None) is None


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
