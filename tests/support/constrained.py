"""Labs whose ResourceManagers judge placement constraints, and clients that ask with some."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shim.lab import Lab, LabSpec
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import SpanningApplication
from tests.support.stock_client import StockClient

_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_JAR = "hadoop-yarn-applications-distributedshell"
_HANDLER = "yarn.resourcemanager.placement-constraints.handler"
NODES = 2
"""Of each cluster."""
CLUSTERS = 2


@contextmanager
def constrained_lab(folder: Path, handler: str) -> Iterator[Lab]:
    """Two clusters with two nodes each, with what judges constraints there."""
    with Lab(folder) as own:
        overrides: Mapping[str, Mapping[str, str]] = {"yarn-site.xml": {_HANDLER: handler}}
        own.up(LabSpec.of(clusters=CLUSTERS, nodes=NODES, overrides=overrides))
        yield own


def constrained_client(lab: Lab, heddle: HeddleProcess, folder: Path) -> StockClient:
    """A client whose applications run by the client's own configuration."""
    made = StockClient(lab, folder, heddle)
    site = made.folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{made.folder},"))
    return made


def shell(client: StockClient, seconds: int, *more: str) -> list[str]:
    """DistributedShell whose containers sleep, with further arguments: how many they are, or a placement."""
    return [_SHELL, "-jar", client.jar(_JAR), "-shell_command", "sleep", "-shell_args", str(seconds), *more]


def gated_shell(client: StockClient, gate: Path, *more: str) -> list[str]:
    """The same, whose containers run until a file is there."""
    return [_SHELL, "-jar", client.jar(_JAR), "-shell_command", f"until [ -e {gate} ]; do sleep 0.2; done", *more]


def hosts_of(heddle: HeddleProcess, spanned: SpanningApplication) -> list[str]:
    """Hosts of the containers that an application has now, but for its master's."""
    attempt = spanned.attempts()[-1]
    path = f"apps/{spanned.application}/appattempts/{attempt['appAttemptId']}/containers"
    listed = heddle.ask(path).get("container", [])
    rows = [listed] if isinstance(listed, dict) else listed  # a ResourceManager tells one row without its list
    return [each["nodeId"] for each in rows if each["containerId"] != attempt["containerId"]]
