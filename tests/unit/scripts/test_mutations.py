"""The runner of mutations: the same seed draws the same, a file is as before, and the table counts."""

from dataclasses import replace

import pytest

from scripts.mutants import Mutant
from scripts.mutation_reach import Reach
from scripts.mutations import ROOMS, ROOT, Verdict, chosen, mutants_of, planted, table, verdict_on

MUTANT = Mutant(path="shim/a.py", line=1, before="1", after="2", planted="x = 2\n")


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_names_what_there_is_and_has_places(room):
    assert all((ROOT / path).exists() for path in (*ROOMS[room].modules, *ROOMS[room].tests))
    assert len(list(mutants_of(ROOMS[room]))) >= 30


def test_a_seed_draws_the_same_and_another_others():
    first = chosen("ids", sample=5, seed=1, only=None)
    assert first == chosen("ids", sample=5, seed=1, only=None)
    assert first != chosen("ids", sample=5, seed=2, only=None)
    assert [number for number, _ in chosen("ids", sample=5, seed=1, only=[3, 1])] == [3, 1]


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


def test_the_table_counts_by_room_and_over_all():
    hows = [("ids", "killed"), ("ids", "SURVIVED"), ("homes", "killed by time"), ("homes", "killed")]
    verdicts = [Verdict(room=room, mutant=MUTANT, how=how, seconds=1.0) for room, how in hows]
    assert table(verdicts)[2:] == ["| ids | 2 | 1 | 50% |", "| homes | 2 | 2 | 100% |", "| all | 4 | 3 | 75% |"]


class ScriptedRuns:
    """Copies whose runs end with these codes, one after the other; `asked` has the tests of each."""

    def __init__(self, *codes):
        self.codes, self.asked = list(codes), []

    def run(self, tests, *, mutant, limit_s):  # noqa: ARG002 - the signature of `Copies.run`
        self.asked.append(tests)
        return self.codes.pop(0), "said"


REACHING = ["tests/test_ids.py::test_a"]
PATH = "shim/domain/ids.py"


@pytest.mark.parametrize(
    ("codes", "how", "asked"),
    [
        ([0], "SURVIVED", [REACHING]),
        ([1], "killed", [REACHING]),
        ([None], "killed by time", [REACHING]),
        ([2], "killed: pytest ended with 2", [REACHING]),
        ([4, 0], "SURVIVED", [REACHING, ["tests"]]),
        ([4, 1], "killed", [REACHING, ["tests"]]),
        ([4, 4], "killed: pytest ended with 4", [REACHING, ["tests"]]),
    ],
)
def test_the_end_of_the_run_says_how_and_tests_that_are_not_found_give_way_to_all(codes, how, asked):
    runs = ScriptedRuns(*codes)
    reach = Reach(seconds={REACHING[0]: 0.5}, by_line={PATH: {1: frozenset(REACHING)}})
    assert verdict_on(replace(MUTANT, path=PATH), ["tests"], reach, runs)[0] == how
    assert runs.asked == asked


def test_what_no_test_reaches_survives_without_a_run():
    runs = ScriptedRuns()
    verdict = verdict_on(replace(MUTANT, path=PATH), ["tests"], Reach(seconds={}, by_line={}), runs)
    assert verdict == ("SURVIVED: no test reaches it", "")
