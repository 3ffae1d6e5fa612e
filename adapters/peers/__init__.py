"""Links between masters over WebSockets: implements `shim.ports.master_links`."""

from adapters.peers.dialer import WebSocketDialer
from adapters.peers.link import LinkSettings, LinkTLS, WebSocketLink
from adapters.peers.listener import LinkListener

__all__ = ["LinkListener", "LinkSettings", "LinkTLS", "WebSocketDialer", "WebSocketLink"]
