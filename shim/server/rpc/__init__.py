"""The RPC doors: Hadoop clients connect here as to a ResourceManager.

`RPCServer` drives connections; a door decides who may call and answers each method by one row of its table, over the
same use cases as the REST door. No decision is made here.
"""

from shim.server.rpc.admin_door import AdminDoor
from shim.server.rpc.client_door import ClientDoor
from shim.server.rpc.client_use_cases import ClientUseCases
from shim.server.rpc.connection import RPCDoor, RPCLimits
from shim.server.rpc.logins import KerberosDoor
from shim.server.rpc.server import RPCServer

__all__ = ["AdminDoor", "ClientDoor", "ClientUseCases", "KerberosDoor", "RPCDoor", "RPCLimits", "RPCServer"]
