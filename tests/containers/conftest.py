"""The images of docker/ as containers: what compose.yaml says is what is started."""

import os

# before testcontainers is imported: its clean-up container is an image that need not be there; labels do its work
os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker.errors
import pytest
import yaml
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

import docker
from heddle.testing import MissingProgramError
from heddle.testing.containers import find_docker
from shim.lab.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
LABEL = {"heddle": "tests"}
HEALTHY_WITHIN_S = 240

VARIABLE = re.compile(r"\$\{(?P<name>\w+):-(?P<default>[^}]*)\}")


@pytest.fixture(scope="session")
def daemon() -> Iterator[docker.DockerClient]:
    """A Docker daemon. In CI there is one; elsewhere its tests are skipped without one."""
    try:
        client = find_docker()
    except MissingProgramError as missing:
        if os.environ.get("CI"):
            raise pytest.UsageError(f"CI has no Docker daemon: scripts/docker-daemon.sh start ({missing})") from missing
        pytest.skip(f"scripts/docker-daemon.sh start, as root: {missing}")
    sweep(client)
    yield client
    sweep(client)
    client.close()


def sweep(client: docker.DockerClient) -> None:
    """Remove what a test run has made, this one or one that was killed."""
    wanted: dict[str, str | list[str] | bool] = {"label": [f"{key}={value}" for key, value in LABEL.items()]}
    for container in client.containers.list(all=True, filters=wanted):
        try:
            container.remove(force=True, v=True)
        except docker.errors.APIError as exc:
            if exc.status_code not in (404, 409):  # gone, or being removed already
                raise
    client.networks.prune(filters=wanted)
    # each change of Heddle is another image: the newest will do
    images = sorted(client.images.list("heddle-testing"), key=lambda image: str(image.attrs["Created"]))
    for image in images[:-1]:
        try:
            client.images.remove(str(image.id), force=True)
        except docker.errors.APIError as exc:
            if exc.status_code not in (404, 409):  # gone, or a container has it
                raise


@pytest.fixture(scope="session")
def images(daemon: docker.DockerClient) -> docker.DockerClient:
    """All images, built from what is here now."""
    built = subprocess.run([ROOT / "scripts" / "images.sh"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return daemon


@pytest.fixture(scope="session")
def compose() -> dict[str, Any]:
    """docker/compose.yaml with its defaults filled in."""
    text = (ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(VARIABLE.sub(lambda found: found["default"], text))
    return document


class Stack:
    """Containers of compose.yaml on a network of their own; published ports are free ones of the loopback address."""

    def __init__(self, services: Mapping[str, Mapping[str, Any]], network: Network, shared: Path) -> None:
        self._services = services
        self._network = network
        self._shared = shared
        self._running: dict[str, DockerContainer] = {}

    def start(self, *names: str) -> None:
        """Start services and wait until they are healthy; what they depend on must have been started."""
        for name in names:
            self._running[name] = self._container(name).start()
        for name in names:
            self._wait_until_healthy(name)

    def _wait_until_healthy(self, name: str) -> None:
        wait_until(lambda: self.health(name) != "starting", timeout_s=HEALTHY_WITHIN_S, poll_s=0.5)
        assert self.health(name) == "healthy", f"{name} is {self.health(name)}: {self.log(name)}"

    def _container(self, name: str) -> DockerContainer:
        service = self._services[name]
        options = {"hostname": service["hostname"], "labels": LABEL, "init": service.get("init", False)}
        options |= {key: service[key] for key in ("read_only", "cap_drop", "security_opt") if key in service}
        container = DockerContainer(service["image"], **options).with_network(self._network).with_network_aliases(name)
        container.with_envs(**service.get("environment", {}))
        container.with_volume_mapping(self._shared, str(self._shared), "rw")
        if "command" in service:
            container.with_command(service["command"])
        container.with_exposed_ports(*(int(port.rpartition(":")[2]) for port in service.get("ports", ())))
        return container

    def health(self, name: str) -> str:
        """`starting`, `healthy`, `unhealthy`, or how the container has ended."""
        container = self._running[name].get_wrapped_container()
        container.reload()
        state = container.attrs["State"]
        return str(state["Health"]["Status"] if state["Running"] else state["Status"])

    def attributes(self, name: str) -> dict[str, Any]:
        """What the daemon tells of a service's container."""
        container = self._running[name].get_wrapped_container()
        container.reload()
        return dict(container.attrs)

    def log(self, name: str) -> str:
        """The end of what a service has said."""
        return self._running[name].get_wrapped_container().logs(tail=30).decode(errors="replace")

    def url(self, name: str, port: int) -> str:
        """Where this machine reaches a published port."""
        return f"http://127.0.0.1:{self._running[name].get_exposed_port(port)}"

    def run(self, name: str, *command: str) -> str:
        """What a command prints in a service's container."""
        code, output = self._running[name].exec(list(command))
        assert isinstance(output, bytes)
        text = output.decode()
        assert code == 0, text
        return text

    def kill(self, name: str) -> None:
        """End a container as a machine that loses power would."""
        self._running[name].get_wrapped_container().kill()

    def stop(self) -> None:
        """Remove all containers."""
        for container in self._running.values():
            container.stop()


@pytest.fixture(scope="session")
def shared_folder() -> Iterator[Path]:
    """A folder that all containers see under its own name, and whose users may write to it."""
    with tempfile.TemporaryDirectory(prefix="heddle-containers-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.fixture(scope="session")
def clusters(images: docker.DockerClient, compose: dict[str, Any], shared_folder: Path) -> Iterator[Stack]:
    """Both clusters and PostgreSQL."""
    loopback = {"com.docker.network.bridge.host_binding_ipv4": "127.0.0.1"}
    with Network(docker_network_kw={"labels": LABEL, "options": loopback}) as network:
        stack = Stack(compose["services"], network, shared_folder)
        try:
            begun = (name for name, each in compose["services"].items() if name != "heddle" and "profiles" not in each)
            stack.start(*begun)
            yield stack
        finally:
            stack.stop()


@pytest.fixture(scope="session")
def federation(clusters: Stack) -> Stack:
    """The same with Heddle in front."""
    clusters.start("heddle")
    return clusters


@pytest.fixture(scope="session")
def prometheus(federation: Stack) -> str:
    """Where the Prometheus that watches this Heddle answers."""
    federation.start("prometheus")
    return federation.url("prometheus", 9090)
