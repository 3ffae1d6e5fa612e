from hypothesis import given
from hypothesis import strategies as st

from shim.domain import ResourceVector

vectors = st.builds(
    ResourceVector,
    st.integers(0, 2**40),
    st.integers(0, 2**20),
    st.dictionaries(st.sampled_from(["gpu", "fpga", "disk"]), st.integers(0, 99)),
)


@given(vectors, vectors)
def test_what_was_added_can_be_taken_away(one, other):
    back = one + other - other
    assert (back.memory_mib, back.vcores) == (one.memory_mib, one.vcores)
    assert all(back.others.get(name, 0) == one.others.get(name, 0) for name in ("gpu", "fpga", "disk"))


@given(vectors, vectors)
def test_a_part_fits_in_the_whole(one, other):
    assert one.fits_in(one + other)


def test_a_resource_that_is_not_there_does_not_fit():
    assert not ResourceVector(1, 1, {"gpu": 1}).fits_in(ResourceVector(1024, 8))


def test_the_dominant_share_ignores_resources_without_capacity():
    used = ResourceVector(512, 6, {"gpu": 3})
    assert used.dominant_share_of(ResourceVector(1024, 8)) == 0.75
    assert used.dominant_share_of(ResourceVector()) == 0.0
