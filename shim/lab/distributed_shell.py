"""Hadoop's own DistributedShell on a lab: its ApplicationMaster runs one command in each container it gets.

Submitted as a plain REST context: whatever takes a ResourceManager's submissions can run it. Files of this machine
are files of every node of a lab.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.lab.java_options import JAVA_OPENS, QUICK_START
from shim.lab.shared_classes import class_path, sharing

_MASTER = "org.apache.hadoop.yarn.applications.distributedshell.ApplicationMaster"
_NODES_OWN_CONF = "$HADOOP_CONF_DIR"


@dataclass(frozen=True, slots=True)
class DistributedShell:
    """One application.

    Attributes:
        command: What each container runs; `$YARN_SHELL_ID` counts them from 1.
        attempts: How often its master may be started.
    """

    name: str
    command: str
    containers: int
    folder: Path
    kind: str = "YARN"
    master_mib: int = 256
    container_mib: int = 128
    attempts: int = 2

    def prepare(self) -> None:
        """Write what its master reads, unless it is there: YARN fails who was submitted with another time of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Java's DataInput.readUTF: the length in two bytes, then the text
        command = self.command.encode()
        written = struct.pack(">H", len(command)) + command
        if not self._commands.exists() or self._commands.read_bytes() != written:
            self._commands.write_bytes(written)

    def context(self, application_id: str, *, queue: str, jars: Path, conf: str = _NODES_OWN_CONF) -> dict[str, Any]:
        """The submission, as the REST interface of a ResourceManager takes it.

        Args:
            jars: Hadoop jars on the nodes, with DistributedShell's.
            conf: The folder in which its master finds the address of its scheduler: the node's own, or a client's.
        """
        java = ("-Xmx96m", *QUICK_START, *JAVA_OPENS, *sharing(jars))
        arguments = {
            "--container_type": "GUARANTEED",
            "--container_memory": self.container_mib,
            "--container_vcores": 1,
            "--num_containers": self.containers,
            "--priority": 0,
        }
        words = ["{{JAVA_HOME}}/bin/java", *java, _MASTER, *(f"{key} {value}" for key, value in arguments.items())]
        return {
            "application-id": application_id,
            "application-name": self.name,
            "application-type": self.kind,
            "queue": queue,
            "max-app-attempts": self.attempts,
            "resource": {"memory": self.master_mib, "vCores": 1},
            "am-container-spec": {
                "commands": {"command": " ".join(words) + " 1><LOG_DIR>/master.out 2><LOG_DIR>/master.err"},
                "environment": {"entry": [{"key": "CLASSPATH", "value": class_path(jars, conf)}]},
                "local-resources": {"entry": [_local_file(self._commands)]},
            },
        }

    @property
    def _commands(self) -> Path:
        return self.folder / "shellCommands"


def _local_file(path: Path) -> dict[str, Any]:
    status = os.stat(path)  # noqa: PTH116 - both numbers of one look
    resource = {
        "resource": f"file://{path}",
        "type": "FILE",
        "visibility": "APPLICATION",
        "size": status.st_size,
        "timestamp": status.st_mtime_ns // 1_000_000,
    }
    return {"key": path.name, "value": resource}
