"""The console's modules without a browser: their tests in Node, and what its checkers say of a slip."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.console_checks import CHECKS, TOOLS
from shim.errors import BadRequestError
from shim.identity.service import Caller
from shim.server.rest.answers import Document
from shim.server.rest.live import LiveDocuments
from shim.server.rest.messages import Request
from tests.doubles.clock import FakeClock

ROOT = Path(__file__).resolve().parents[3]
MODULES = ROOT / "shim" / "server" / "web" / "static"
SLIP = "\n/** @param {string} text */\nexport const slip = (text) => text.toFixed(2);\nvar unused = 1;\n"


def needed(tool: Path | str) -> str:
    found = shutil.which(str(tool))
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"{tool} is not here: make setup installs it")
    assert found is not None
    return found


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_their_pure_parts_do_what_their_tests_say():
    done = run(needed("node"), "--test", "tests/console/")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("check", "told"), [("types", "toFixed"), ("lint", "noUnusedVariables")])
def test_a_slip_is_seen(tmp_path, check, told):
    """A copy of the modules with one more line, checked as they are."""
    tool, *_ = CHECKS[check]
    needed(TOOLS / tool)
    shutil.copytree(MODULES, tmp_path / "shim/server/web/static")
    shutil.copytree(ROOT / "tests/console", tmp_path / "tests/console")
    (tmp_path / ".heddle/tools/console").mkdir(parents=True)
    (tmp_path / ".heddle/tools/console/node_modules").symlink_to(TOOLS.parent)
    assert run(str(TOOLS / tool), *CHECKS[check][1:], cwd=tmp_path).returncode == 0
    with (tmp_path / "shim/server/web/static/format.js").open("a") as module:
        module.write(SLIP)
    done = run(str(TOOLS / tool), *CHECKS[check][1:], cwd=tmp_path)
    assert done.returncode != 0
    assert told in done.stdout + done.stderr


def test_no_module_reaches_for_another_host_or_writes_html():
    for module in MODULES.glob("*.js"):
        text = module.read_text()
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in text, module
        assert "dangerouslySetInnerHTML" not in text, module


def test_what_is_watched_may_be_watched():
    """An address that the stream does not know would have the whole stream of a view refused."""
    asked = [
        (module.name, name)
        for module in MODULES.glob("*.js")
        for name in re.findall(r"useLive\([\"`]([a-z]+)", module.read_text())
    ]
    assert len(asked) > 10
    told = LiveDocuments(refused, "/heddle/v1/", FakeClock())
    for _, name in asked:
        told.open(Request("GET", "/heddle/v1/live", f"watch={name}", (), b"", "127.0.0.1"), Caller("ada", "ada"))
    with pytest.raises(BadRequestError):
        told.open(Request("GET", "/heddle/v1/live", "watch=usage", (), b"", "127.0.0.1"), Caller("ada", "ada"))


async def refused(*_: object) -> Document:
    raise AssertionError("nothing is read before the stream is")
