"""Needs of the services, as small protocols: the shells implement them, tests double them."""

from shim.ports.clock import Clock
from shim.ports.lease_store import LeaseStore
from shim.ports.queue_stores import PolicyStore, PolicyVersion
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.state_store import StateStore

__all__ = [
    "Clock",
    "LeaseStore",
    "PolicyStore",
    "PolicyVersion",
    "ResourceManager",
    "RestAnswer",
    "RestRequest",
    "StateStore",
]
