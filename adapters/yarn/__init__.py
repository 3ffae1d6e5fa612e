"""The adapter to a real YARN ResourceManager: the port `shim.ports.ResourceManager` over HTTP."""

from adapters.yarn.configuration import SubClusterConfiguration, read_folder
from adapters.yarn.rm_rest import RestResourceManager, RestSettings

__all__ = ["RestResourceManager", "RestSettings", "SubClusterConfiguration", "read_folder"]
