"""Names of images tell what is in them, so that none is built twice, and none is taken for another."""

from pathlib import Path
from types import SimpleNamespace

import docker.errors
import pytest

from heddle.testing import FederationError, images


class Images:
    """What a daemon has, and what it is asked to build."""

    def __init__(self) -> None:
        self.there: dict[str, dict[str, str]] = {}

    def get(self, name: str) -> None:
        if name not in self.there:
            raise docker.errors.ImageNotFound(name)

    def build(self, *, path: str, tag: str, **_: object) -> None:
        files = (file for file in sorted(Path(path).rglob("*")) if file.is_file())
        self.there[tag] = {str(file.relative_to(path)): file.read_text("utf-8", "replace") for file in files}


@pytest.fixture
def daemon():
    return SimpleNamespace(images=Images())


@pytest.fixture
def jars(monkeypatch, tmp_path):
    """The folder of a version's jars."""
    (tmp_path / "3.3.6").mkdir()
    (tmp_path / "3.3.6" / "hadoop-common.jar").write_text("classes")
    monkeypatch.setattr(images, "_jars", lambda version: tmp_path / version)
    return tmp_path / "3.3.6"


def test_an_image_of_hadoop_is_built_once_for_what_is_in_it(daemon, jars):
    name = images.hadoop_image(daemon, "3.3.6")
    assert name.startswith("heddle-testing-hadoop:3.3.6-")
    assert daemon.images.there[name].keys() >= {
        "Dockerfile",
        "hadoop-node",
        "conf/yarn-site.xml",
        "jars/hadoop-common.jar",
    }
    daemon.images.there[name] = {"as": "before"}
    assert images.hadoop_image(daemon, "3.3.6") == name
    assert daemon.images.there[name] == {"as": "before"}
    (jars / "another.jar").write_text("")
    assert images.hadoop_image(daemon, "3.3.6") != name


def test_heddles_image_has_the_packages_where_the_wheel_has_them(daemon, monkeypatch):
    monkeypatch.setattr(images, "_install", lambda _, target: (target / "httpx").mkdir(parents=True))
    name = images.heddle_image(daemon)
    inside = daemon.images.there[name]
    assert {"Dockerfile", "heddle", "heddle.toml"} <= inside.keys()
    assert {
        f"site/heddle/{each}" for each in ("__main__.py", "shim/errors.py", "adapters/yarn/errors.py")
    } <= inside.keys()
    assert not [each for each in inside if "__pycache__" in each]


def test_what_a_name_stands_for_is_content(tmp_path):
    folder = tmp_path / "package"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "module.py").write_text("one")
    before = images.digest([folder])
    (folder / "__pycache__" / "module.pyc").write_text("compiled")
    assert images.digest([folder]) == before
    (folder / "module.py").write_text("two")
    assert images.digest([folder]) != before


def test_a_version_that_heddle_does_not_know_is_refused(daemon):
    with pytest.raises(FederationError, match=r"Hadoop 1\.0 is not supported: choose one of 2\.10\.2"):
        images.hadoop_image(daemon, "1.0")
    assert daemon.images.there == {}
