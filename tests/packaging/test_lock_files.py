"""The lock files are whole, and nothing that installs from one resolves again."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "docker/heddle/requirements.lock"]


def installs_from_a_lock() -> list[str]:
    """Every command of the scripts that installs what a lock names, on one line each."""
    scripts = [path.read_text().replace("\\\n", " ") for path in sorted((ROOT / "scripts").glob("*.sh"))]
    return [line for text in scripts for line in text.splitlines() if "pip install" in line and "-r " in line]


def test_there_is_something_to_look_at() -> None:
    assert len(installs_from_a_lock()) == 3


@pytest.mark.parametrize("command", installs_from_a_lock(), ids=str.strip)
def test_only_what_the_lock_pins_is_installed(command: str) -> None:
    # pip takes "coverage[toml]" for another package than a pinned "coverage", and asks the index for the newest
    assert "--require-hashes" in command
    assert "--no-deps" in command


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_its_hashes(lock: str) -> None:
    requirements = [
        line
        for line in (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
        if line and not line.startswith("#")
    ]
    assert requirements
    for requirement in requirements:
        assert re.match(r"[a-z0-9.-]+==\S+ ", requirement), requirement
        assert "--hash=sha256:" in requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_no_index_is_named(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text()


def pins(lock: str) -> set[str]:
    return set(re.findall(r"^\S+==\S+", (ROOT / lock).read_text(), re.MULTILINE))


def test_who_has_what_a_checkout_needs_has_what_running_needs_of_the_same_versions() -> None:
    everything, running = map(pins, LOCKS)
    assert running < everything
