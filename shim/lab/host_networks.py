"""Hosts of their own for a lab's daemons: network namespaces of this machine, with an address each.

Hadoop's rules about hosts (who is a web proxy, who may act for others, which data is near) cannot be seen where all
hosts are one, and it calls every address of a loopback interface `localhost`. So each ResourceManager and each node
gets a network namespace; a bridge in a namespace of its own joins them, which no firewall rule of this machine sees;
and this machine has the first address. Nothing leads out of that network: there is no route to it, nor from it.

The addresses are of 198.18.0.0/15, which is for tests of networks alone (RFC 2544).

Source: ip-netns(8), veth(4), unshare(1), nsenter(1).
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from shim.errors import LabError
from shim.lab.layout import ClusterLayout

_NAMESPACES = Path("/run/netns")
_BLOCK = "198.18"
_PREFIX = "heddle-"
_PROGRAMS = ("ip", "nsenter", "unshare", "sh", "mount")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_TIMEOUT_S = 30
_YOUNG_S = 120.0
"""Whoever made a namespace has a process in it by then."""

_CALL = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()"
_ENTER = 'echo "$1" >/proc/sys/kernel/hostname && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'


class HostsMissingError(LabError):
    """This machine makes no network namespaces."""


class HostNetworks:
    """Networks of labs, `198.18.NUMBER`: a bridge, this machine at .1, and hosts from .2 on."""

    def network(self, number: int) -> str:
        return f"{_BLOCK}.{number}"

    def number_of(self, network: str) -> int:
        return int(network.rpartition(".")[2])

    def raised(self) -> set[str]:
        return {name.rpartition(".")[0] for name in _names()}

    def unused(self) -> dict[str, bool]:
        """Networks in none of whose hosts a process runs; True for those that were made long ago."""
        used, found = _in_use(), dict[str, list[Path]]()
        for name in _names():
            found.setdefault(name.rpartition(".")[0], []).append(_NAMESPACES / f"{_PREFIX}{name}")
        told = {network: [path.stat() for path in paths if path.exists()] for network, paths in found.items()}
        now_s = time.time()
        return {
            network: all(now_s - each.st_ctime > _YOUNG_S for each in stats)
            for network, stats in told.items()
            if not any(each.st_ino in used for each in stats)
        }

    def up(self, network: str, clusters: Sequence[ClusterLayout]) -> None:
        """Make the hosts of a lab's clusters.

        Raises:
            HostsMissingError: If this machine does not; it is left as it was.
        """
        missing = [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]
        if missing:
            raise HostsMissingError(f"no {', '.join(missing)} (Debian: apt-get install iproute2 util-linux)")
        if os.geteuid() != 0:
            raise HostsMissingError("only root can make network namespaces")
        numbers = [daemon.host.rpartition(".")[2] for each in clusters for daemon in each.daemons]
        try:
            self._make(network, numbers)
            self._try(network, numbers[:1])
        except HostsMissingError:
            self.lower(network)
            raise

    def _make(self, network: str, numbers: Sequence[str]) -> None:
        switch, own = f"{_PREFIX}{network}.0", _own_end(network)
        hosts = {number: f"{_PREFIX}{network}.{number}" for number in numbers}
        _ip(
            f"netns add {switch}",
            f"link add {own} type veth peer name own netns {switch}",
            f"addr add {network}.1/24 dev {own}",
            f"link set {own} up",
            *(f"netns add {name}" for name in hosts.values()),
            *(
                f"link add h{number} netns {switch} type veth peer name eth0 netns {name}"
                for number, name in hosts.items()
            ),
        )
        ports = ("own", *(f"h{number}" for number in numbers))
        joined = (line for port in ports for line in (f"link set {port} master bridge", f"link set {port} up"))
        _ip("link add bridge type bridge", "link set bridge up", *joined, namespace=switch)
        for number, name in hosts.items():
            lines = ("link set lo up", f"addr add {network}.{number}/24 dev eth0", "link set eth0 up")
            _ip(*lines, namespace=name)

    def _try(self, network: str, numbers: Sequence[str]) -> None:
        """Look whether a program runs on a host, and reaches this machine from there."""
        with socket.create_server((f"{network}.1", 0)) as server:
            for number in numbers:
                words = (sys.executable, "-c", _CALL, *map(str, server.getsockname()))
                command = on_host(f"{network}.{number}:0", "trial", Path("/etc/hosts"), words)
                done = subprocess.run(  # noqa: S603 - our own words
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
                if done.returncode != 0:
                    told = (done.stdout.splitlines() or ["it says nothing"])[-1]
                    raise HostsMissingError(f"a program on a host of its own does not reach this one: {told}")

    def lower(self, network: str) -> None:
        """Take a network away with all its hosts, as far as it is there."""
        names = [name for name in _names() if name.rpartition(".")[0] == network]
        if not names:
            return
        # with one end of a veth the other goes at once; a namespace goes when the kernel finds the time
        _ip(f"link del {_own_end(network)}", *(f"netns del {_PREFIX}{name}" for name in names), must=False)


def on_host(address: str, name: str, hosts: Path, command: Sequence[str]) -> list[str]:
    """A command as it is run on the host of an address; as it is for an address that is no such host's.

    Args:
        address: `host:port`.
    """
    namespace = _NAMESPACES / f"{_PREFIX}{address.rpartition(':')[0]}"
    if not namespace.exists():
        return list(command)
    enter = (_program("nsenter"), f"--net={namespace}", _program("unshare"), "--mount", "--uts")
    return [*enter, _program("sh"), "-c", _ENTER, "sh", name, str(hosts), *command]


def _names() -> list[str]:
    """Of all hosts of labs, `NETWORK.NUMBER`."""
    return [path.name.removeprefix(_PREFIX) for path in _NAMESPACES.glob(f"{_PREFIX}{_BLOCK}.*.*")]


def _own_end(network: str) -> str:
    """This machine's interface in a network."""
    return f"heddle{network.rpartition('.')[2]}"


def _in_use() -> set[int]:
    """Numbers of the network namespaces in which a process runs."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.add((entry / "ns" / "net").stat().st_ino)
            except OSError:
                continue  # ended meanwhile, or somebody else's
    return found


def _program(name: str) -> str:
    return shutil.which(name, path=_PATH) or name


def _ip(*lines: str, namespace: str = "", must: bool = True) -> None:
    """Run lines of `ip`, in a namespace or in this one."""
    options = ["-netns", namespace] if namespace else []
    force = [] if must else ["-force"]
    try:
        done = subprocess.run(  # noqa: S603 - our own lines
            [_program("ip"), *options, *force, "-batch", "-"],
            input="".join(f"{line}\n" for line in lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise HostsMissingError(f"ip: {exc}") from exc
    if must and done.returncode != 0:
        raise HostsMissingError(f"ip: {' '.join(done.stdout.split())}")
