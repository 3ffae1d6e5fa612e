"""The runner of mutants: a seed draws the same, files are as before, who saw what is confirmed, the table counts."""

from dataclasses import replace

import pytest
from coverage import CoverageData

from scripts.mutant_kinds import KINDS, Mutant, mutants
from scripts.mutant_runs import ROOT, Collected, Copies, Outcome, planted
from scripts.mutant_swaps import Functions, SwapError
from scripts.mutants import (
    EQUIVALENT,
    ROOMS,
    Equivalent,
    Reach,
    Room,
    Verdict,
    confirmed,
    drawn,
    judged_by_reach,
    judged_near,
    known_equivalents,
    lines_of_statement,
    main,
    mutants_of,
    near_tests,
    read_reach,
    table,
)

MUTANT = Mutant(
    kind="off by one", path="shim/domain/ids.py", within="f", line=1, before="1", after="2", planted="x = 2\n"
)
VERDICT = Verdict(room="identity", number=1, mutant=MUTANT, how="killed", by="tests/test_a.py::test_a")


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_names_what_there_is(room):
    assert all((ROOT / path).exists() for path in (*ROOMS[room].modules, *ROOMS[room].tests))


def test_a_seed_draws_the_same_and_another_others():
    first = drawn(["fairness", "identity"], 21, 1)
    assert first == drawn(["fairness", "identity"], 21, 1)
    assert first != drawn(["fairness", "identity"], 21, 2)
    assert [room for room, _, _ in first] == ["fairness"] * 10 + ["identity"] * 11
    assert {mutant.kind for _, _, mutant in first} == set(KINDS), "rare kinds are drawn as often as others"
    places = list(mutants_of(ROOMS["fairness"]))
    assert all(places[number] == mutant for room, number, mutant in first if room == "fairness")


def test_no_more_is_drawn_than_there_is_and_nothing_twice():
    everything = drawn(["fairness"], 10_000, 1)
    assert [number for _, number, _ in everything] == list(range(len(list(mutants_of(ROOMS["fairness"])))))


def test_each_equivalent_is_one_that_can_be_drawn_and_says_why():
    for each in known_equivalents():
        places = mutants(each.path, (ROOT / each.path).read_text("utf-8"))
        assert any(each.is_of(mutant) for mutant in places), f"gone: take it out of {EQUIVALENT.name}: {each}"
        assert len(each.reason.split()) > 3


def test_an_equivalent_is_that_change_in_that_function_alone():
    known = Equivalent(path=MUTANT.path, within="f", before="1", after="2", reason="it only saves work")
    assert known.is_of(replace(MUTANT, line=99))
    assert not any(known.is_of(replace(MUTANT, **{name: "other"})) for name in ("path", "within", "before", "after"))


def test_tests_near_a_module_are_those_named_after_it_then_those_that_import_it_the_cheap_first(tmp_path):
    for path, text in (
        ("shim/a/__init__.py", "from shim.a.core import f\n"),
        ("shim/a/core.py", ""),
        ("shim/a/inner.py", ""),
        ("shim/a/alone.py", ""),
        ("shim/a/outer.py", "from shim.a.inner import f\n"),
        ("tests/property/test_long.py", "from shim.a import f\n"),
        ("tests/unit/test_core.py", ""),
        ("tests/unit/test_users.py", "import shim.a.core, shim.a.outer\n"),
        ("tests/unit/test_others.py", "from shim.b import core\n"),
        ("tests/unit/a/test_by_doubles.py", "from shim.b import core\n"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    room = Room(modules=("shim/a",), tests=("tests/property/test_long.py", "tests/unit"))
    by_doubles = "tests/unit/a/test_by_doubles.py"
    found = ["tests/unit/test_core.py", "tests/unit/test_users.py", "tests/property/test_long.py", by_doubles]
    assert near_tests("shim/a/core.py", room, tmp_path) == found
    assert near_tests("shim/a/inner.py", room, tmp_path) == [found[1], by_doubles], "those of who imports it"
    assert near_tests("shim/a/alone.py", room, tmp_path) == [by_doubles]


def test_a_file_is_as_before_whatever_happens(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n", "utf-8")

    def interrupted():
        with planted(file, MUTANT):
            assert file.read_text("utf-8") == "x = 2\n"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text("utf-8") == "x = 1\n"


GREEN_END = Outcome(code=0, output="")
NO_TESTS = Room(modules=(), tests=())


class ScriptedRuns:
    """Implements `Copies`: runs end as they are told to; `asked` has the tests of each."""

    def __init__(self, ends=GREEN_END, failing=()):
        self.ends, self.fail, self.asked = ends, set(failing), []

    def run(self, tests, *, mutant, limit_s, each_s):
        del mutant, limit_s
        self.asked.append((list(tests), each_s))
        return self.ends

    def run_collected(self, room, tests, *, mutant, limit_s, each_s):
        del room
        return self.run(tests, mutant=mutant, limit_s=limit_s, each_s=each_s)

    def failing(self, tests, *, each_s):
        del each_s
        self.asked.append(tests)
        return self.fail & set(tests)


FAILS = "tests/test_a.py::test_a"


@pytest.mark.parametrize(
    ("ends", "how"),
    [
        (Outcome(code=0, output=""), ("SURVIVED", "")),
        (Outcome(code=5, output=""), ("SURVIVED", "")),
        (Outcome(code=1, output="", failed=FAILS), ("killed", FAILS)),
        (Outcome(code=1, output="E  Failed: Timeout (>60.0s)", failed=FAILS), ("killed by time", FAILS)),
        (Outcome(code=None, output=""), ("killed by time", "")),
        (Outcome(code=2, output=""), ("killed: pytest ended with 2", "")),
    ],
)
def test_the_end_of_the_run_says_how(ends, how):
    runs = ScriptedRuns(ends)
    assert judged_near(MUTANT, [FAILS], runs) == how
    assert runs.asked == [([FAILS], 30.0)]
    collected = ScriptedRuns(ends)
    assert judged_near(MUTANT, [FAILS], collected, NO_TESTS) == how
    assert len(collected.asked) == (2 if how[0] == "SURVIVED" else 1)


def test_what_no_test_is_near_or_reaches_survives_without_a_run():
    runs = ScriptedRuns()
    assert judged_near(MUTANT, [], runs) == ("SURVIVED: no test is near", "")
    assert judged_by_reach(MUTANT, Reach(seconds={}, by_line={}), NO_TESTS, runs) == (
        "SURVIVED: no test reaches it",
        "",
    )
    assert runs.asked == []


def test_each_test_that_reaches_it_has_some_times_as_long_as_the_slowest_of_them():
    slow, slower = "tests/test_ids.py::test_slow", "tests/test_ids.py::test_slower"
    reach = Reach(seconds={slow: 1.0, slower: 9.0}, by_line={MUTANT.path: {1: frozenset([slow])}})
    runs = ScriptedRuns()
    judged_by_reach(MUTANT, reach, NO_TESTS, runs)
    assert runs.asked == [([slow], 40.0)]


def test_what_runs_at_import_is_planted_in_its_file_if_no_test_that_runs_it_sees_it():
    own = "tests/unit/domain/test_ids.py"
    reach = Reach(seconds={FAILS: 0.0}, by_line={MUTANT.path: {1: frozenset([FAILS, ""])}})
    room = Room(modules=("shim/domain",), tests=(own,))
    runs = ScriptedRuns()
    judged_by_reach(MUTANT, reach, room, runs)
    assert [tests for tests, _ in runs.asked] == [[FAILS], [own]]
    runs = ScriptedRuns(Outcome(code=1, output="", failed=FAILS))
    assert judged_by_reach(MUTANT, reach, room, runs) == ("killed", FAILS)
    assert len(runs.asked) == 1


def test_a_test_that_fails_without_the_mutant_too_has_seen_nothing():
    others = [
        replace(VERDICT, by="tests/test_b.py::test_b"),
        replace(VERDICT, how="killed by time", by=""),
        replace(VERDICT, how="SURVIVED", by=""),
    ]
    runs = ScriptedRuns(failing=[FAILS])
    told = confirmed([VERDICT, *others], runs)
    assert [verdict.how for verdict in told] == [
        "SURVIVED: its test fails without it, too",
        "killed",
        "killed by time",
        "SURVIVED",
    ]
    assert runs.asked == [[FAILS, "tests/test_b.py::test_b"]]


def test_the_table_counts_by_room_and_over_all():
    hows = [("a", "killed"), ("a", "SURVIVED"), ("a", "equivalent: why"), ("b", "killed by time"), ("b", "killed")]
    told = table([replace(VERDICT, room=room, how=how) for room, how in hows])[2:]
    assert told == ["| a | 3 | 1 | 1 | 1 | 50% |", "| b | 2 | 0 | 2 | 0 | 100% |", "| all | 5 | 1 | 3 | 1 | 75% |"]


def test_places_are_listed_by_number(capsys):
    assert main(["--room", "fairness", "--only", "3,1", "--list"]) == 0
    places = list(mutants_of(ROOMS["fairness"]))
    assert capsys.readouterr().out.splitlines() == [f"fairness #{number} {places[number]}" for number in (3, 1)]


def test_a_run_is_a_fork_that_sees_the_mutant_and_the_next_does_not(tmp_path):
    copies = Copies(tmp_path, 1)
    test = "tests/unit/fairness/test_shares.py"
    path, text = "fairness/shares.py", (ROOT / "fairness/shares.py").read_text("utf-8")
    broken = text.replace("return", "return None if True else", 1)
    try:
        seen = copies.run([test], mutant=replace(MUTANT, path=path, planted=broken), limit_s=300.0, each_s=60.0)
        after = copies.run([test], mutant=None, limit_s=300.0, each_s=60.0)
        unimportable = copies.run(
            [test], mutant=replace(MUTANT, path=path, planted="raise ValueError"), limit_s=300.0, each_s=60.0
        )
        no_time = copies.run([test], mutant=None, limit_s=0.0, each_s=60.0)
        nothing_fails = copies.failing([test], each_s=60.0)
        with copies.covered(["fairness"], [test]) as (folder, output, failed):
            reach = read_reach(folder / ".coverage", output, folder)
        line = 1 + text[: text.index("    scaled = ")].count("\n")
        mutant = replace(MUTANT, path=path, line=line, planted=text.replace("    scaled = ", "    scaled = 0 * "))
        swapped = copies.run_collected([test], reach.tests(), mutant=mutant, limit_s=300.0, each_s=60.0)
        collected = Collected(folder, [test])
        at_once = collected.run(reach.tests(), mutant, limit_s=300.0, each_s=60.0)
        collected.close()
    finally:
        copies.close()
    assert (seen.code, seen.failed.partition("::")[0]) == (1, test)
    assert (after.code, after.failed) == (0, "")
    assert unimportable.code not in {0, 1}
    assert no_time.code is None
    assert nothing_fails == set(failed) == set()
    assert (swapped.code, swapped.failed.partition("[")[0]) == (1, f"{test}::test_jain_index_of_plain_cases")
    assert at_once == swapped, "it is swapped in: its file is as it was"
    assert {each.partition("[")[0] for each in reach.of(path, range(line, line + 1))} == {
        f"{test}::test_jain_index_of_plain_cases"
    }


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
        (range(1, 2), []),
        (range(5, 6), ["test_slow[a b]"]),
        (range(5, 8), ["test_quick", "test_slow[a b]"]),
        (range(7, 8), []),
    ],
    ids=["at import", "one", "cheapest first", "none"],
)
def test_a_line_has_the_tests_that_ran_it_cheapest_first(data, tmp_path, lines, tests):
    reach = read_reach(data, REPORT, tmp_path)
    assert reach.of("shim/a.py", lines) == [f"tests/test_a.py::{test}" for test in tests]
    assert reach.of("shim/other.py", lines) == []
    assert reach.is_at_import("shim/a.py", lines) is (lines.start == 1)


def test_of_files_that_were_run_anew_nothing_older_counts(data, tmp_path):
    reach = read_reach(data, REPORT, tmp_path)
    newer = Reach(
        seconds={"tests/test_b.py::test_b": 1.0},
        by_line={"shim/a.py": {6: frozenset(["tests/test_b.py::test_b"])}, "shim/b.py": {1: frozenset([""])}},
    )
    added = reach.renewed({"tests/test_b.py"}, newer)
    assert added.of("shim/a.py", range(6, 7)) == [*reach.of("shim/a.py", range(6, 7)), "tests/test_b.py::test_b"]
    assert added.is_at_import("shim/a.py", range(1, 2))
    assert added.is_at_import("shim/b.py", range(1, 2))
    replaced = reach.renewed({"tests/test_a.py"}, newer)
    assert replaced.of("shim/a.py", range(1, 9)) == replaced.tests() == ["tests/test_b.py::test_b"]


def test_a_room_has_its_part_of_what_all_tests_reach(data, tmp_path):
    reach = read_reach(data, REPORT, tmp_path)
    whole = reach.within(["shim/a.py"], {"tests/test_a.py"})
    assert whole == reach
    assert reach.within(["shim/b"], {"tests/test_a.py"}).by_line == {}
    others = reach.within(["shim"], {"tests/test_b.py"})
    assert others.tests() == others.of("shim/a.py", range(1, 9)) == []
    assert others.is_at_import("shim/a.py", range(1, 2))
    without = reach.without(["tests/test_a.py::test_quick"])
    assert without.of("shim/a.py", range(1, 9)) == ["tests/test_a.py::test_slow[a b]"]
    assert "tests/test_a.py::test_quick" not in without.tests()


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


SWAPPED = """\
from functools import wraps
def kept(f):
    @wraps(f)
    def inner(*given): return f(*given)
    return inner
class A:
    @property
    def size(self): return 1
    @staticmethod
    def of(n): return n + 1
    @kept
    def __eq__(self, other): return super().__eq__(other)
    async def run(self):
        return [each for each in (1, 2)]
def g(x=1): return x
"""


def driven(coroutine):
    """What a coroutine that waits for nothing returns."""
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


def imported(path, text):
    """A module of a text, as an importer has it."""
    path.write_text(text, "utf-8")
    names = {"__name__": "swapped"}
    exec(compile(text, str(path), "exec"), names)  # noqa: S102 - the text is above
    return names


@pytest.mark.parametrize(
    ("line", "before", "after", "call", "then"),
    [
        (8, "return 1", "return 2", lambda a, _: a().size, 2),
        (10, "n + 1", "n - 1", lambda a, _: a.of(1), 0),
        (14, "(1, 2)", "(2, 1)", lambda a, _: driven(a().run()), [2, 1]),
        (15, "return x", "return -x", lambda _, g: g(), -1),
    ],
    ids=["property", "static method", "coroutine", "function"],
)
def test_who_has_imported_a_function_has_its_mutant(tmp_path, line, before, after, call, then):
    file = tmp_path / "swapped.py"
    names = imported(file, SWAPPED)
    Functions().swap(file, line, SWAPPED.replace(before, after))
    assert call(names["A"], names["g"]) == then


def test_what_is_not_imported_or_closes_over_something_else_is_not_swapped(tmp_path):
    file = tmp_path / "swapped.py"
    names = imported(file, SWAPPED)
    functions = Functions()
    for line, planted_text in ((1, SWAPPED), (12, SWAPPED.replace("super().__eq__(other)", "True"))):
        with pytest.raises(SwapError):
            functions.swap(file, line, planted_text)
    other = tmp_path / "other.py"
    other.write_text(SWAPPED, "utf-8")
    with pytest.raises(SwapError, match="not imported"):
        functions.swap(other, 15, SWAPPED)
    del names
