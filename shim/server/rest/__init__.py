"""The REST server: a ResourceManager's web services, pages and `/jmx` for HTTP clients."""

from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.server import RestServer

__all__ = ["ConnectionLimits", "RestServer"]
