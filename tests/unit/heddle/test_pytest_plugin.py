"""What the plugin does in a run of other people's tests, with federations that are made up."""

import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

MADE_UP = Path(__file__).parents[2] / "support" / "made_up_clusters.py"
CONFTEST = """
import pathlib
import heddle.testing.local
from made_up import MadeUp, READY

class Local(MadeUp):
    def __init__(self, settings, *, reuse, name):
        super().__init__(pathlib.Path("."), READY)
        self.settings, self.given = settings, (reuse, name)

    def start_up(self):
        print("started", self.settings, *self.given)
        pathlib.Path(f"started-{self.given[1]}").touch()

    def _end(self):
        print("all is over")

heddle.testing.local.LocalFederation = Local
"""


USUAL = "toml='', folders=(), hdfs=False)"
"""The end of settings that say nothing else."""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose local federations are made up."""
    shutil.copy(MADE_UP, pytester.path / "made_up.py")
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\n")
    return pytester


def ran(project, *options):
    # without the plugins of this project: who installs Heddle need not have them
    return project.runpytest_subprocess("-p", "no:asyncio", "-p", "no:xdist", "-s", *options)


def test_one_federation_serves_a_session_and_is_ended(project):
    project.makepyfile("def test_a(yarn_federation): pass\ndef test_b(yarn_federation): pass")
    result = ran(project)
    result.assert_outcomes(passed=2)
    text = result.stdout.str()
    assert text.count(f"started Settings(clusters=2, nodes=1, version='3.4.2', {USUAL} False") == 1
    assert text.count("all is over") == 1


def test_the_projects_file_and_the_command_line_say_what_it_is(project):
    project.makeini("[pytest]\nyarn_clusters = 3\nyarn_nodes = 2\nyarn_version = 3.3.6\nyarn_scope = function\n")
    project.makepyfile("def test_a(yarn_federation): pass\ndef test_b(yarn_federation): pass")
    assert ran(project).stdout.str().count(f"Settings(clusters=3, nodes=2, version='3.3.6', {USUAL} False") == 2
    text = ran(project, "--yarn-version", "east=3.5.0", "--yarn-reuse").stdout.str()
    assert text.count(f"Settings(clusters=3, nodes=2, version='east=3.5.0', {USUAL} True") == 2


def test_a_projects_own_settings_go_before(project):
    project.makepyfile(
        "import pytest\n"
        "from heddle.testing import Settings\n"
        "@pytest.fixture(scope='session')\n"
        "def yarn_settings(): return Settings(clusters=1, toml='[limits]')\n"
        "def test_a(yarn_federation): assert yarn_federation.settings.toml == '[limits]'\n"
    )
    ran(project).assert_outcomes(passed=1)


def test_a_scope_that_there_is_not_is_refused(project):
    project.makeini("[pytest]\nyarn_scope = year\n")
    project.makepyfile("def test_a(yarn_federation): pass")
    assert "yarn_scope = year: choose one of session, package" in str(ran(project).stdout)


def test_faults_of_a_test_are_undone_before_the_next(project):
    project.makepyfile(
        "def test_a(yarn_federation): yarn_federation.kill('east-rm')\n"
        "def test_b(yarn_federation): assert yarn_federation.done == [('kill', 'east-rm'), ('start', 'east-rm')]\n"
    )
    ran(project).assert_outcomes(passed=2)


def test_what_daemons_said_is_shown_with_a_failure_alone(project):
    project.makepyfile(
        "def test_a(yarn_federation): pass\n"
        "def test_b(yarn_federation): yarn_federation.pause('east-nm1'); assert False\n"
    )
    text = ran(project).stdout.str()
    assert text.count("YARN federation") == 1
    assert "amiss: east-nm1 is paused" in text
    assert "==> east-rm\neast-rm is well" in text


MISSING = """
from heddle.testing import MissingProgramError

def lacking(self):
    raise MissingProgramError("no java in PATH")

Local.start_up = lacking
"""


def test_a_machine_without_java_is_told_what_it_lacks(project):
    project.makeconftest(CONFTEST + MISSING)
    project.makepyfile("def test_a(yarn_federation): pass")
    result = ran(project)
    result.assert_outcomes(errors=1)
    assert "no java in PATH" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "another exception" not in result.stdout.str()
    ran(project, "--yarn-missing=skip").assert_outcomes(skipped=1)


def test_each_worker_of_xdist_has_its_own(project):
    project.makepyfile("import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_a(yarn_federation, n): pass")
    project.runpytest_subprocess("-p", "no:asyncio", "-n", "2").assert_outcomes(passed=8)
    assert {path.name for path in project.path.glob("started-*")} == {"started-gw0", "started-gw1"}


def test_nothing_is_imported_where_no_test_asks(project):
    project.makeconftest("")
    project.makepyfile(
        "import sys\n"
        "def test_a():\n"
        "    assert 'heddle.pytest_plugin' in sys.modules\n"
        "    assert not {'heddle.testing', 'httpx', 'shim', 'adapters'} & sys.modules.keys()\n"
    )
    ran(project).assert_outcomes(passed=1)
