"""What compose.yaml may and may not do, without a daemon."""

import re
from pathlib import Path

import pytest
import yaml

from shim.config.loader import parse

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_published_is_published_on_the_loopback_address_only(name):
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith("127.0.0.1:")


FROM_A_REGISTRY = {"grafana"}
"""Services whose image is not built here."""


def test_only_heddle_is_published_and_what_watches_it():
    published = {name: service.get("profiles", []) for name, service in SERVICES.items() if "ports" in service}
    assert published == {"heddle": [], "prometheus": ["monitoring"], "grafana": ["monitoring"]}


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - FROM_A_REGISTRY))
def test_every_image_is_one_that_the_script_builds(name):
    script = (ROOT / "scripts" / "images.sh").read_text()
    image = re.sub(r"\$\{\w+:-(.*)\}", r"\1", SERVICES[name]["image"]).partition(":")[0]
    assert f"build {image}" in script or f'build "{image}:' in script


def test_heddles_configuration_names_the_clusters_that_there_are():
    config = parse((DOCKER / "heddle" / "heddle.toml").read_text(), source="heddle.toml", environment={})
    masters = {name.removesuffix("-rm") for name in SERVICES if name.endswith("-rm")}
    assert {subcluster.id for subcluster in config.subclusters} == masters
    for subcluster in config.subclusters:
        assert subcluster.web == (f"http://{subcluster.id}-rm:8088",)


def test_the_clusters_have_different_epochs():
    epochs = {
        name: service["environment"]["YARN-SITE.XML_yarn.resourcemanager.epoch"]
        for name, service in SERVICES.items()
        if name.endswith("-rm")
    }
    assert len(set(epochs.values())) == len(epochs)


@pytest.mark.parametrize("dockerfile", sorted(DOCKER.glob("*/Dockerfile")), ids=lambda path: path.parent.name)
def test_no_image_runs_as_root_and_each_tells_its_health(dockerfile):
    lines = dockerfile.read_text().splitlines()
    assert any(line.startswith("USER ") and line != "USER root" for line in lines)
    assert any(line.startswith("HEALTHCHECK ") for line in lines)


def test_certificates_are_mounted_beside_the_configuration_and_read_only():
    over = yaml.safe_load((DOCKER / "compose.tls.yaml").read_text())["services"]
    assert over.keys() == {"heddle"}
    mounts = [re.sub(r"\$\{(\w+):\?[^}]*\}", r"\1", each) for each in over["heddle"]["volumes"]]
    assert mounts == [
        "HEDDLE_CONFIGURATION:/etc/heddle/heddle.toml:ro",
        "HEDDLE_CERTIFICATES:/etc/heddle/certificates:ro",
    ]
