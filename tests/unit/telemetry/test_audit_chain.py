"""The chain through audit lines: whole ones are whole, and each change of what is covered is found."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.telemetry.audit_chain import ChainHead, follow, linked, verify
from shim.telemetry.audit_file import AuditFile, head_file_of

FACTS = st.dictionaries(st.sampled_from(["time", "operation", "reason"]), st.text(max_size=20), max_size=3)
CHAINS = st.lists(FACTS, min_size=1, max_size=8)


def chained(facts, head=None):
    """Lines, and the head after them."""
    head, lines = head or ChainHead("c"), []
    for said in facts:
        line, head = linked(said, head)
        lines.append(line)
    return lines, head


def placed(lines):
    return [(f"f:{number}", line) for number, line in enumerate(lines, 1)]


def troubles(lines, *heads):
    return verify(placed(lines), heads).troubles


@given(CHAINS)
def test_a_chain_as_it_was_written_is_whole(facts):
    lines, head = chained(facts)
    found = verify(placed(lines), [head])
    assert (found.troubles, found.notes) == ((), ())
    assert [(each.first, each.lines, each.head) for each in found.chains] == [(1, len(facts), head)]


def is_first_of_another_chain(line):
    try:
        record = json.loads(line)
    except ValueError:
        return False
    return record.get("chain", "c") != "c" and record.get("number") == 1 and record.get("previous") == ""


@given(CHAINS, st.data())
def test_a_changed_byte_is_found(facts, data):
    lines, head = chained(facts)
    at = data.draw(st.integers(0, len(lines) - 1))
    line = bytearray(lines[at])
    line[data.draw(st.integers(0, len(line) - 1))] ^= data.draw(st.integers(1, 255))
    lines[at] = bytes(line)
    if at == 0 and len(lines) > 1 and is_first_of_another_chain(lines[0]):  # as if the first one had been thrown away
        assert verify(placed(lines), [head]).notes == ("chain c begins with number 2: give the older files, too",)
        return
    assert troubles(lines, head)
    if at < len(lines) - 1:
        assert troubles(lines)


def test_a_first_line_that_no_longer_names_its_chain_is_found():
    lines, _ = chained([{}, {}])
    lines[0] = lines[0].replace(b'"chain"', b'"bhain"')
    assert troubles(lines) == ("f:2: lines of no chain stand where 1 of chain c should",)


@given(CHAINS, st.data())
def test_a_missing_line_is_found(facts, data):
    lines, head = chained(facts)
    at = data.draw(st.integers(0, len(lines) - 1))
    del lines[at]
    if at == 0 and lines:  # as if the oldest files had been thrown away, which is nobody's fault
        assert verify(placed(lines), [head]).notes == ("chain c begins with number 2: give the older files, too",)
    else:
        assert troubles(lines, head)
    if 0 < at < len(lines):
        assert troubles(lines)


@given(CHAINS, st.data())
def test_a_repeated_or_moved_line_is_found(facts, data):
    lines, head = chained(facts)
    line = lines[data.draw(st.integers(0, len(lines) - 1))]
    lines.insert(data.draw(st.integers(0, len(lines))), line)
    assert troubles(lines, head)
    assert troubles(lines)


@given(CHAINS, CHAINS)
def test_lines_of_two_writers_may_be_mixed(first, second):
    ours, _ = chained(first)
    theirs, _ = chained(second, ChainHead("d"))
    mixed = [line for pair in zip(ours, theirs, strict=False) for line in pair]
    mixed += ours[len(theirs) :] + theirs[len(ours) :]
    assert troubles(mixed) == ()


@given(CHAINS, CHAINS)
def test_a_line_without_a_chain_is_found_behind_the_first_that_has_one(old, new):
    lines, _ = chained(new)
    before = [json.dumps(said).encode() for said in old]
    found = verify(placed([*before, *lines]))
    assert found.troubles == ()
    assert found.notes == (f"{len(before)} lines before the first chain are not covered",)
    assert troubles([*lines, before[0]])


def test_the_end_can_be_cut_off_unnoticed_unless_a_head_was_kept():
    lines, head = chained([{}] * 5)
    assert troubles(lines[:3]) == ()
    assert troubles(lines[:3], head) == (f"the line whose hash was kept is not there ({head})",)


def test_a_chain_that_was_written_anew_is_found_by_a_kept_head():
    _, head = chained([{"reason": "then"}] * 3)
    anew, _ = chained([{"reason": "now"}] * 3)
    assert troubles(anew) == ()
    assert "is not the one whose hash was kept" in troubles(anew, head)[0]


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"1",
        b"{",
        b"[" * 100_000,
        b'{"chain": 1, "number": 1, "previous": ""}',
        b'{"chain": "c", "number": true}',
        b'{"chain": "c", "number": -1, "previous": ""}',
        b"\xff",
    ],
)
def test_what_is_no_record_is_told_and_breaks_nothing(line):
    lines, _ = chained([{}])
    (told,) = troubles([*lines, line])
    assert told.startswith("f:2: ")


@given(CHAINS, st.integers(0, 8))
def test_a_head_that_is_behind_catches_up(facts, known):
    lines, head = chained(facts)
    _, behind = chained(facts[:known])
    assert follow(behind, lines) == head


# -- files -------------------------------------------------------------------------------------------------------------


def said_in(file):
    return [(f"{file.name}:{number}", line) for number, line in enumerate(file.read_bytes().splitlines(), 1)]


def written(file, count=1):
    audit = AuditFile(file)
    for number in range(count):
        audit.append({"number of": number})
    audit.close()
    return audit.head


def test_a_chain_goes_on_after_a_restart(tmp_path):
    file = tmp_path / "audit.log"
    heads = [written(file, 2) for _ in range(3)]
    found = verify(said_in(file), heads)
    assert found.troubles == ()
    assert [each.lines for each in found.chains] == [6]
    for each in (file, head_file_of(file)):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600


@pytest.mark.parametrize("restarts", [False, True])
def test_a_chain_goes_on_after_a_rotation(tmp_path, restarts):
    file, old = tmp_path / "audit.log", tmp_path / "audit.log.1"
    audit = AuditFile(file)
    audit.append({})
    file.rename(old)
    if restarts:
        audit.close()
        audit = AuditFile(file)
    audit.append({})
    audit.close()
    assert verify([*said_in(old), *said_in(file)]).troubles == ()
    (note,) = verify(said_in(file)).notes
    assert "give the older files, too" in note


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_line_that_a_crash_cut_is_told_of_by_the_next(tmp_path, cut):
    file = tmp_path / "audit.log"
    written(file, 2)
    before = head_file_of(file).read_bytes()
    written(file)
    head_file_of(file).write_bytes(before)
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    written(file, 2)
    found = verify(said_in(file))
    assert found.troubles == ()
    # of a line that lacks nothing but its end no word is lost
    assert [each.lines for each in found.chains] == [5 if cut == 1 else 4]


def test_a_line_that_somebody_cut_later_is_found(tmp_path):
    file = tmp_path / "audit.log"
    written(file, 3)
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([lines[0], lines[1][:-5], lines[2]]) + b"\n")
    assert verify(said_in(file)).troubles


def test_a_crash_between_line_and_head_changes_nothing(tmp_path):
    file = tmp_path / "audit.log"
    written(file)
    before = head_file_of(file).read_bytes()
    written(file, 2)
    head_file_of(file).write_bytes(before)
    written(file)
    found = verify(said_in(file))
    assert (found.troubles, [each.lines for each in found.chains]) == ((), [4])


def test_lines_that_a_crash_of_the_machine_lost_are_told_as_missing(tmp_path):
    file = tmp_path / "audit.log"
    written(file, 4)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]))
    written(file)
    (told,) = verify(said_in(file)).troubles
    assert "lines 3 to 4 of chain" in told


def test_a_second_process_has_a_chain_of_its_own(tmp_path):
    file = tmp_path / "audit.log"
    first, second = AuditFile(file), AuditFile(file)
    for _ in range(2):
        first.append({})
        second.append({})
    first.close()
    second.close()
    found = verify(said_in(file))
    assert (found.troubles, [each.lines for each in found.chains]) == ((), [2, 2])


@pytest.mark.parametrize("kept", [b"", b"nonsense", b"c:x:y", b"c:1:", b"\xff" * 200, b"c:" + b"9" * 60 + b":a"])
def test_a_head_that_cannot_be_read_begins_a_new_chain(tmp_path, kept):
    file = tmp_path / "audit.log"
    written(file)
    head_file_of(file).write_bytes(kept)
    written(file)
    found = verify(said_in(file))
    assert (found.troubles, len(found.chains)) == ((), 2)


def test_a_file_that_cannot_be_opened_leaves_nothing_open(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="No such file"):
        AuditFile(tmp_path / "nowhere" / "audit.log")
    (tmp_path / "audit.log.head").mkdir()
    with pytest.raises(OSError, match="directory"):
        AuditFile(tmp_path / "audit.log")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
