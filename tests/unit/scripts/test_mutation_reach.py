"""Which tests reach a line: read from coverage's file and pytest's report, and asked for the lines of a statement."""

import pytest
from coverage import CoverageData

from scripts.mutation_reach import lines_of_statement, read_reach

REPORT = """..
============================= slowest durations =============================
0.02s call     tests/test_a.py::test_slow[a b]
0.01s setup    tests/test_a.py::test_slow[a b]
0.02s call     tests/test_a.py::test_quick
0.00s teardown tests/test_a.py::test_idle
2 passed in 0.05s
"""


@pytest.fixture
def data(tmp_path):
    """Coverage of one module: line 1 at import, 5 in one test, 6 in two."""
    data = CoverageData(str(tmp_path / "data"))
    module = str(tmp_path.resolve() / "shim" / "a.py")
    for context, lines in [
        ("", [1]),
        ("tests/test_a.py::test_slow[a b]|run", [5, 6]),
        ("tests/test_a.py::test_quick|setup", [6]),
    ]:
        data.set_context(context)
        data.add_lines({module: lines})
    data.write()
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("lines", "tests"),
    [
        (range(1, 2), ["test_idle", "test_quick", "test_slow[a b]"]),
        (range(5, 6), ["test_slow[a b]"]),
        (range(5, 8), ["test_quick", "test_slow[a b]"]),
        (range(7, 8), []),
    ],
    ids=["at import: all", "one", "cheapest first", "none"],
)
def test_a_line_has_the_tests_that_ran_it_cheapest_first(data, tmp_path, lines, tests):
    reach = read_reach(data, REPORT, tmp_path)
    assert reach.of("shim/a.py", lines) == [f"tests/test_a.py::{test}" for test in tests]
    assert reach.of("shim/other.py", lines) == []


def test_the_cost_of_a_test_has_all_its_parts(data, tmp_path):
    assert read_reach(data, REPORT, tmp_path).cost(["tests/test_a.py::test_slow[a b]"]) == pytest.approx(0.03)


def test_a_report_that_hides_a_test_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match="test_quick"):
        read_reach(data, REPORT.replace("test_quick", "test_other"), tmp_path)


TEXT = """\
LIMIT = 3
def f(
    a=1,
):
    if (
        a
        and LIMIT
    ):
        return g(
            a,
            2,
        )
    for x in a: x.b = 1
    try:
        pass
    except E:
        pass
    match a:
        case 1:
            pass
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, range(1, 2)),
        (3, range(2, 5)),
        (7, range(5, 9)),
        (11, range(9, 13)),
        (13, range(13, 14)),
        (16, range(14, 18)),
        (19, range(18, 21)),
    ],
    ids=["simple", "default", "condition", "call", "one line", "without a head", "case"],
)
def test_a_statement_has_its_own_lines_and_not_those_of_its_body(line, lines):
    assert lines_of_statement(TEXT, line) == lines
