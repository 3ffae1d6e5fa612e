"""What is too long, too many or unreadable for a ResourceManager is told before it is sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.limits import LIMITS, MOST_PARTS, TextKind, count_rejection, rejection

MOST_OF_WRITE_UTF = 65_535


@pytest.mark.parametrize("kind", TextKind)
def test_what_is_as_long_as_may_be_is_taken_and_one_byte_more_is_not(kind: TextKind):
    most = LIMITS[kind].most_bytes
    assert rejection(kind, "a" * most) == ""
    assert f"longer than {most} bytes" in rejection(kind, "a" * (most + 1))
    assert f"longer than {most} bytes" in rejection(kind, "é" * (most // 2 + 1))
    assert rejection(kind, "é" * (most // 2)) == ""
    assert most < MOST_OF_WRITE_UTF


@pytest.mark.parametrize("kind", TextKind)
def test_a_list_is_counted(kind: TextKind):
    most = LIMITS[kind].most_count
    assert count_rejection(kind, ["a"] * most) == ""
    assert f"more than {most}" in count_rejection(kind, ["a"] * (most + 1))


@pytest.mark.parametrize("queue", ["", "prod", "root.prod", "root.a b.c", "root.ä", ".".join("a" * MOST_PARTS)])
def test_a_queue_is_a_path_of_parts(queue: str):
    assert rejection(TextKind.QUEUE, queue) == ""


@pytest.mark.parametrize(
    "queue",
    [
        *(" prod", "prod ", "a\tb", "a\nb", "a\x00b", "a\u00a0b", "a\u2028b"),
        *(".", "root.", ".prod", "root..prod", ".".join("a" * (MOST_PARTS + 1))),
    ],
)
def test_a_queue_that_no_resource_manager_has_is_refused(queue: str):
    assert rejection(TextKind.QUEUE, queue) != ""


@given(st.sampled_from(TextKind), st.text(max_size=50))
def test_a_rejection_is_short_and_can_be_shown(kind: TextKind, text: str):
    said = rejection(kind, text * 50)
    assert len(said) < 1000
    assert "\n" not in said
