"""Links between masters over WebSockets: implements `shim.ports.master_links`."""

from adapters.masters.dialer import WebSocketDialer
from adapters.masters.link import LinkSettings, WebSocketLink
from adapters.masters.listener import LinkListener

__all__ = ["LinkListener", "LinkSettings", "WebSocketDialer", "WebSocketLink"]
