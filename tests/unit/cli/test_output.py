import json

import pytest
import yaml

from shim.cli.output import OutputFormat, print_fields, print_rows

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
