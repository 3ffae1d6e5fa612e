"""Pages of ApplicationMasters through Heddle, at an address of their own."""

from shim.server.proxy.application_pages import ApplicationPages, PageSettings

__all__ = ["ApplicationPages", "PageSettings"]
