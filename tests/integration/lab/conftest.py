"""What tests of the lab ask of a ResourceManager, directly."""

from collections.abc import Callable

import httpx
import pytest

from shim.lab.processes import wait_until


@pytest.fixture
def submit() -> Callable[..., str]:
    """Submit an application whose master is one shell command: `submit(url, user, command)` gives its id."""

    def submit_to(url: str, user: str, command: str) -> str:
        query = {"user.name": user}
        with httpx.Client(base_url=f"{url}/ws/v1/cluster", timeout=30, params=query) as client:
            id_ = str(client.post("/apps/new-application").raise_for_status().json()["application-id"])
            context = {
                "application-id": id_,
                "application-name": "one command",
                "am-container-spec": {"commands": {"command": command}},
                "resource": {"memory": 128, "vCores": 1},
                "max-app-attempts": 1,
            }
            client.post("/apps", json=context).raise_for_status()
        return id_

    return submit_to


@pytest.fixture
def reaches() -> Callable[[Callable[[], object], object], None]:
    """Wait until what a function tells is as wanted."""

    def wait_for(tell: Callable[[], object], wanted: object) -> None:
        told: list[object] = []

        def is_so() -> bool:
            try:
                told.append(tell())
            except httpx.HTTPError as error:
                told.append(error)
            return told[-1] == wanted

        assert wait_until(is_so, timeout_s=90, poll_s=0.2), f"wanted {wanted!r}, saw {told[-1]!r}"

    return wait_for
