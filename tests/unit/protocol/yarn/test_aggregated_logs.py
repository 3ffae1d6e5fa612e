"""Files of aggregated logs: what Hadoop wrote, and what nobody would write in earnest.

`written_by_hadoop` holds what `tests/e2e/programs/WriteAggregatedLogs.java` wrote: `none` with the jars of 3.4.2 and
`none 900`, `gz` with those of 2.10.2 and `gz 1500000` (a value of two chunks).
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ContainerId
from shim.protocol.yarn.aggregated_logs import (
    AggregatedFile,
    Allowance,
    MalformedLogsError,
    ReadAt,
    list_files,
    tail_of,
    view_acl_of,
)

WRITTEN = {name: (Path(__file__).parent / "written_by_hadoop" / name).read_bytes() for name in ("none", "gz")}
LARGEST = {"none": 900, "gz": 1_500_000}
CONTAINERS = [ContainerId.parse(f"container_1700000000000_0006_01_00000{number}") for number in (1, 2, 3)]
_MAGIC = 16


def reader(content: bytes) -> ReadAt:
    return lambda offset, count: content[offset : offset + count]


def listed(content: bytes, user: str = "ada", allowance: Allowance | None = None) -> list[AggregatedFile]:
    return list(list_files(reader(content), len(content), user, allowance or Allowance()))


@pytest.mark.parametrize("form", WRITTEN)
def test_files_that_hadoop_wrote_are_listed(form):
    found = [(each.container, each.name, each.size) for each in listed(WRITTEN[form])]
    one, two, three = CONTAINERS
    assert found == [
        (one, "stderr", 12),
        (one, "stdout", 40),
        (two, "stderr", 0),
        (two, "stdout", 40),
        (three, "stderr", 12),
        (three, "stdout", LARGEST[form]),
    ]


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("most", [1, 100, 70_000, 1024 * 1024, 2_000_000])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_end_of_a_file_is_what_was_printed_last(form, container, most):
    line = f"line of {container}\n"
    size = LARGEST[form] if container == CONTAINERS[2] else 40
    printed = (line * (size // len(line) + 1))[:size].encode()
    content = WRITTEN[form]
    assert tail_of(
        reader(content), len(content), "ada", Allowance(), container=container, name="stdout", most_bytes=most
    ) == (printed[-most:], size)


@pytest.mark.parametrize("form", WRITTEN)
def test_a_file_that_is_not_there_is_none(form):
    content = WRITTEN[form]
    read, container = reader(content), CONTAINERS[0]
    assert tail_of(read, len(content), "ada", Allowance(), container=container, name="syslog", most_bytes=9) is None


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("user", ["bob", "", "ad", "adaa"])
def test_logs_of_another_user_are_not_read(form, user):
    with pytest.raises(MalformedLogsError, match="another user"):
        listed(WRITTEN[form], user)


@given(st.sampled_from(sorted(WRITTEN)), st.data())
def test_bytes_that_were_changed_are_read_or_refused(form, data):
    content = bytearray(WRITTEN[form])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])
    try:
        found = listed(cut)
    except MalformedLogsError:
        return
    assert all(each.size >= 0 for each in found)


@given(st.binary(max_size=300))
def test_an_index_of_any_bytes_is_refused(middle):
    content = WRITTEN["none"][:_MAGIC] + middle + _MAGIC.to_bytes(8, "big") + WRITTEN["none"][-20:]
    with pytest.raises(MalformedLogsError):
        listed(content)


@pytest.mark.parametrize("form", WRITTEN)
def test_the_view_acl_is_what_hadoop_wrote(form):
    assert view_acl_of(reader(WRITTEN[form]), len(WRITTEN[form]), Allowance()) == "bob staff"
