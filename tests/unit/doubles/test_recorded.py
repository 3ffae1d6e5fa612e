"""The recordings are whole, small, and hold nothing of the machine on which they were made."""

import gzip
import json
import re
import socket

import pytest

from shim.lab import DEFAULT_VERSION, SUPPORTED_VERSIONS
from tests.doubles.recorded import RECORDINGS, recorded_exchange, recorded_exchanges

MOST_BYTES = 400_000
OF_A_MACHINE = re.compile(rb"/(work|home|Users)/\w|/tmp/heddle-\w")


def files():
    return sorted(RECORDINGS.glob("*/*.jsonl.gz"))


def test_every_row_of_the_table_was_recorded_once_and_in_its_order():
    asked = []
    for file in sorted((RECORDINGS / "requests").glob("*.jsonl")):
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        asked += [f"{file.stem}/{row['name']}" for row in rows if "name" in row]
    assert len(asked) == len(set(asked))
    assert [*recorded_exchanges()] == asked


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_each_version_was_asked_the_same(version):
    ours, those = recorded_exchanges(version), recorded_exchanges(DEFAULT_VERSION)
    assert len(ours) > 150
    assert {name: exchange.method for name, exchange in ours.items()}.items() <= {
        name: exchange.method for name, exchange in those.items()
    }.items()


def test_recordings_are_small_and_the_same_answers_make_the_same_bytes():
    assert sum(file.stat().st_size for file in files()) < MOST_BYTES
    assert {file.read_bytes()[4:8] for file in files()} == {bytes(4)}, "gzip's time of writing"


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_recordings_hold_nothing_of_a_machine(version):
    host = re.compile(rb"[\"/>]" + re.escape(socket.gethostname().encode()) + rb"[/:\"<]")
    for file in (RECORDINGS / version).glob("*.gz"):
        told = gzip.decompress(file.read_bytes())
        assert OF_A_MACHINE.search(told) is None
        assert host.search(told) is None


def test_an_answer_is_as_it_was_received():
    exchange = recorded_exchange("get_empty/info.json")
    assert (exchange.status, exchange.reason, exchange.cluster) == (200, "OK", "plain")
    assert [name for name, _ in exchange.headers].count("Date") == 2
    assert exchange.header("content-type") == "application/json;charset=utf-8"
    assert exchange.json()["clusterInfo"]["hadoopVersion"] == "3.4.2"
    packed = recorded_exchange("apps_one/apps_gzip")
    assert (packed.header("Content-Encoding"), packed.body[:2]) == ("gzip", b"\x1f\x8b")


def test_a_version_that_was_not_recorded_says_how():
    with pytest.raises(FileNotFoundError, match=r"record_rm\.py"):
        recorded_exchanges("1.0.4")
