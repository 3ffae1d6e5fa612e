import json
import unicodedata

import pytest
import yaml

from shim.cli.output import OutputFormat, print_fields, print_figures, print_rows, say

ROWS = [
    {"id": "east", "age_s": 0.25, "running": 3, "failure": "", "hidden": [1]},
    {"id": "west", "age_s": None, "running": 12, "failure": "\x1b[31mred\nand a second line", "hidden": []},
]
COLUMNS = (("CLUSTER", "id"), ("AGE s", "age_s"), ("RUNNING", "running"), ("FAILURE", "failure"))


@pytest.mark.parametrize(("output", "read"), [(OutputFormat.JSON, json.loads), (OutputFormat.YAML, yaml.safe_load)])
def test_programs_get_every_field_as_it_is(capsys, output, read):
    print_rows(ROWS, COLUMNS, output)
    assert read(capsys.readouterr().out) == ROWS
    print_fields(ROWS[1], output)
    assert read(capsys.readouterr().out) == ROWS[1]


def test_people_get_a_table_with_a_line_for_each_row(capsys):
    print_rows(ROWS, COLUMNS, OutputFormat.TABLE)
    heading, east, west = capsys.readouterr().out.splitlines()
    assert heading.split() == ["CLUSTER", "AGE", "s", "RUNNING", "FAILURE"]
    assert east.split() == ["east", "0.2", "3", "-"]
    assert west.split()[:3] == ["west", "-", "12"]


def test_nothing_that_others_wrote_drives_the_terminal(capsys):
    print_rows(ROWS, COLUMNS, OutputFormat.TABLE)
    print_fields(ROWS[1], OutputFormat.TABLE)
    assert "\x1b" not in capsys.readouterr().out


def test_words_in_brackets_are_no_markup(capsys):
    print_rows([{"id": "[bold]x[/bold]"}], (("ID", "id"),), OutputFormat.TABLE)
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_an_empty_list_is_a_heading_or_an_empty_list(capsys):
    print_rows([], COLUMNS, OutputFormat.TABLE)
    assert capsys.readouterr().out.split()[0] == "CLUSTER"
    print_rows([], COLUMNS, OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == []


DRIVERS = "\x1b]52;c;cm0=\x07 \x9b31m \x90q\x9c \x7f \u202e\u2066 \u200b \u2028 \ufeff \U000e0041 \b\r \ud800"


def hidden(text):
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.mark.parametrize("output", OutputFormat)
def test_no_format_has_what_drives_a_terminal_or_turns_its_letters(capsys, output):
    rows = [{"id": DRIVERS, DRIVERS: [DRIVERS, {DRIVERS: DRIVERS}], "é": "\N{SNOWMAN} \U0001f600"}]
    print_rows(rows, (("ID", "id"), ("MORE", DRIVERS), ("É", "é")), output)
    print_fields(rows[0], output)
    print_figures([{"id": DRIVERS}], (("ID", "id"),))
    shown = capsys.readouterr().out
    assert [
        each for each in shown if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each != "\n"
    ] == []
    assert "\N{SNOWMAN}" in shown or output is OutputFormat.YAML
    if output is OutputFormat.JSON:
        print_rows(rows, (), output)
        assert json.loads(capsys.readouterr().out) == rows


def test_logs_are_harmless_at_a_terminal_and_whole_in_a_pipe(capsys, monkeypatch):
    text = f"{DRIVERS.replace(chr(0xD800), '')}\tone\r\ntwo\n"
    say(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    say(text)
    shown = capsys.readouterr().out
    assert [
        each for each in shown if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp") and each not in "\n\t"
    ] == []
    assert shown.count("\n") == 3
    assert "\tone\ntwo\n" in shown
    assert r"\x1b]52;c;cm0=\x07 \x9b31m" in shown


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("decided_at_ms", 1_795_861_406_214, "decided_at 2026-11-28T10:23:26Z"),
        ("startedTime", 1_795_861_406_214, "startedTime 2026-11-28T10:23:26Z"),
        ("finishedTime", 0, "finishedTime -"),
        ("startedTime", 2**70, "startedTime -"),
        ("priority", -1, "priority -"),
        ("priority", 0, "priority 0"),
        ("place", {"position": 4, "of": 4, "expected_s": None}, "place position 4, of 4"),
        ("place", {"since_at_ms": 1_795_861_406_214}, "place since_at 2026-11-28T10:23:26Z"),
        ("spanning", {}, "spanning -"),
        ("took_ms", 250, "took_ms 250"),
    ],
)
def test_people_get_moments_as_times_and_nothing_of_what_is_not_told(capsys, name, value, line):
    print_fields({name: value}, OutputFormat.TABLE)
    assert " ".join(capsys.readouterr().out.split()) == line
    print_fields({name: value}, OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == {name: value}
