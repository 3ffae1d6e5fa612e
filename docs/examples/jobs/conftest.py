"""Which clusters the jobs run on, and the jars of the engines."""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest

from heddle.testing import Settings

HERE = Path(__file__).parent
# outside of home folders, which users of containers may not read
JARS = Path(os.environ.get("EXAMPLE_JARS") or Path(tempfile.gettempdir()) / "heddle-example-jars")


def pytest_addoption(parser):
    parser.addoption("--containers", action="store_true", help="run the jobs on clusters in containers")


@pytest.fixture(scope="session")
def yarn_settings():
    """Two clusters of one node, to which the folder of jars is shown."""
    JARS.mkdir(parents=True, exist_ok=True)
    return Settings(clusters=2, nodes=1, folders=(JARS,))


@pytest.fixture(scope="session")
def federation(request):
    """What all jobs run on."""
    kind = "yarn_containers" if request.config.getoption("--containers") else "yarn_federation"
    return request.getfixturevalue(kind)


def jars(engine: str) -> Path:
    """The folder with the jars of an engine, fetched by Maven once."""
    folder = JARS / engine
    if not folder.exists():
        fetched = folder.with_suffix(".part")
        command = ["mvn", "--batch-mode", "--quiet", f"--file={HERE / 'poms' / engine}.xml"]
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={fetched}"]
        subprocess.run([*command, *goal], check=True)
        fetched.rename(folder)
    return folder


@pytest.fixture(scope="session")
def spark_jars():
    return jars("spark")


@pytest.fixture(scope="session")
def tez_jars():
    return jars("tez")


@pytest.fixture(scope="session")
def word_count_jar(spark_jars, tmp_path_factory):
    """The Spark program of this project, compiled: a JRE has the compiler as a module."""
    folder = tmp_path_factory.mktemp("classes")
    compiler = ["java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", str(folder)]
    class_path = ":".join(map(str, spark_jars.glob("*.jar")))
    subprocess.run([*compiler, "-cp", class_path, str(HERE / "src" / "WordCount.java")], check=True)
    with zipfile.ZipFile(JARS / "word-count.jar", "w") as archive:
        for compiled in folder.glob("*.class"):
            archive.write(compiled, compiled.name)
    return JARS / "word-count.jar"


@pytest.fixture
def work(request, federation):
    """A folder that test, client and containers see under one path: `in` with a text, and room for `out`."""
    folder = federation.shared / request.node.name
    (folder / "in").mkdir(parents=True)
    folder.chmod(0o777)  # containers have users of their own
    (folder / "in" / "text").write_text("to be or not to be\n")
    return folder
