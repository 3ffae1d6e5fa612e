"""Web services of NodeManagers."""

from collections.abc import Awaitable, Callable

from shim.ports.resource_manager import RestAnswer, RestRequest

AskNode = Callable[[str, RestRequest], Awaitable[RestAnswer]]
"""Asks a NodeManager of one sub-cluster, by its `host:port` as the ResourceManager tells it.

Raises `ResourceManagerError` if it does not answer, or if that is no address of a node of that sub-cluster.
"""
