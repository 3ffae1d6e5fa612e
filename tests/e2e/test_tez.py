"""Tez, unmodified, with Heddle's addresses: a chain of stages, and a join of two inputs."""

import pytest

from shim.lab.word_count import find_texts
from tests.support.engines import Tez, output_lines
from tests.support.scheduler_calls import calls_of_masters

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture
def tez(lab, heddle, tmp_path):
    """A client that knows no address but Heddle's."""
    return Tez(lab, tmp_path / "client", heddle)


@pytest.mark.main_promise
def test_tez_counts_words_and_sorts_them_by_how_often_they_are_there(heddle, tez, tmp_path):
    (text,) = find_texts(1)
    before = calls_of_masters(heddle)

    printed = tez.run("orderedwordcount", text, tmp_path / "out", 2)

    told = [(word, int(count)) for word, _, count in (line.rpartition("\t") for line in output_lines(tmp_path / "out"))]
    assert dict(told) == tez.words(text), printed
    assert [count for _, count in told] == sorted(count for _, count in told)
    during = calls_of_masters(heddle) - before
    assert {method for method, _ in during} >= {"registerApplicationMaster", "allocate"}  # it finishes after its client


def test_tez_joins_two_inputs(tez, tmp_path):
    for name, step in (("twos", 2), ("threes", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lines").write_text("".join(f"line {number}\n" for number in range(0, 600, step)))

    printed = tez.run("sortmergejoin", tmp_path / "twos", tmp_path / "threes", 2, tmp_path / "out")

    assert sorted(output_lines(tmp_path / "out")) == sorted(f"line {number}" for number in range(0, 600, 6)), printed
