"""Links between masters in virtual time: ordered as TCP keeps them, late when packets are lost, broken when silent.

A link ends at once for whoever is at the other end of a process that dies. One that is cut, or whose other end is
stopped, is noticed by pings that nobody answers. Nobody proves anything: the other end is who it says.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from shim.errors import MasterLinkError, RemoteProtocolError, ResourceManagerError
from shim.ports.master_links import AcceptLink
from shim.protocol.peers import Frame, decode_frame_untrusted, encode_frame
from shim.simulation.virtual_time import ProcessGate
from shim.simulation.yarn_sim.network import ModelledNetwork

_HANDSHAKE_S = 3.0  # as `LinkSettings.handshake_s`
_LOOK_S = 2.5  # two looks at a silent link are `masters.silent_after_s`
_SILENT_LOOKS = 2
_RETRANSMISSION_S = 0.2  # the least of Linux
_MOST_RETRANSMISSIONS = 5
_KIND = "link"


class _Wire:
    """One direction of a link: what is sent arrives in order, once.

    Args:
        network: Delays, losses and cuts.
        link: Sender and receiver.
        arrived: Told of each frame, and of the end (None).
    """

    def __init__(
        self, network: ModelledNetwork, link: tuple[str, str], arrived: Callable[[bytes | None], None]
    ) -> None:
        self._network = network
        self._link = link
        self._arrived = arrived
        self._under_way: deque[tuple[float, bytes | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._last_s = 0.0

    @property
    def is_cut(self) -> bool:
        """The link is cut in this direction."""
        return self._link in self._network.cut

    def send(self, data: bytes | None) -> None:
        """Have a frame, or the end, on its way."""
        self._network.messages[_KIND] += 1
        loop = asyncio.get_running_loop()
        self._last_s = max(self._last_s, loop.time() + self._takes_s())
        self._under_way.append((self._last_s, data))
        if self._timer is None:
            self._timer = loop.call_at(self._last_s, self._deliver)

    def _takes_s(self) -> float:
        network = self._network
        takes_s = network.hop_s + (network.rng.uniform(0.0, network.jitter_s) if network.jitter_s else 0.0)
        for _ in range(_MOST_RETRANSMISSIONS):
            if not network.loss or network.rng.random() >= network.loss:
                break
            takes_s += _RETRANSMISSION_S
        return takes_s

    def _deliver(self) -> None:
        loop = asyncio.get_running_loop()
        if self.is_cut:
            self._timer = loop.call_later(_RETRANSMISSION_S, self._deliver)
            return
        while self._under_way and self._under_way[0][0] <= loop.time():
            self._arrived(self._under_way.popleft()[1])
        self._timer = loop.call_at(self._under_way[0][0], self._deliver) if self._under_way else None

    def stop(self) -> None:
        """Drop what is under way."""
        self._under_way.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _End:
    """One end of a link: implements `MasterLink`."""

    def __init__(self, peer: str, address: str, gate: ProcessGate) -> None:
        self.peer = peer
        self.address = address
        self.gate = gate
        self.is_open = True
        self.wire: _Wire | None = None
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, frame: Frame) -> None:
        await self.send_encoded(encode_frame(frame))

    async def send_encoded(self, data: bytes) -> None:
        await self.gate.through()
        if not self.is_open or self.wire is None:
            raise MasterLinkError(f"the link to {self.peer} is broken")
        self.wire.send(data)
        await asyncio.sleep(0)

    async def receive(self) -> Frame:
        data = await self._incoming.get() if self.is_open else None
        await self.gate.through()
        if data is None:
            raise MasterLinkError(f"{self.peer} ended the link")
        return decode_frame_untrusted(data)

    async def close(self, reason: str = "") -> None:
        del reason
        self.hang_up()

    def hang_up(self) -> None:
        """Tell the other end that this one is closed; of a process that dies, too: its kernel ends what was open."""
        if self.is_open and self.wire is not None:
            self.wire.send(None)
        self.end()

    def arrived(self, data: bytes | None) -> None:
        """Take what came over the wire."""
        self._incoming.put_nowait(data)
        if data is None:
            self.is_open = False

    def end(self) -> None:
        """Know the link as broken."""
        if self.is_open:
            self.arrived(None)


@dataclass(slots=True)
class _Silence:
    """Pings of a link: it breaks when two looks in a row find that nobody would answer."""

    ends: tuple[_End, _End]
    wires: tuple[_Wire, _Wire]
    looks: int = 0

    def look(self) -> None:
        """Look once, and again later while an end is open."""
        if not any(end.is_open for end in self.ends):
            return
        is_silent = any(wire.is_cut for wire in self.wires) or any(not end.gate.goes_on for end in self.ends)
        self.looks = self.looks + 1 if is_silent else 0
        if self.looks < _SILENT_LOOKS:
            asyncio.get_running_loop().call_later(_LOOK_S, self.look)
            return
        for part in self.wires:
            part.stop()
        for end in self.ends:
            end.end()


@dataclass(frozen=True, slots=True)
class _Listener:
    """A process that takes links at an address."""

    role: str
    gate: ProcessGate
    accept: AcceptLink


@dataclass(slots=True)
class ModelledLinks:
    """All links between the masters of a run."""

    network: ModelledNetwork
    _listeners: dict[str, _Listener] = field(default_factory=dict)

    def listen(self, address: str, role: str, gate: ProcessGate, accept: AcceptLink) -> None:
        self._listeners[address] = _Listener(role, gate, accept)

    def dialer(self, role: str, gate: ProcessGate) -> "ModelledDialer":
        return ModelledDialer(self, role, gate)

    async def connect(self, me: str, gate: ProcessGate, address: str, expected: str) -> _End:
        """Make a link; raises as `MasterDialer.dial`."""
        listener = self._listeners.get(address)
        if listener is None or listener.gate.is_dead:
            raise MasterLinkError(f"{expected} at {address} cannot be reached: connection refused")
        await self._shake_hands(gate, listener, address)
        if listener.role != expected:
            raise MasterLinkError(f"{listener.role} is at {address} instead of {expected}")
        ours, theirs = _End(expected, address, gate), _End(me, gate.name, listener.gate)
        there = _Wire(self.network, (gate.name, listener.gate.name), theirs.arrived)
        back = _Wire(self.network, (listener.gate.name, gate.name), ours.arrived)
        ours.wire, theirs.wire = there, back
        serving = listener.gate.spawn(_serve(listener.accept, theirs), f"link of {me}")
        serving.add_done_callback(lambda _: theirs.hang_up())
        _Silence((ours, theirs), (there, back)).look()
        return ours

    async def _shake_hands(self, gate: ProcessGate, listener: _Listener, address: str) -> None:
        link = (gate.name, listener.gate.name)
        try:
            await self.network.carry(
                link, _KIND, lambda: listener.gate.serve(listener.gate.through, "handshake"), timeout_s=_HANDSHAKE_S
            )
        except ResourceManagerError as exc:
            raise MasterLinkError(f"{listener.role} at {address} does not answer") from exc


@dataclass(frozen=True, slots=True)
class ModelledDialer:
    """Makes the links of one process: implements `MasterDialer`."""

    links: ModelledLinks
    role: str
    gate: ProcessGate

    async def dial(self, address: str, *, expected: str) -> _End:
        await self.gate.through()
        made = await self.links.connect(self.role, self.gate, address, expected)
        await self.gate.through()
        return made

    async def close(self) -> None:
        """Keep nothing."""


async def _serve(accept: AcceptLink, link: _End) -> None:
    """Serve a link until it ends, as a listener does; a bug is left to the loop to tell of."""
    with suppress(MasterLinkError, RemoteProtocolError):
        await accept(link)
