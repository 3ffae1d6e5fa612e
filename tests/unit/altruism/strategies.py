"""Random jobs for the properties: small graphs of stages whose tasks fit into an equal share."""

from hypothesis import strategies as st

from altruism import StageGraph


@st.composite
def stage_graphs(draw, n_resources=1, largest=0.9):
    """A job of 1 to 6 stages of 1 to 5 tasks, the demand of each below `largest`."""
    n_stages = draw(st.integers(1, 6))
    needs = [
        [child > parent and draw(st.integers(0, 9)) < 4 for parent in range(n_stages)] for child in range(n_stages)
    ]
    demand = [[draw(st.integers(2, 90)) / 100 * largest for _ in range(n_resources)] for _ in range(n_stages)]
    tasks = draw(st.lists(st.integers(1, 5), min_size=n_stages, max_size=n_stages))
    duration = draw(st.lists(st.integers(1, 6), min_size=n_stages, max_size=n_stages))
    return StageGraph.of(needs, tasks, demand, duration)


@st.composite
def exact_jobs(draw, n_jobs=1):
    """Jobs on two resources whose sums are exact: demands are 64ths, of 1 / n_jobs at most."""
    jobs = []
    for _ in range(n_jobs):
        shape = draw(stage_graphs(n_resources=2))
        demand = [[draw(st.integers(1, 64 // n_jobs)) / 64 for _ in range(2)] for _ in range(shape.n_stages)]
        jobs.append(StageGraph.of(shape.needs, shape.tasks, demand, shape.duration))
    return jobs


@st.composite
def jobs_with_capacity(draw):
    """Two to four jobs and a capacity of ones: no task is larger than an equal share."""
    n_jobs, n_resources = draw(st.integers(2, 4)), draw(st.integers(1, 2))
    return [draw(stage_graphs(n_resources, 1.0 / n_jobs)) for _ in range(n_jobs)], [1.0] * n_resources
