"""What a run is told of the machine it ran on."""

import re
from pathlib import Path

import pytest

from scripts.machine_waits import noted, told

PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


def a_proc(folder: Path, *, kinds: tuple[str, ...], total: int, steal: int) -> Path:
    (folder / "pressure").mkdir(parents=True)
    for kind in kinds:
        (folder / "pressure" / kind).write_text(PRESSURE.format(total=total))
    (folder / "stat").write_text(f"cpu  1 2 3 4 5 6 7 {steal} 0 0\ncpu0 1 2 3 4 5 6 7 9 0 0\n")
    return folder


def test_stalls_are_shares_of_the_time_between(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    before = noted(a_proc(tmp_path / "a", kinds=("cpu", "io", "memory"), total=1_000_000, steal=0)) | {"now": 0.0}
    after = noted(a_proc(tmp_path / "b", kinds=("cpu", "io", "memory"), total=26_000_000, steal=2000)) | {"now": 100.0}
    assert told(before, after) == (
        "of 100 s something waited 25% for a processor, 25% for a disk, 25% for memory; host took 10%"
    )


def test_a_kernel_that_does_not_count_stalls_says_so(tmp_path):
    seen = noted(a_proc(tmp_path, kinds=(), total=0, steal=0)) | {"now": 0.0}
    assert told(seen, seen | {"now": 10.0}) == "of 10 s something waited nobody knows how long; host took 0%"


@pytest.mark.parametrize("missing", ["io", "memory"])
def test_what_one_note_has_not_is_left_out(tmp_path, missing):
    seen = noted(a_proc(tmp_path, kinds=("cpu", "io", "memory"), total=0, steal=0))
    part = {name: value for name, value in seen.items() if name != missing}
    assert told(part, seen | {"now": seen["now"] + 1}).count("0% for") == 2


def test_of_this_machine():
    assert re.match(r"of \d+ s something waited ", told(noted(), noted()))
