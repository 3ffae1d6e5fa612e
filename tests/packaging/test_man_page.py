"""The manual page, made from the parser: complete, and read without an error by a man that is strict."""

import os
import re
import shutil
import subprocess

import pytest
import typer.main

from scripts import man_page
from shim.cli.grammar import grammar_of
from shim.cli.main import app

VERBS = grammar_of(typer.main.get_command(app))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    if shutil.which("mandoc") is None:
        if os.environ.get("CI"):
            raise pytest.UsageError("CI has no mandoc: make setup")
        pytest.skip("no mandoc on this machine: make setup")
    file = tmp_path_factory.mktemp("man") / "heddle.1"
    file.write_text(man_page.page())
    return file


@pytest.fixture(scope="module")
def shown(written):
    """The page as a terminal of 200 columns has it, without the overstrikes of bold letters."""
    done = subprocess.run(
        ["mandoc", "-Tascii", "-O", "width=200", str(written)], capture_output=True, text=True, check=True, timeout=60
    )
    return re.sub(".\b", "", done.stdout)


def test_man_finds_no_error_in_it(written):
    done = subprocess.run(
        ["mandoc", "-Tlint", "-W", "error", str(written)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: " ".join(verb.path) or "heddle")
def test_every_verb_has_its_part_with_every_option(shown, verb):
    title = "OPTIONS" if not verb.path else "   " + " ".join(("heddle", *verb.path))
    assert any(line == title or line.startswith((f"{title} [", f"{title} ")) for line in shown.splitlines())
    part = re.split(rf"^{re.escape(title)}\b.*$", shown, maxsplit=1, flags=re.MULTILINE)[1]
    part = re.split(r"^(?:   )?\S", part, maxsplit=1, flags=re.MULTILINE)[0]
    for option in verb.options:
        line = f"{', '.join(option.names)} {option.metavar}".strip()
        assert re.search(rf"^ +{re.escape(line)}(?:$| )", part, re.MULTILINE), line
    for argument in verb.arguments:
        assert re.search(rf"^ +{re.escape(argument.metavar)}(?:$| )", part, re.MULTILINE), argument


def test_what_is_not_roff_stays_text(shown):
    assert "[[subcluster]]" in shown
    assert '       id = "east"' in shown
    assert "HEDDLE_SERVER" in shown
    assert "Exit codes: 0 done" in shown
