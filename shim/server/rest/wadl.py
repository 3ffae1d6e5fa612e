"""The description of a path that `OPTIONS` answers: which methods, in which types."""

from html import escape

from shim.protocol.rest.xml_writer import XML_HEAD
from shim.server.rest.endpoints import Match

__all__ = ["describe"]

_TYPES = ("application/json", "application/xml")


def describe(match: Match, raw_path: str) -> bytes:
    """A WADL document of one resource."""
    methods = "".join(_method(name) for name in sorted(match.endpoints))
    return (
        f'{XML_HEAD}<application xmlns="http://wadl.dev.java.net/2009/02"><resources base="/">'
        f'<resource path="{escape(raw_path.lstrip("/"))}">{methods}</resource></resources></application>'
    ).encode()


def _method(name: str) -> str:
    representations = "".join(f'<representation mediaType="{kind}"/>' for kind in _TYPES)
    return f'<method name="{name}"><response>{representations}</response></method>'
