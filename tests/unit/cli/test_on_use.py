"""Help is read on a terminal of 80 columns: paragraphs fill it, examples keep their lines."""

import itertools
import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from shim.cli.grammar import grammar_of
from shim.cli.main import app
from shim.cli.on_use import unwrapped

WIDTH = 80


def help_of(verb: tuple[str, ...]) -> str:
    environment = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*verb, "--help"], env=environment)
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.output)  # some CI servers are given colours


def prose(shown: str) -> list[list[str]]:
    """Paragraphs outside of the boxes, without examples; without usage, which has its own rules."""
    outside = "\n".join(line for line in shown.splitlines() if not re.match(r"\s*[╭│╰]", line))
    paragraphs = [[line.rstrip() for line in part.splitlines()] for part in re.split(r"\n\s*\n", outside.strip("\n "))]
    return [
        lines
        for lines in paragraphs
        if lines and "Usage:" not in lines[0] and not any(line.startswith("   ") for line in lines)
    ]


@pytest.mark.parametrize("verb", [verb.path for verb in grammar_of(get_command(app))], ids=" ".join)
def test_no_line_of_a_paragraph_ends_early(verb: tuple[str, ...]) -> None:
    for lines in prose(help_of(verb)):
        for line, after in itertools.pairwise(lines):
            word = after.split()[0]
            assert len(line) + 1 + len(word) >= WIDTH - 1, f"{line!r} has room for {word!r}"


def test_an_example_keeps_its_lines() -> None:
    shown = help_of(("serve",))
    assert re.search(
        r'^ +\[\[subcluster\]\]\s*\n +id = "east"\s*\n +conf = "/etc/hadoop/east" .*yarn-site.xml', shown, re.MULTILINE
    )


@pytest.mark.parametrize("verb", [("app", "list"), ("submit",)])
def test_a_default_that_is_told_in_words_is_shown(verb: tuple[str, ...]) -> None:
    assert "[default: who" in help_of(verb)


def test_paragraphs_become_lines_and_stay_apart() -> None:
    assert unwrapped("One\n    two.\n\n    Three\n    four.\n") == "One two.\n\nThree four."


def test_an_indented_paragraph_is_left_alone() -> None:
    assert (
        unwrapped("Like this:\n\n        a = 1\n        b = 2\n\n    Well.")
        == "Like this:\n\n    a = 1\n    b = 2\n\nWell."
    )
