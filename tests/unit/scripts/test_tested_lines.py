"""What counts as a line of code."""

import pytest

from scripts.tested_lines import ROOMS, ROOT, lines_of_code

COMMENTED = '''"""A module,
of two lines."""

# a comment

NUMBER = 1  # said of it


def double(one):
    """Twice."""
    return (
        one
        * 2
    )
'''


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# nothing\n\n", 0),
        (COMMENTED, 6),
        ('TEXT = """a\nb\n"""\n', 3),
        ('class One:\n    """What it is."""\n    two: int\n    """An attribute."""\n', 3),
    ],
    ids=["empty", "comments", "docstrings", "a text", "below an attribute"],
)
def test_lines_with_code_count(source, lines):
    assert lines_of_code(source) == lines


def test_the_rooms_and_their_properties_are_there():
    for room in ROOMS.values():
        assert (ROOT / room.code).is_dir()
        assert (ROOT / room.tests).is_dir()
        assert all((ROOT / "tests" / "property" / f"{each}.py").is_file() for each in room.properties)
