"""What a number of containers makes of the work that is left, and the least number that ends it in time."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.work_left import WorkLeft

WORK = st.builds(
    WorkLeft,
    containers=st.integers(0, 10_000),
    container_s=st.floats(0.01, 1e5),
    running=st.integers(0, 100),
    runs=st.integers(0, 5),
)


@given(WORK, st.floats(-1e3, 1e7))
def test_the_least_allocation_is_enough_and_one_less_is_not(work: WorkLeft, within_s: float):
    found = work.least_allocation(within_s)
    if found is None:
        assert work.left_s(10**9) > within_s - 1e-3
    elif work.containers > 1:
        assert work.left_s(found) <= within_s * (1 + 1e-9)
        assert found == 1 or work.left_s(found - 1) > within_s * (1 - 1e-9)


def test_digits_of_the_least_allocation():
    assert WorkLeft(8, 10.0, 0, 1).least_allocation(40.0) == 3  # 10 + 80 / 3 s
    assert WorkLeft(8, 10.0, 0, 1).least_allocation(10.0) is None
    assert WorkLeft(1, 10.0, 0, 1).least_allocation(10.0) == 1
    assert WorkLeft(0, 10.0, 0, 1).least_allocation(0.0) == 0
