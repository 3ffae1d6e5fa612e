"""Links between masters over WebSockets: implements `shim.ports.master_links`."""

from adapters.peers.link import LinkSettings, LinkTLS, WebSocketDialer, WebSocketLink
from adapters.peers.listener import LinkListener

__all__ = ["LinkListener", "LinkSettings", "LinkTLS", "WebSocketDialer", "WebSocketLink"]
