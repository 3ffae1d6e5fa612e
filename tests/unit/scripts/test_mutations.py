"""The runner of mutations: the same seed draws the same, a file is as before, and the table counts."""

import pytest

from scripts.mutants import Mutant
from scripts.mutations import ROOMS, ROOT, Verdict, chosen, mutants_of, planted, table

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
