"""The table of attacks: what the page says, and what a run of the tests came to."""

from scripts.attack_table import PAGE, classes_of, counted, listed, written

TABLE = """Text.

| class | tests | where |
|---|---|---|
| frames | 1,003 | `tests/protocol/test_fuzz.py`, `tests/rpc/test_a.py` |
| names | 0 | `tests/unit/test_names.py` |
| all | 9 | |

| other | 1 | `tests/x.py` |
"""
REPORT = """<testsuites><testsuite>
<testcase classname="tests.protocol.test_fuzz" name="a"/>
<testcase classname="tests.protocol.test_fuzz.TestBounds" name="b"><failure message="x">y</failure></testcase>
<testcase classname="tests.rpc.test_a" name="c"><skipped/></testcase>
<testcase classname="tests.rpc.test_apart" name="c"/>
<testcase classname="tests.unit.test_names" name="d"><error/></testcase>
</testsuite></testsuites>"""


def test_classes_are_the_rows_of_one_table():
    assert classes_of(TABLE) == {
        "frames": (1003, ["tests/protocol/test_fuzz.py", "tests/rpc/test_a.py"]),
        "names": (0, ["tests/unit/test_names.py"]),
        "all": (9, []),
    }


def test_outcomes_are_counted_by_class_and_written_into_the_page():
    found = counted(REPORT, {name: row for name, row in classes_of(TABLE).items() if row[1]})
    assert found == {"frames": {"held": 1, "fell": 1, "skipped": 1}, "names": {"fell": 1}}
    assert "| frames | 3 | `tests/protocol" in written(TABLE, found)
    assert "| names | 1 | `" in written(TABLE, found)
    assert "| all | 4 | |" in written(TABLE, found)


def test_tests_that_are_listed_are_counted_by_class():
    told = "tests/rpc/test_a.py::test_x[1]\ntests/rpc/test_a.py::T::test_y\ntests/rpc/test_ab.py::test\n\n3 tests\n"
    assert listed(told, {"frames": (0, ["tests/rpc/test_a.py"])}) == {"frames": {"listed": 2}}


def test_the_numbers_of_the_page_add_up():
    counts = {name: count for name, (count, _) in classes_of(PAGE.read_text("utf-8")).items()}
    assert counts.pop("all") == sum(counts.values()) > 884
    assert all(counts.values())
