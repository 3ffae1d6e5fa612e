"""The RPC servers: Hadoop clients connect here as to a ResourceManager.

`RPCServer` drives connections; a server decides who may call and answers each method by one row of its table, over the
same use cases as the REST server. No decision is made here.
"""

from shim.server.rpc.admin_service import AdminService
from shim.server.rpc.client_service import ClientService
from shim.server.rpc.connection import RPCLimits, RPCService
from shim.server.rpc.logins import TicketLogin
from shim.server.rpc.own_methods import ClientUseCases
from shim.server.rpc.server import RPCServer

__all__ = ["AdminService", "ClientService", "ClientUseCases", "RPCLimits", "RPCServer", "RPCService", "TicketLogin"]
