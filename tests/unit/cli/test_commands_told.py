"""Commands of `heddle` that pages and messages name: each is one, with the options that it has."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main

from shim.cli.grammar import grammar_of
from shim.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
CODE = ("shim", "adapters", "heddle")
PAGES = (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "SECURITY.md")
VERBS = {verb.path: verb for verb in grammar_of(typer.main.get_command(app))}


def in_backticks(text: str) -> Iterator[str]:
    yield from re.findall(r"`heddle ([a-z][^`\n]*)`", text)


def in_blocks(text: str) -> Iterator[str]:
    """Those of the shell's blocks, without comments, and of pipes each part."""
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\||;|\$\(", line.partition(" #")[0]):
                found = re.match(r"\s*(?:\S*/)?heddle ([a-z].*)", part)
                yield from (found[1],) if found else ()


def wrong_in(command: str) -> str:
    """What of a command there is not; empty if all of it is there. `add|edit` are two commands."""
    one_of = re.search(r"[a-z]+(?:\|[a-z]+)+", command.partition(" -")[0])
    if one_of is not None:
        each_one = (wrong_in(command.replace(one_of[0], each, 1)) for each in one_of[0].split("|"))
        return ", ".join(filter(None, each_one))
    words = shlex.split(command)
    path: tuple[str, ...] = ()
    while words and VERBS[path].verbs and not words[0].startswith("-"):
        path = (*path, words.pop(0))
        if path not in VERBS:
            return f"no verb {' '.join(path)}"
    known = {name for option in VERBS[path].options for name in option.names}
    told = {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}
    return ", ".join(sorted(word for word in told - known if word.startswith("--") or len(word) == len("-o")))


def told() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text("utf-8")
        for command in (*in_backticks(text), *in_blocks(text)):
            yield page.name, command
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            lines = re.sub(r'"\s*\n\s*f?"', "", file.read_text("utf-8"))  # a text may go on in the next line
            for command in in_backticks(lines):
                yield file.name, command


def test_each_page_that_is_told_is_one():
    told = {
        (file.name, page)
        for folder in CODE
        for file in sorted((ROOT / folder).rglob("*.py"))
        for page in re.findall(r"\bdocs/[a-z0-9/_-]+\.md", file.read_text("utf-8"))
    }
    assert {each for each in told if not (ROOT / each[1]).is_file()} == set()
    assert len(told) > 10, "they are found at all"


def test_usage_names_the_command_however_it_was_started():
    done = subprocess.run(
        [sys.executable, "-m", "heddle", "cluster", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.startswith("Usage: heddle cluster ")


def test_each_command_that_is_told_is_one():
    commands = list(told())
    wrong = [
        (where, command, why) for where, command in commands if (why := wrong_in(command)) and "VERB" not in command
    ]
    assert wrong == []
    assert len(commands) > 300, "they are found at all"
