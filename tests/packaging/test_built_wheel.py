"""What users install is the wheel that is made of the sdist: it is built and tried in an empty environment."""

import email
import email.policy
import io
import json
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import httpx
import pytest
import readme_renderer.markdown

import shim
from tests.doubles.postgresql import free_addresses
from tests.support.heddle_process import until

ROOT = Path(__file__).resolve().parents[2]
INSIDE = ("shim", "adapters", "fairness", "altruism")
"""Packages that a clone has at its top, and the wheel inside `heddle`."""


def run(*command, cwd=ROOT):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def tracked():
    """Files of the packages, as the next commit has them."""
    return {name for name in run("git", "ls-files", "heddle", *INSIDE).splitlines() if (ROOT / name).exists()}


def packed():
    """The same, where the wheel has them."""
    return {name if name.startswith("heddle/") else f"heddle/{name}" for name in tracked()}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with the sdist, and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("dist")
    run("uv", "build", "--out-dir", str(folder), "--quiet")
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    (found,) = built.glob("heddle_yarn-*.whl")
    return found


@pytest.fixture(scope="session")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(opened.read(name), policy=email.policy.default)


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A fresh environment that holds the wheel, its dependencies and nothing else."""
    return environment(tmp_path_factory.mktemp("empty"), str(wheel))


@pytest.fixture(scope="session")
def equipped(wheel, tmp_path_factory):
    """One for whoever tests jobs."""
    return environment(tmp_path_factory.mktemp("equipped"), f"{wheel}[testing]")


def environment(folder, *wanted):
    """The programs of a fresh environment with some packages, and what they need."""
    run("uv", "venv", "--quiet", "--python", sys.executable, str(folder / "venv"))
    run("uv", "pip", "install", "--quiet", "--python", str(folder / "venv" / "bin" / "python"), *wanted)
    return folder / "venv" / "bin"


def test_the_wheel_holds_every_module_and_nothing_else(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed() if name.endswith(".py")} == {name for name in inside if name.endswith(".py")}
    assert {name.partition("/")[0] for name in inside} == {"heddle", f"heddle_yarn-{shim.__version__}.dist-info"}
    run(sys.executable, "-m", "check_wheel_contents", str(wheel))


def test_the_wheel_holds_all_data_of_the_packages(wheel):
    assert packed() <= set(zipfile.ZipFile(wheel).namelist())


def test_the_sdist_holds_what_the_wheel_is_tested_and_documented_with(built):
    (sdist,) = built.glob("heddle_yarn-*.tar.gz")
    with tarfile.open(sdist) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    assert tracked() <= inside
    assert {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
        "docs/operators/operations.md",
        "tests/conftest.py",
    } <= inside
    assert not [name for name in inside if name.startswith((".venv", ".heddle", ".git/"))]


def test_the_readme_renders_on_an_index_and_links_to_nothing_that_is_not_there(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    complaints = io.StringIO()
    page = readme_renderer.markdown.render(metadata.get_payload(), stream=complaints)
    assert page is not None, complaints.getvalue()
    assert re.findall(r'(?:href|src)="(?!https?:|#user-content-)[^"]*"', page) == []
    text = re.sub(r"<[^>]+>", "", page)
    assert page.count("<table>") == 1
    for told in ("One YARN ResourceManager in front", "Quick start on your clusters", "heddle serve -c heddle.toml"):
        assert told in text


def test_the_metadata_says_what_an_index_shows(metadata):
    assert metadata["Name"] == "heddle-yarn"
    assert metadata["Version"] == shim.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    assert {"postgres", "kerberos", "plots"} <= set(metadata.get_all("Provides-Extra"))


def test_the_command_runs_from_an_empty_environment(installed, tmp_path):
    assert run(str(installed / "heddle"), "--version", cwd=tmp_path).strip() == f"heddle {shim.__version__}"
    assert "cluster" in run(str(installed / "heddle"), "--help", cwd=tmp_path)


def test_the_environment_has_one_import_name_of_this_distribution(installed, tmp_path):
    code = "import importlib.metadata as m, json; print(json.dumps(m.packages_distributions()))"
    owners = json.loads(run(str(installed / "python"), "-c", code, cwd=tmp_path))
    assert [name for name, names in owners.items() if "heddle-yarn" in names] == ["heddle"]
    assert not owners.keys() & set(INSIDE)


@pytest.fixture
def namesake(equipped, tmp_path):
    """A project with packages of all four names, in its folder and in the environment; and how to run its programs."""
    project = tmp_path / "project"
    packages = run(str(equipped / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    theirs = Path(packages, "namesake.pth")
    theirs.write_text(f"{project}\n")
    for name in INSIDE:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"WHOSE = 'the {name} of the project'\n")
    yield project
    theirs.unlink()


def test_what_users_import_leaves_a_projects_own_packages_to_it(equipped, namesake):
    paths = [Path(name).with_suffix("") for name in tracked() if name.startswith("heddle/") and name.endswith(".py")]
    modules = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]
    code = (
        f"for name in {sorted(modules)!r}:\n"
        "    __import__(name)\n"
        f"for name in {INSIDE!r}:\n"
        "    print(__import__(name).WHOSE)\n"
    )
    told = run(str(equipped / "python"), "-c", code, cwd=namesake)
    assert told.splitlines() == [f"the {name} of the project" for name in INSIDE]


@pytest.mark.parametrize("command", [("heddle",), ("python", "-m", "heddle"), ("python", "PACKAGE")], ids=" ".join)
def test_the_daemon_has_its_own_packages_beside_a_projects(equipped, namesake, command):
    config = namesake / "heddle.toml"
    config.write_text('[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:8"\n')
    # what Heddle starts itself by is the package's folder: no folder that one works in comes before it
    package = run(str(equipped / "python"), "-c", "import heddle; print(heddle.__path__[0])", cwd=namesake).strip()
    program = (str(equipped / command[0]), *(word.replace("PACKAGE", package) for word in command[1:]))
    assert "in order; sub-clusters: east" in run(*program, "serve", "-c", str(config), "--check", cwd=namesake)


def test_a_spawned_child_has_the_daemons_packages_beside_a_projects(equipped, namesake):
    (namesake / "solve.py").write_text(
        "import sys\n"
        "from heddle.__main__ import main\n"
        "if __name__ == '__main__':\n"
        "    sys.argv = ['heddle', '--version']\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit:\n"
        "        from shim.concurrency.solver_child import SolverChild\n"
        "        child = SolverChild()\n"
        "        child.solve('none of this name', {}, 60.0)\n"
        "        print(child.pid is not None, child.killed)\n"
        "        child.close()\n"
    )
    assert run(str(equipped / "python"), "solve.py", cwd=namesake).splitlines()[-1] == "True 0"


def test_it_checks_a_configuration_and_serves_from_an_empty_environment(installed, tmp_path):
    serve(installed, tmp_path)


def serve(installed, tmp_path):
    rest, gone = free_addresses(2)
    config = tmp_path / "heddle.toml"
    config.write_text(
        f'[server]\nrest = "{rest}"\nclient_rpc = ""\nscheduler_rpc = ""\nadmin_rpc = ""\n'
        f'[[subcluster]]\nid = "east"\nweb = "http://{gone}"\n'
    )
    command = (str(installed / "heddle"), "serve", "-c", str(config))
    assert "in order; sub-clusters: east" in run(*command, "--check", cwd=tmp_path)
    with (
        (tmp_path / "heddle.log").open("wb") as log,
        subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log) as server,
    ):
        try:
            until(lambda: server.poll() is not None or answers(rest), "it serves", within_s=240)
            assert server.poll() is None, (tmp_path / "heddle.log").read_text()
            assert "Heddle" in httpx.get(f"http://{rest}/cluster", trust_env=False, timeout=60).text
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=120) == 0
        finally:
            server.kill()


def answers(address):
    try:
        return httpx.get(f"http://{address}/healthz", trust_env=False, timeout=5).text.strip() == "ok"
    except httpx.TransportError:
        return False


def test_only_kerberos_and_ldap_need_a_compiler(wheel, metadata, tmp_path):
    run("uv", "venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv"))
    install = (
        "uv",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--only-binary",
        ":all:",
        "--python",
        str(tmp_path / "venv"),
    )
    extras = set(metadata.get_all("Provides-Extra"))
    run(*install, f"{wheel}[{','.join(sorted(extras - {'kerberos', 'ldap'}))}]")
    for extra in ("kerberos", "ldap"):
        done = subprocess.run((*install, f"{wheel}[{extra}]"), capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode != 0, f"{extra} needs none any more"


EVERY_MODULE = """
import importlib, pkgutil, sys
import heddle.pytest_plugin
sys.path.insert(0, heddle.__path__[0])  # as `heddle.__main__` does
for name in ("heddle.client", "heddle.testing", "shim", "adapters", "fairness", "altruism"):
    package = importlib.import_module(name)
    for each in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not each.name.endswith("__main__") and ".migrations." not in each.name:
            importlib.import_module(each.name)
print(sum(name.startswith("shim.") for name in sys.modules))
"""


def test_it_serves_with_the_oldest_packages_that_it_asks_for(wheel, tmp_path):
    """Of those that it names itself; what they need comes new."""
    bin_ = environment(
        tmp_path, "--resolution", "lowest-direct", f"{wheel}[postgres,plots,oidc,solvers,tracing,testing]"
    )
    serve(bin_, tmp_path)
    assert int(run(str(bin_ / "python"), "-c", EVERY_MODULE, cwd=tmp_path)) > 300
