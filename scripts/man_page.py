"""Write the manual page `heddle.1` from the parser: `python -m scripts.man_page [FOLDER]`, `.heddle/man` by default."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main

import shim
from shim.cli.front import EXIT_CODES
from shim.cli.grammar import Parameter, Verb, grammar_of
from shim.cli.main import app

FOLDER = Path(__file__).resolve().parent.parent / ".heddle" / "man"

_SECTIONS = """.SH FILES
.TP
.I heddle.toml
The configuration, in the working folder unless
.B \\-\\-config
says otherwise.
.TP
.I heddle.db, heddle.db.key
The store and its key, where no other is configured.
.SH ENVIRONMENT
Every key of the configuration can be set as
.BR HEDDLE_SECTION_KEY .
"""


def page() -> str:
    """The whole page, in the macros of man(7)."""
    return "\n".join((*_lines(grammar_of(typer.main.get_command(app))), ""))


def _lines(verbs: tuple[Verb, ...]) -> Iterator[str]:
    root = verbs[0]
    yield '.\\" made by scripts/man_page.py from the parser'
    yield f'.TH HEDDLE 1 "" "heddle {shim.__version__}" "Heddle"'
    yield ".SH NAME"
    yield f"heddle \\- {_text(root.summary)}"
    yield ".SH SYNOPSIS"
    yield ".B heddle"
    yield ".I verb"
    yield "[options]"
    yield ".SH OPTIONS"
    for option in root.options:
        yield from _parameter(option)
    yield ".SH VERBS"
    for verb in verbs[1:]:
        yield from _verb(verb)
    yield _SECTIONS.rstrip()
    for variable in sorted({option.variable for verb in verbs for option in verb.options if option.variable}):
        yield ".TP"
        yield f".B {_text(variable)}"
        yield _text(next(each.about for verb in verbs for each in verb.options if each.variable == variable))
    yield ".SH EXIT STATUS"
    yield _text(EXIT_CODES)


def _verb(verb: Verb) -> Iterator[str]:
    arguments = "".join(f" {each.metavar}" if each.is_required else f" [{each.metavar}]" for each in verb.arguments)
    yield f".SS {_text(' '.join(('heddle', *verb.path)))}{_text(arguments)}"
    for number, paragraph in enumerate(verb.about.split("\n\n")):
        is_example = paragraph.startswith(" ")
        if number:
            yield ".PP"
        yield from (".nf", *map(_text, paragraph.splitlines()), ".fi") if is_example else (_text(paragraph),)
    for each in (*verb.arguments, *verb.options):
        yield from _parameter(each)
    if verb.note:
        yield ".PP"
        yield _text(verb.note)


def _parameter(each: Parameter) -> Iterator[str]:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in each.names)
    yield ".TP"
    yield " ".join(filter(None, (names, each.metavar and f"\\fI{_text(each.metavar)}\\fR")))
    told = [each.about.rstrip(".")] if each.about else []
    told += ["required"] if each.is_required and each.names else []
    told += [f"{each.default} if not given"] if each.default else []
    told += [f"environment: {each.variable}"] if each.variable else []
    yield _text("; ".join(told) + ".") if told else ""


def _text(text: str) -> str:
    """Text that roff takes as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", "\\\\&", escaped, flags=re.MULTILINE)


def main() -> int:
    """Write the page, and say where."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "heddle.1"
    written.write_text(page(), "utf-8")
    print(f"{written}: read it by `man {written}`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
