"""The scripts of `heddle completion`, asked by the shells themselves for everything that the parser knows."""

import os
import shutil
import subprocess

import pytest
import typer.main
from typer.testing import CliRunner

from shim.cli.completion import Shell
from shim.cli.grammar import grammar_of
from shim.cli.main import app

VERBS = grammar_of(typer.main.get_command(app))
FIELD = "\x1f"

# what each shell is told, behind its script, so that it prints the offers for several lines; $1 is a line without
# its last word, $2 that word
ASK_BASH = """
while IFS=$'\\x1f' read -r line last; do
    COMP_WORDS=($line "$last"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _heddle 2>/dev/null
    echo "${COMPREPLY[*]}"
done
"""
ASK_ZSH = """
_describe() { local -a each; each=(${(P)@[-1]}); for each in $each; do offered+=(${${each/\\\\:/}%%:*}); done }
_files() { offered+=(FILES) }
compadd() { shift; offered+=($@) }
while IFS=$'\\x1f' read -r line last; do
    words=(${=line} "$last"); CURRENT=$#words; offered=(); _heddle; print -r -- $offered
done
"""
ASK_FISH = """
while read -d \\x1f -l line last
    echo (complete -C "$line $last" | string split -f1 \\t)
end
"""
ASKED = {Shell.BASH: ("bash", ASK_BASH), Shell.ZSH: ("zsh", ASK_ZSH), Shell.FISH: ("fish", ASK_FISH)}


@pytest.fixture(scope="module", params=list(Shell))
def offers(request, tmp_path_factory):
    """Asks one shell: for each pair of words and a begun word, what it offers."""
    shell = request.param
    program, ask = ASKED[shell]
    if shutil.which(program) is None:
        if os.environ.get("CI"):
            raise pytest.UsageError(f"CI has no {program}: make setup")
        pytest.skip(f"no {program} on this machine: make setup")
    home = tmp_path_factory.mktemp(program)
    printed = CliRunner().invoke(app, ["completion", shell.value])
    assert printed.exit_code == 0
    head = "compdef() { : }\n" if shell is Shell.ZSH else ""
    (home / "script").write_text(head + printed.stdout + ask)
    (home / "policy.toml").touch()

    def offered(lines):
        text = "".join(f"{' '.join(('heddle', *words))}{FIELD}{last}\n" for words, last in lines)
        done = subprocess.run(
            [program, *(["-f"] if shell is Shell.ZSH else []), str(home / "script")],
            input=text,
            cwd=home,
            env={**os.environ, "HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        answers = [set(line.split()) for line in done.stdout.splitlines()]
        assert len(answers) == len(lines)
        return answers

    return offered


def test_each_verb_offers_the_verbs_below_it_and_no_others(offers):
    every = {each.path[-1] for each in VERBS if each.path}
    for verb, words in zip(VERBS, offers([(verb.path, "") for verb in VERBS]), strict=True):
        assert words & every - {"yaml"} == set(verb.verbs), verb.path


def test_each_verb_offers_all_its_options_and_no_others(offers):
    for verb, words in zip(VERBS, offers([(verb.path, "--") for verb in VERBS]), strict=True):
        known = {name for option in verb.options for name in option.names if name.startswith("--")}
        assert {word for word in words if word.startswith("--")} == known, verb.path


def test_options_with_few_values_offer_these(offers):
    asked = [(verb, option) for verb in VERBS for option in verb.options if option.choices]
    assert len(asked) > 20
    lines = [((*verb.path, option.names[0]), "") for verb, option in asked]
    for (verb, option), words in zip(asked, offers(lines), strict=True):
        assert words == set(option.choices), (verb.path, option.names)


def test_options_and_arguments_that_are_files_offer_files(offers):
    asked = [(*verb.path, option.names[0]) for verb in VERBS for option in verb.options if option.is_file]
    asked += [verb.path for verb in VERBS if any(argument.is_file for argument in verb.arguments)]
    assert len(asked) > 10
    for words, offered in zip(asked, offers([(words, "") for words in asked]), strict=True):
        assert offered & {"policy.toml", "FILES"}, words


def test_other_values_offer_no_verb_and_no_option(offers):
    asked = [
        (*verb.path, option.names[0])
        for verb in VERBS
        for option in verb.options
        if not (option.is_flag or option.choices or option.is_file)
    ]
    assert not any(offers([(words, "") for words in asked]))


def test_the_shells_of_the_argument_are_offered(offers):
    (words,) = offers([(("completion",), "")])
    assert words >= {"bash", "zsh", "fish"}
