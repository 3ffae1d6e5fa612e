"""What README's quick start says is so, and what pages name is there."""

import re
import tomllib
from pathlib import Path

from shim.config.loader import load

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text("utf-8")
QUICK_START = README.partition("## Quick start on your clusters")[2].partition("\n## ")[0]


def test_its_configuration_is_one_whose_clusters_all_take_jobs_from_other_machines(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", QUICK_START, re.DOTALL)
    folder = tmp_path / "east"
    folder.mkdir()
    addresses = {"webapp.address": 8088, "address": 8032, "scheduler.address": 8030}
    properties = "".join(
        f"<property><name>yarn.resourcemanager.{name}</name><value>rm.east.example.org:{port}</value></property>"
        for name, port in addresses.items()
    )
    (folder / "yarn-site.xml").write_text(f"<configuration>{properties}</configuration>")
    file = tmp_path / "heddle.toml"
    file.write_text(text.replace("/etc/hadoop/east", str(folder)))
    config = load(file, {})
    assert config.server.allow_remote
    assert {config.server.rest, config.server.client_rpc, config.server.scheduler_rpc} == {
        f"0.0.0.0:{port}" for port in addresses.values()
    }
    for cluster in tomllib.loads(text)["subcluster"]:
        assert "conf" in cluster or {"web", "client_rpc", "scheduler_rpc"} <= cluster.keys()


def test_its_first_configuration_and_that_of_production_are_ones_that_start(tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        (tmp_path / cluster).mkdir()
        (tmp_path / cluster / "yarn-site.xml").write_text(
            "<configuration><property><name>yarn.resourcemanager.hostname</name>"
            f"<value>rm.{cluster}.example.org</value></property></configuration>"
        )
    production = (ROOT / "docs" / "operators" / "production.md").read_text("utf-8")
    texts = [re.findall(r"```toml\n(.*?)```", each, re.DOTALL)[0] for each in (README, production)]
    for text in texts:
        file = tmp_path / "heddle.toml"
        file.write_text(text.replace("/etc/hadoop", str(tmp_path)))
        assert [each.id for each in load(file, {}).subclusters] == ["east", "west"]


def test_it_names_each_property_that_a_client_changes() -> None:
    named = set(re.findall(r"`(yarn\.resourcemanager\.[\w.]*address)`", QUICK_START))
    assert named == {f"yarn.resourcemanager.{each}address" for each in ("webapp.", "", "scheduler.")}


def test_nothing_tells_anybody_to_install_a_name_that_nobody_has_published() -> None:
    told = [*PAGES, *(each for folder in ("shim", "heddle", "docs/examples") for each in (ROOT / folder).rglob("*.*"))]
    told = [each for each in told if each.suffix in (".md", ".py", ".txt", ".toml", ".ini")]
    assert not [file for file in told if "heddle-yarn" in file.read_text("utf-8")]


def test_code_that_pages_name_is_where_they_say() -> None:
    missing = [
        f"{page.relative_to(ROOT)}: {named}"
        for page in PAGES
        for named in _code_in(page.read_text("utf-8"))
        if not any((room / each).exists() for room in (ROOT, ROOT / "shim") for each in (named, _as_package(named)))
    ]
    assert not missing


def test_keys_that_pages_name_are_keys_of_the_configuration() -> None:
    sections: dict[str, set[str]] = {}
    for part in (ROOT / "docs" / "operators" / "configuration.md").read_text("utf-8").split("\n## `[")[1:]:
        sections[part.partition("]")[0].strip("[")] = set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))
    named = {
        (page.name, section, key)
        for page in PAGES
        for section, key in re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)\.([a-z_]+)`", page.read_text("utf-8"))
        if section in sections and f"{section}.{key}" not in sections
    }
    assert len(named) > 100
    assert [(page, section, key) for page, section, key in sorted(named) if key not in sections[section]] == []


def _code_in(text: str) -> set[str]:
    modules = re.findall(r"python -m (scripts[.\w]+)", text)
    files = re.findall(r"`((?:[\w-]+/)+\w+\.(?:py|java))`", text)
    return {*files, *(f"{each.replace('.', '/')}.py" for each in modules)}


def _as_package(file: str) -> str:
    return f"{file.removesuffix('.py')}/__main__.py"
