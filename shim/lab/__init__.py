"""Real YARN clusters as processes of this machine: for trying Heddle out, for its tests and for its benchmarks.

Nothing here knows Heddle's services or servers; a lab is what they are pointed at.
"""

from shim.lab.boot import BootStep, Watcher
from shim.lab.hadoop_conf import FrontAddresses
from shim.lab.handles import Cluster, DaemonStatus
from shim.lab.lifecycle import Lab, default_folder
from shim.lab.spec import DEFAULT_VERSION, SUPPORTED_VERSIONS, ClusterSpec, HostKind, LabSpec, SchedulerKind, Tuning

__all__ = [
    "DEFAULT_VERSION",
    "SUPPORTED_VERSIONS",
    "BootStep",
    "Cluster",
    "ClusterSpec",
    "DaemonStatus",
    "FrontAddresses",
    "HostKind",
    "Lab",
    "LabSpec",
    "SchedulerKind",
    "Tuning",
    "Watcher",
    "default_folder",
]
