"""Tez, unmodified, with Heddle's addresses: a chain of stages, and a join of two inputs."""

import getpass
import re
from collections import Counter
from pathlib import Path

import pytest

from shim.lab.word_count import find_texts
from tests.support.client_jars import tez_jars
from tests.support.engines import TEZ_EXAMPLES, tez_settings
from tests.support.scheduler_calls import calls_of_masters
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab


@pytest.fixture
def tez(lab, heddle, tmp_path):
    """A client that knows no address but Heddle's; Tez wants a staging folder that is its user's own."""
    client = StockClient(
        lab,
        tmp_path / "client",
        address=heddle.client_rpc,
        scheduler_address=heddle.scheduler_rpc,
        webapp_address=heddle.url.removeprefix("http://"),
    )
    (client.folder / "tez-site.xml").write_text("<configuration></configuration>")
    client.set("tez-site.xml", tez_settings(tez_jars(), tmp_path / "staging"))
    return client


def run(tez: StockClient, *arguments: object) -> str:
    words = [str(argument) for argument in arguments]
    return tez.run(TEZ_EXAMPLES, *words, user=getpass.getuser(), class_path=f"{tez_jars()}/*")


def lines(folder: Path) -> list[str]:
    return [line for part in sorted(folder.glob("part-*")) for line in part.read_text().splitlines()]


def test_tez_counts_words_and_sorts_them_by_how_often_they_are_there(heddle, tez, tmp_path):
    (text,) = find_texts(1)
    before = calls_of_masters(heddle)

    printed = run(tez, "orderedwordcount", text, tmp_path / "out", 2)

    told = [(word, int(count)) for word, _, count in (line.rpartition("\t") for line in lines(tmp_path / "out"))]
    assert dict(told) == Counter(word for word in re.split(r"[ \t\n\r\f]+", text.read_text("utf-8")) if word), printed
    assert [count for _, count in told] == sorted(count for _, count in told)
    during = calls_of_masters(heddle) - before
    assert {method for method, _ in during} >= {"registerApplicationMaster", "allocate"}  # it finishes after its client


def test_tez_joins_two_inputs(tez, tmp_path):
    for name, step in (("twos", 2), ("threes", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lines").write_text("".join(f"line {number}\n" for number in range(0, 600, step)))

    printed = run(tez, "sortmergejoin", tmp_path / "twos", tmp_path / "threes", 2, tmp_path / "out")

    assert sorted(lines(tmp_path / "out")) == sorted(f"line {number}" for number in range(0, 600, 6)), printed
